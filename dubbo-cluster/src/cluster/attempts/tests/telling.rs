//! What attempts tell providers (`docs/spec/cluster.md` §7.4).

use super::*;

/// Providers of both protocols that fail, and then one that answers.
fn mixed(answer: &Answer) -> Vec<Arc<Scripted>> {
    let of = |protocol: &str, port, script: Vec<Answer>| {
        let url = dubbo_core::url::Url::new(protocol, "10.0.0.1");
        Scripted::of(url.with_port(port).with_path("a.B"), script)
    };
    vec![
        of("tri", 1, vec![answer.clone()]),
        of("dubbo", 2, vec![answer.clone()]),
        of("tri", 3, vec![]),
    ]
}

#[tokio::test(start_paused = true)]
async fn cluster_t36_attempts_say_which_they_are_and_share_the_id_of_their_call() {
    let rig = Rig::new("mode: strict", &mixed(&unsent()));
    rig.invoker
        .invoke(invocation())
        .await
        .expect("the third answers");
    let calls: Vec<_> = rig
        .providers
        .iter()
        .flat_map(|provider| provider.calls())
        .collect();
    let of = |name: &'static str| {
        let calls = calls.iter();
        calls
            .map(|got| got.attachments.get(name).map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let ids = of("dubbo-request-id");
    assert!(
        ids[0].is_some() && ids.iter().all(|id| *id == ids[0]),
        "{ids:?}"
    );
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(of("dubbo-attempt"), [None, some("2"), some("3")]);
    assert_eq!(of("grpc-previous-rpc-attempts"), [None, None, some("2")]);
    assert_eq!(
        of("dubbo-attempt-cause"),
        [None, some("not-sent"), some("not-sent")]
    );
    assert_eq!(
        of("dubbo-retry-pool"),
        [None, some("default"), some("default")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_keeps_the_id_and_the_label_that_it_came_with() {
    let rig = Rig::new("mode: strict", &mixed(&unsent()));
    let mut call = invocation();
    call.attachments.insert("dubbo-request-id", "mine");
    call.attachments.insert("dubbo-biz-tag", "order_create_v2");
    rig.invoker.invoke(call).await.expect("the third answers");
    for got in rig.providers.iter().flat_map(|provider| provider.calls()) {
        assert_eq!(got.attachments.get("dubbo-request-id"), Some("mine"));
        assert_eq!(
            got.attachments.get("dubbo-biz-tag"),
            Some("order_create_v2")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_policy_only_attempts_after_the_first_say_anything() {
    let rig = Rig::new("mode: compat", &mixed(&broken()));
    rig.invoker
        .invoke(invocation())
        .await
        .expect("the third answers");
    let names = rig.providers.iter().map(|provider| {
        let calls = provider.calls();
        let names = calls[0].attachments.iter();
        let mut names: Vec<_> = names.map(|(name, _)| name.into_owned()).collect();
        names.sort_unstable();
        names
    });
    let names: Vec<Vec<String>> = names.collect();
    let second = ["dubbo-attempt", "dubbo-attempt-cause"];
    let third = [
        "dubbo-attempt",
        "dubbo-attempt-cause",
        "grpc-previous-rpc-attempts",
    ];
    assert!(names[0].is_empty(), "{names:?}");
    assert_eq!(names[1], second);
    assert_eq!(names[2], third);
}
