//! Two instances in one process share nothing that changes.

use std::{sync::Arc, time::Duration};

use dubbo::{Code, Filter, Instance, Invocation, Next, RpcResult, config::ReferenceConfig};
use examples::greet::GreeterClient;

use super::rig::{answering, greet, load, request};

/// Marks a request with the instance it belongs to.
struct Mark(&'static str);

#[async_trait::async_trait]
impl Filter for Mark {
    async fn invoke(&self, mut invocation: Invocation, next: Next<'_>) -> RpcResult {
        invocation.attachments.append("mark", self.0);
        next.run(invocation).await
    }
}

/// An instance that provides and consumes, called `name`, from what could be the same file.
async fn start(name: &'static str, timeout: &str) -> (Instance, GreeterClient) {
    let yaml = format!(
        "dubbo: {{registries: {{local: {{protocol: memory, address: same}}}}, \
         protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, \
         provider: {{filter: mark}}, consumer: {{filter: mark, request-timeout: {timeout}}}}}"
    );
    let service = answering(move |request| {
        let marks: Vec<_> = request.attachments().all("mark").collect();
        let left = request
            .context()
            .deadline()
            .map(|at| at - tokio::time::Instant::now());
        let left = left.map_or(0.0, |left| left.as_secs_f64().ceil());
        Ok(format!("{name} {} {left}", marks.join("+")))
    });
    let instance = load(&yaml)
        .extension::<dyn Filter>("mark", move |_| Ok(Arc::new(Mark(name))))
        .provide(service)
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let greeter = instance.refer().await.expect("refers");
    (instance, greeter)
}

#[tokio::test]
async fn registries_ports_plugins_and_settings_are_each_ones_own() {
    let (one, to_one) = start("one", "10s").await;
    let (two, to_two) = start("two", "20s").await;
    for _ in 0..10 {
        assert_eq!(greet(&to_one, "").await.expect("answers"), "one one+one 10");
        assert_eq!(greet(&to_two, "").await.expect("answers"), "two two+two 20");
    }
    assert_ne!(one.exported()[0].port(), two.exported()[0].port());

    one.shutdown(Duration::ZERO).await;
    let status = greet(&to_one, "").await.expect_err("ended");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(greet(&to_two, "").await.expect("answers"), "two two+two 20");

    // The end of one is not the end of the other's references to it either: it is a provider like any other.
    let url = format!("tri://{}", two.exported()[0].address());
    let options = ReferenceConfig::new().url([url]);
    let error = one
        .refer_with::<GreeterClient>(options)
        .await
        .expect_err("ended");
    assert_eq!(
        error.to_string(),
        "the instance makes no more clients: its start failed, or it was shut down"
    );
}

#[tokio::test]
async fn a_clone_is_the_same_instance_and_one_instance_calls_itself_many_ways() {
    let (one, first) = start("one", "10s").await;
    let clone = one.clone();
    let second: GreeterClient = clone.refer().await.expect("refers");
    let (a, b) = tokio::join!(first.greet(request("")), second.greet(request("")));
    assert_eq!(a.expect("answers").message(), b.expect("answers").message());
    drop(one);
    assert_eq!(clone.exported().len(), 1);
    clone.shutdown(Duration::ZERO).await;
    assert!(second.greet(request("")).await.is_err());
}
