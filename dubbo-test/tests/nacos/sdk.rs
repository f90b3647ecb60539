//! Clients of nacos-sdk, with less to write.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use dubbo_test::{
    nacos::{Delays, ScriptedNacos, ServiceKey},
    soon,
};
use nacos_sdk::api::{
    config::{ConfigChangeListener, ConfigResponse, ConfigService, ConfigServiceBuilder},
    error::Result,
    naming::{
        NamingChangeEvent, NamingEventListener, NamingService, NamingServiceBuilder,
        ServiceInstance,
    },
    props::ClientProps,
};
use tokio::sync::mpsc;

/// A server that does in a tenth of a second what takes Nacos a second.
pub(crate) async fn quick_nacos() -> ScriptedNacos {
    let nacos = ScriptedNacos::start().await;
    nacos.set_delays(Delays::default().faster(10));
    nacos
}

pub(crate) fn props(nacos: &ScriptedNacos) -> ClientProps {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    cache.push(format!("nacos-{}-{count}", std::process::id()));
    ClientProps::new()
        .server_addr(nacos.address().to_string())
        .env_first(false)
        .naming_push_empty_protection(false)
        .cache_dir(cache)
}

pub(crate) async fn naming(nacos: &ScriptedNacos) -> NamingService {
    let service = NamingServiceBuilder::new(props(nacos)).build().await;
    service.expect("the server is up")
}

pub(crate) async fn config(nacos: &ScriptedNacos) -> ConfigService {
    let service = ConfigServiceBuilder::new(props(nacos)).build().await;
    service.expect("the server is up")
}

/// In `DEFAULT_GROUP`.
pub(crate) fn service(name: &str) -> ServiceKey {
    ServiceKey::new("", GROUP, name)
}

pub(crate) fn instance(port: i32) -> ServiceInstance {
    ServiceInstance {
        ip: "10.0.0.1".to_owned(),
        port,
        ..ServiceInstance::default()
    }
}

/// What is done to one service, in `DEFAULT_GROUP`.
pub(crate) struct Named<'a>(pub(crate) &'a NamingService, pub(crate) &'a str);

impl Named<'_> {
    pub(crate) async fn register(&self, instance: ServiceInstance) -> Result<()> {
        let (name, group) = self.names();
        self.0.register_instance(name, group, instance).await
    }

    pub(crate) async fn deregister(&self, instance: ServiceInstance) -> Result<()> {
        let (name, group) = self.names();
        self.0.deregister_instance(name, group, instance).await
    }

    pub(crate) async fn batch(&self, instances: Vec<ServiceInstance>) -> Result<()> {
        let (name, group) = self.names();
        self.0.batch_register_instance(name, group, instances).await
    }

    pub(crate) async fn query(&self, clusters: &[&str]) -> Result<Vec<ServiceInstance>> {
        let (name, group) = self.names();
        let clusters = clusters.iter().map(|&c| c.to_owned()).collect();
        let query = self.0.get_all_instances(name, group, clusters, false);
        query.await
    }

    pub(crate) async fn addresses(&self) -> Vec<String> {
        addresses(&self.query(&[]).await.expect("it is a legal query"))
    }

    pub(crate) async fn subscribe(&self) -> Events {
        let (name, group) = self.names();
        let (sender, receiver) = mpsc::unbounded_channel();
        let listener = Arc::new(Listener(sender));
        let subscribed = self.0.subscribe(name, group, Vec::new(), listener.clone());
        subscribed.await.expect("it does not say what went wrong");
        Events { receiver, listener }
    }

    pub(crate) async fn unsubscribe(&self, events: &Events) {
        let (name, group) = self.names();
        let listener = events.listener.clone();
        let unsubscribed = self.0.unsubscribe(name, group, Vec::new(), listener).await;
        unsubscribed.expect("the server is up");
    }

    fn names(&self) -> (String, Option<String>) {
        (self.1.to_owned(), Some(GROUP.to_owned()))
    }
}

/// The lists that a listener got.
pub(crate) struct Events {
    receiver: mpsc::UnboundedReceiver<Vec<String>>,
    listener: Arc<Listener>,
}

impl Events {
    /// The addresses of the next one, in order.
    pub(crate) async fn next(&mut self) -> Vec<String> {
        let event = soon("an event", self.receiver.recv()).await;
        event.expect("the listener lives")
    }

    pub(crate) fn none(&mut self) {
        if let Ok(event) = self.receiver.try_recv() {
            panic!("there was an event: {event:?}");
        }
    }
}

struct Listener(mpsc::UnboundedSender<Vec<String>>);

impl NamingEventListener for Listener {
    fn event(&self, event: Arc<NamingChangeEvent>) {
        let instances = event.instances.as_deref().unwrap_or_default();
        // Nobody listens any more.
        let _ = self.0.send(addresses(instances));
    }
}

pub(crate) fn addresses(instances: &[ServiceInstance]) -> Vec<String> {
    let addresses = instances.iter().map(ServiceInstance::ip_and_port);
    let mut addresses: Vec<_> = addresses.collect();
    addresses.sort();
    addresses
}

/// What is done to one config, in the group `dubbo`.
pub(crate) struct Configured<'a>(pub(crate) &'a ConfigService, pub(crate) &'a str);

impl Configured<'_> {
    pub(crate) async fn get(&self) -> Result<ConfigResponse> {
        let (data_id, group) = self.names();
        self.0.get_config(data_id, group).await
    }

    pub(crate) async fn publish(&self, content: &str) -> Result<bool> {
        let (data_id, group) = self.names();
        let publish = self
            .0
            .publish_config(data_id, group, content.to_owned(), None);
        publish.await
    }

    pub(crate) async fn cas(&self, content: &str, md5: &str) -> Result<bool> {
        let (data_id, group) = self.names();
        let (content, md5) = (content.to_owned(), md5.to_owned());
        let publish = self
            .0
            .publish_config_cas(data_id, group, content, None, md5);
        publish.await
    }

    pub(crate) async fn remove(&self) -> Result<bool> {
        let (data_id, group) = self.names();
        self.0.remove_config(data_id, group).await
    }

    pub(crate) async fn listen(&self) -> Changes {
        let (data_id, group) = self.names();
        let (sender, receiver) = mpsc::unbounded_channel();
        let listener = Arc::new(ChangeListener(sender));
        let added = self.0.add_listener(data_id, group, listener).await;
        added.expect("it does not say what went wrong");
        Changes(receiver)
    }

    fn names(&self) -> (String, String) {
        (self.1.to_owned(), "dubbo".to_owned())
    }
}

/// The contents that a listener got.
pub(crate) struct Changes(mpsc::UnboundedReceiver<String>);

impl Changes {
    pub(crate) async fn next(&mut self) -> String {
        let change = soon("a change", self.0.recv()).await;
        change.expect("the listener lives")
    }
}

struct ChangeListener(mpsc::UnboundedSender<String>);

impl ConfigChangeListener for ChangeListener {
    fn notify(&self, config: ConfigResponse) {
        // Nobody listens any more.
        let _ = self.0.send(config.content().clone());
    }
}

const GROUP: &str = "DEFAULT_GROUP";
