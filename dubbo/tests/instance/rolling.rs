//! One of two providers goes while both are called without a pause: no call is lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::{Instance, spi::registry::Registry};
use dubbo_test::soon;
use examples::greet::GreeterClient;

use super::{
    probe::Probe,
    rig::{greet, load, named, url_of},
};

/// A provider that answers with its name.
async fn provider(probe: &Probe, name: &'static str, shutdown: &str) -> Instance {
    let yaml = format!(
        "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, \
         registries: {{r: {{protocol: probe, address: here}}}}, shutdown: {{{shutdown}}}}}"
    );
    let instance = load(&yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(named(name))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// Calls without a pause from several tasks until told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<[AtomicUsize; 2]>,
    callers: Vec<tokio::task::JoinHandle<Vec<String>>>,
}

impl Load {
    fn on(greeter: &GreeterClient) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let done: Arc<[AtomicUsize; 2]> = Arc::default();
        let caller = |_| {
            let (greeter, stop, done) = (greeter.clone(), Arc::clone(&stop), Arc::clone(&done));
            tokio::spawn(async move {
                let mut lost = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    match greet(&greeter, "").await {
                        Ok(name) => {
                            done[usize::from(name == "stays")].fetch_add(1, Ordering::Relaxed);
                        }
                        Err(status) => lost.push(status.to_string()),
                    }
                }
                lost
            })
        };
        let callers = (0..8).map(caller).collect();
        Self {
            stop,
            done,
            callers,
        }
    }

    /// Waits until each of them, or the one that stays, has answered so many calls more.
    async fn goes_on(&self, who: &[usize], calls: usize) {
        for &who in who {
            let until = self.done[who].load(Ordering::Relaxed) + calls;
            soon("more calls", async {
                while self.done[who].load(Ordering::Relaxed) < until {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
    }

    async fn end(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let mut lost = Vec::new();
        for caller in self.callers {
            lost.extend(soon("the last call", caller).await.expect("no panic"));
        }
        lost
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_while_one_of_two_providers_goes() {
    for (by_registry, shutdown) in [
        // As it should be done.
        (
            true,
            "consumer-update-wait-time: 50ms, offline-request-window-timeout: 10ms",
        ),
        // Without any notice, and without a registry that says so.
        (true, "consumer-update-wait-time: 0, step-timeout: 0"),
        (false, "consumer-update-wait-time: 0, step-timeout: 0"),
    ] {
        let probe = Probe::new();
        let goes = provider(&probe, "goes", shutdown).await;
        let stays = provider(&probe, "stays", shutdown).await;
        let yaml = if by_registry {
            "dubbo: {registries: {r: {protocol: probe, address: here}}}".to_owned()
        } else {
            super::rig::reference(&format!("{};{}", url_of(&goes), url_of(&stays)), "")
        };
        let consumer = load(&yaml)
            .extension::<dyn Registry>("probe", probe.plugin())
            .build()
            .expect("valid");
        let greeter = consumer.refer().await.expect("refers");
        let load = Load::on(&greeter);
        load.goes_on(&[0, 1], 50).await;
        soon("the end", goes.shutdown(Duration::from_secs(10))).await;
        load.goes_on(&[1], 200).await;
        let lost = load.end().await;
        assert!(
            lost.is_empty(),
            "{shutdown}: {} calls lost, such as {}",
            lost.len(),
            lost[0]
        );
    }
}
