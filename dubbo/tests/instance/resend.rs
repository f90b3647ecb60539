//! How calls are tried again: from `dubbo.retry`, rules and code to what goes over the wire.

use std::{error::Error as _, sync::Arc};

use dubbo::{
    Attachments, CallContext, Code, Instance, Status,
    resend::{End, FailedCall, PolicyDocument, Switches},
    rules::key,
};
use dubbo_test::soon;
use examples::greet::GreeterClient;
use parking_lot::Mutex;
use tokio::net::TcpListener;

use super::rig::{answering, greet, load, provide, request, url_of};

/// What came with each attempt.
type Got = Arc<Mutex<Vec<Attachments>>>;

/// A provider that notes what comes and fails so.
async fn failing(status: Status) -> (Instance, String, Got) {
    let got = Got::default();
    let noted = Arc::clone(&got);
    let service = answering(move |request| {
        noted.lock().push(request.attachments().clone());
        Err(status.clone())
    });
    let provider = provide("", service).await;
    let url = url_of(&provider);
    (provider, url, got)
}

/// A service that both protocols carry.
#[dubbo::service(interface = "com.example.Down")]
trait Down {
    async fn ask(&self, context: CallContext, name: String) -> Result<String, Status>;
}

/// Notes what comes, and fails.
struct Noting(Got);

impl Down for Noting {
    async fn ask(&self, context: CallContext, _: String) -> Result<String, Status> {
        self.0.lock().push(context.attachments().clone());
        Err(Status::unavailable("down"))
    }
}

/// An application `shop` with a client of the providers at `urls`, with these options and this section `retry`.
async fn client(urls: &str, options: &str, retry: &str) -> (Instance, GreeterClient) {
    let yaml = format!(
        "dubbo: {{application: {{name: shop}}, retry: {{{retry}}}, consumer: {{references: {{GreeterClient: \
         {{url: '{urls}', {options}}}}}}}}}"
    );
    let instance = load(&yaml).build().expect("valid");
    let greeter = instance.refer().await.expect("refers");
    (instance, greeter)
}

fn told(status: &Status) -> FailedCall {
    let source = status.source().expect("a story");
    let told: &FailedCall = source.downcast_ref().expect("a failed call");
    told.clone()
}

#[tokio::test]
async fn strict_is_one_line_and_repeats_what_may_be_repeated() {
    let (_provider, url, got) = failing(Status::unavailable("down")).await;
    for (options, retry, want) in [
        ("", "", 3),
        ("", "mode: strict", 1),
        ("params: {idempotent: 'true'}", "mode: strict", 3),
        (
            "methods: [{name: Greet, params: {idempotent: 'true'}}]",
            "mode: strict",
            3,
        ),
        (
            "",
            "policies: {greetings: {match: {service: '*Greeter', methods: [Gr*]}, max-attempts: 4, idempotency: assume}}",
            4,
        ),
        (
            "",
            "policies: {others: {match: {service: com.x.Pay}, max-attempts: 9}}",
            3,
        ),
        ("retries: 0", "", 1),
    ] {
        got.lock().clear();
        let (_consumer, greeter) = client(&url, options, retry).await;
        let status = greet(&greeter, "").await.expect_err("fails");
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(got.lock().len(), want, "{options} {retry}: {status}");
    }
}

#[tokio::test]
async fn cluster_t36_attempts_tell_the_same_over_both_protocols() {
    for (protocol, grpc) in [("tri", true), ("dubbo", false)] {
        let got = Got::default();
        let yaml =
            format!("dubbo: {{protocols: {{p: {{name: {protocol}, ip: 127.0.0.1, port: 0}}}}}}");
        let provider = load(&yaml).provide(DownServer::new(Noting(Arc::clone(&got))));
        let provider = provider.build().expect("valid");
        provider.start().await.expect("starts");
        let url = url_of(&provider);
        let yaml = format!(
            "dubbo: {{retry: {{policies: {{all: {{idempotency: keyed, backoff: {{kind: none}}}}}}}}, consumer: \
             {{references: {{DownClient: {{url: '{url}'}}}}}}}}"
        );
        let consumer = load(&yaml).build().expect("valid");
        let down: DownClient = consumer.refer().await.expect("refers");
        down.ask("x".to_owned()).await.expect_err("fails");
        let got = got.lock().clone();
        let of = |name: &str| -> Vec<Option<String>> {
            got.iter()
                .map(|all| all.get(name).map(str::to_owned))
                .collect()
        };
        for name in ["dubbo-request-id", "dubbo-idempotency-key"] {
            let values = of(name);
            assert_eq!(values.len(), 3, "{protocol}");
            assert!(
                values[0].is_some() && values.iter().all(|value| *value == values[0]),
                "{protocol} {name}: {values:?}"
            );
        }
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            of("dubbo-attempt"),
            [None, some("2"), some("3")],
            "{protocol}"
        );
        let counted = [None, some("1"), some("2")];
        let want = if grpc { counted } else { [None, None, None] };
        assert_eq!(of("grpc-previous-rpc-attempts"), want, "{protocol}");
        let causes = [None, some("ambiguous"), some("ambiguous")];
        assert_eq!(of("dubbo-attempt-cause"), causes, "{protocol}");
    }
}

#[tokio::test]
async fn a_call_without_a_policy_begins_as_ever() {
    let (_provider, url, got) = failing(Status::unavailable("down")).await;
    let (_consumer, greeter) = client(&url, "retries: 1", "").await;
    greet(&greeter, "").await.expect_err("fails");
    let own = |name: &str| name.starts_with("dubbo-") || name.starts_with("grpc-");
    let names = |at: usize| -> Vec<String> {
        let got = got.lock();
        let names = got[at].iter().map(|(name, _)| name.into_owned());
        names.filter(|name| own(name)).collect()
    };
    assert_eq!(names(0), Vec::<String>::new());
    assert!(
        names(1).contains(&"dubbo-attempt".to_owned()),
        "{:?}",
        names(1)
    );
}

#[tokio::test]
async fn rules_and_code_change_how_calls_are_made_while_they_are() {
    let (_provider, url, got) = failing(Status::unavailable("down")).await;
    let (consumer, greeter) = client(&url, "", "").await;
    let made = async || {
        got.lock().clear();
        greet(&greeter, "").await.expect_err("fails");
        got.lock().len()
    };
    let becomes = async |want: usize| {
        soon("the change", async {
            while made().await != want {
                tokio::task::yield_now().await;
            }
        })
        .await;
    };
    assert_eq!(made().await, 3);
    let rules = consumer.rules();
    let (policies, switches) = (key::resend("shop"), key::switches("shop"));
    rules.put(
        &policies,
        Some("policies: {all: {max-attempts: 5, idempotency: assume, backoff: {kind: none}}}"),
    );
    becomes(5).await;
    rules.put(&policies, Some("policies: {all: {max-attempts: none}}"));
    rules.put(&switches, Some("retry.max-attempts-override: 4"));
    becomes(4).await;
    rules.put(&switches, Some("retry.enabled: false"));
    becomes(1).await;
    let code = Switches::parse("code", "retry.max-attempts-override: 2");
    consumer.resend().set_switches(code.expect("no mistakes"));
    assert_eq!(made().await, 2, "code counts before rules, at once");
    consumer.resend().set_switches(None);
    rules.put(&switches, None);
    becomes(5).await;
    let document = PolicyDocument::parse("code", "mode: strict").expect("no mistakes");
    consumer.resend().set_policies(document);
    assert_eq!(made().await, 1);
    consumer.resend().set_policies(None);
    assert_eq!(made().await, 5);
    rules.put(&policies, None);
    becomes(3).await;
}

#[test]
fn what_is_wrong_with_policies_is_wrong_with_the_configuration() {
    let yaml = "
dubbo:
  retry:
    mode: strict
    policies:
      pay:
        max-atempts: 3
        budget: tight
";
    let error = load(yaml).build().expect_err("two mistakes").to_string();
    for part in [
        "dubbo.yaml:7:9: dubbo.retry.policies.pay.max-atempts: unknown key (did you mean `max-attempts`?)",
        "dubbo.yaml:8:9: dubbo.retry.policies.pay.budget: `budgets` has no `tight`",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_closed_port_is_told_as_not_sent_and_ends_without_a_panic() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let closed = format!("tri://{}", listener.local_addr().expect("bound"));
    drop(listener);
    let retry = "policies: {all: {backoff: {kind: none}}}";
    let yaml = format!(
        "dubbo: {{retry: {{{retry}}}, consumer: {{check: false, references: {{GreeterClient: {{url: '{closed}', timeout: \
         200ms}}}}}}}}"
    );
    let instance = load(&yaml).build().expect("valid");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let status = greeter
        .greet(request(""))
        .await
        .expect_err("nobody listens");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.is_not_processed());
    let told = told(&status);
    assert_eq!(told.attempts[0].class, dubbo::resend::Class::NotSent);
    assert_eq!(told.end, End::Exhausted);
    assert_eq!(told.policy.as_deref(), Some("all"));
}

#[tokio::test]
async fn a_call_with_nobody_to_take_it_fails_at_once_and_names_its_service() {
    let yaml = "dubbo: {registries: {local: {address: 'memory://nobody-there'}}, consumer: {check: false}}";
    let instance = load(yaml).build().expect("valid");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let begun = tokio::time::Instant::now();
    let status = greet(&greeter, "").await.expect_err("nobody is there");
    assert!(begun.elapsed() < std::time::Duration::from_secs(1));
    assert_eq!(status.code(), Code::Unavailable);
    let text = status.message();
    assert!(
        text.starts_with("no provider available for ") && text.contains("Greeter"),
        "{text}"
    );
}
