//! What clients hold of their instance's world, and that dropping them gives it back.

use dubbo::spi::registry::Registry;
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::runtime::Handle;

use super::{
    probe::Probe,
    rig::{greet, load, named, url_of},
};

#[tokio::test]
async fn clients_that_were_dropped_leave_no_task_and_no_connection_behind() {
    // Each connection has tasks at both of its ends.
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let registry = "registries: {r: {protocol: probe, address: here}}";
    let probe = Probe::new();
    let provider = load(&format!(
        "dubbo: {{{registry}, protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}}}"
    ))
    .extension::<dyn Registry>("probe", probe.plugin())
    .provide(named("here"))
    .build()
    .expect("valid");
    provider.start().await.expect("starts");
    // It asks the registry for the rules that override it, in a task of its own.
    probe.asked_to("subscribe").await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }

    let url = format!(
        "consumer: {{references: {{GreeterClient: {{url: '{}'}}}}}}",
        url_of(&provider)
    );
    for reference in [registry, &url] {
        let instance = load(&format!("dubbo: {{{reference}}}"))
            .extension::<dyn Registry>("probe", probe.plugin())
            .build()
            .expect("valid");
        // From its first client on, one follows the rules of the whole instance, and one its configuration.
        let before = tasks() + 2;
        for _ in 0..50 {
            let greeter: GreeterClient = instance.refer().await.expect("refers");
            let other = greeter.clone();
            drop(greeter);
            assert_eq!(greet(&other, "").await.expect("answers"), "here");
        }
        soon("the end of all tasks", async {
            while tasks() > before {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}
