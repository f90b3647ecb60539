//! What the tests share: a service that both protocols carry, its providers, its consumers, and who is left at the end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use dubbo::{
    Instance, Status,
    config::{Environment, LoadOptions},
};
use dubbo_test::soon;
use tokio::runtime::{Builder, Handle};

/// A service that both protocols carry.
#[dubbo::service(interface = "com.example.Node")]
pub(crate) trait Node {
    async fn ask(&self, name: String) -> Result<String, Status>;
}

/// The protocols that proofs are made over.
pub(crate) const BOTH: [&str; 2] = ["tri", "dubbo"];

/// Makes a proof over each protocol, in a world of its own whose tasks can be counted.
pub(crate) fn over(protocols: &[&'static str], proof: impl AsyncFn(&'static str) + Sync) {
    thread::scope(|scope| {
        for protocol in protocols {
            let proof = &proof;
            let world = move || {
                let runtime = Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(proof(protocol));
            };
            let thread = thread::Builder::new().name(format!("over {protocol}"));
            thread.spawn_scoped(scope, world).expect("a thread");
        }
    });
}

/// An instance of this configuration, in an empty environment.
pub(crate) fn load(yaml: &str) -> dubbo::InstanceBuilder {
    let environment: Environment = [("", ""); 0].into_iter().collect();
    let options = LoadOptions::text("dubbo.yaml", yaml).environment(environment);
    Instance::load_with(&options).expect("it is YAML")
}

/// A provider of `node` on a free port: its instance and its address.
pub(crate) async fn provide(protocol: &str, node: impl Node) -> (Instance, String) {
    let yaml = format!("dubbo: {{protocols: {{p: {{name: {protocol}, ip: 127.0.0.1, port: 0}}}}}}");
    let instance = load(&yaml).provide(NodeServer::new(node));
    let instance = instance.build().expect("valid");
    instance.start().await.expect("starts");
    let address = instance.exported()[0].address();
    (instance, address)
}

/// Who is called: some addresses, in one way.
pub(crate) struct Consumer {
    instance: Instance,
    pub(crate) node: NodeClient,
}

impl Consumer {
    /// A consumer of the providers at `urls`, with these options of its reference and this section `retry`.
    pub(crate) async fn of(urls: &str, options: &str, retry: &str) -> Self {
        let yaml = format!(
            "dubbo: {{retry: {{{retry}}}, consumer: {{check: false, references: {{NodeClient: {{url: '{urls}', \
             loadbalance: roundrobin, {options}}}}}}}}}"
        );
        let instance = load(&yaml).build().expect("valid");
        let node = instance.refer().await.expect("refers");
        Self { instance, node }
    }

    /// Asks once.
    pub(crate) async fn ask(&self) -> Result<String, Status> {
        let answer = self.node.ask("you".to_owned()).await?;
        Ok(answer.into_message())
    }

    /// Ends it at once, whatever is under way.
    pub(crate) async fn shut_down(&self) {
        self.instance.shutdown(Duration::ZERO).await;
    }

    /// Ends it, and waits until there are no more tasks than `before` it was there. Each connection has tasks at both of
    /// its ends.
    pub(crate) async fn end(self, before: usize) {
        self.instance.shutdown(dubbo_test::PATIENCE).await;
        drop(self);
        soon("the end of all tasks of a consumer", tasks_are(before)).await;
    }
}

/// How many tasks there are, after what has just begun or ended has had its turn.
pub(crate) async fn tasks() -> usize {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    alive()
}

/// Waits until there are no more tasks than `count`.
pub(crate) async fn tasks_are(count: usize) {
    while alive() > count {
        // What is left may wait for the network.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A provider that answers, and counts.
#[derive(Clone, Default)]
pub(crate) struct Healthy(pub(crate) Arc<AtomicUsize>);

impl Node for Healthy {
    async fn ask(&self, _: String) -> Result<String, Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(SERVED.to_owned())
    }
}

/// What a provider answers.
pub(crate) const SERVED: &str = "served";

fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}
