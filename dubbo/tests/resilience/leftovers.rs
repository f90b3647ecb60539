//! What an instance leaves behind that has ended and is kept: nothing that runs.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use dubbo_test::soon;

use super::{
    nodes::Hangs,
    rig::{BOTH, Consumer, NodeServer, load, over, provide, tasks, tasks_are},
};

#[test]
fn an_instance_that_has_ended_at_once_runs_on_nowhere_whether_it_is_kept_or_not() {
    over(&BOTH, async |protocol| {
        let mut kept = Vec::new();
        for (options, retry, provider_first) in [
            ("", "", true),
            ("", "mode: strict", false),
            ("cluster: failback, timeout: 20ms", "", true),
            ("cluster: failback, timeout: 20ms", "mode: strict", false),
            ("cluster: forking, params: {idempotent: 'true'}", "", true),
            (
                "params: {idempotent: 'true'}",
                "policies: {all: {hedge: {enabled: true, delay: 5ms}, breaker: default, dead-letter: {}}}",
                false,
            ),
        ] {
            let began = tasks().await;
            let met = Arc::default();
            let yaml = format!(
                "dubbo: {{shutdown: {{internal-signal: false}}, protocols: {{p: {{name: {protocol}, ip: 127.0.0.1, \
                 port: 0}}}}}}"
            );
            let provider = load(&yaml).provide(NodeServer::new(Hangs(Arc::clone(&met))));
            let provider = provider.build().expect("valid");
            provider.start().await.expect("starts");
            let url = format!("{protocol}://{}", provider.exported()[0].address());
            let consumer = Consumer::of(&url, options, retry).await;
            let ends = async {
                while met.load(Ordering::Relaxed) == 0 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                if provider_first {
                    provider.shutdown(Duration::ZERO).await;
                    consumer.shut_down().await;
                } else {
                    consumer.shut_down().await;
                    provider.shutdown(Duration::ZERO).await;
                }
            };
            let (_, ()) = tokio::join!(consumer.ask(), ends);
            let what = format!("the end of all tasks over {protocol}, {options}, {retry}");
            kept.push((provider, consumer));
            soon(&what, tasks_are(began)).await;
        }
    });
}

#[test]
fn only_what_hears_a_second_signal_outlives_the_end_and_goes_with_the_last_handle() {
    over(&BOTH, async |protocol| {
        let began = tasks().await;
        let (provider, _) = provide(protocol, Hangs(Arc::default())).await;
        provider.shutdown(Duration::ZERO).await;
        soon("the end of what served", tasks_are(began + 1)).await;
        assert_eq!(
            tasks().await,
            began + 1,
            "a program that goes on can still be told to stop"
        );
        drop(provider);
        soon("the end of all tasks", tasks_are(began)).await;
    });
}
