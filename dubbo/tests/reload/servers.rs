//! A configuration whose document is in a config center on a real server.
//!
//! `DUBBO_TEST_ZOOKEEPER`, `DUBBO_TEST_NACOS` and `DUBBO_TEST_ETCD` say where the servers are, as `host:port`, and
//! `DUBBO_TEST_…_RESTART` is a command for `sh -c` that ends a server and returns when it is there again: `cargo xtask interop
//! registry` says all of that. By hand, `cargo test -p dubbo --all-features --test reload -- --ignored --test-threads=1 servers::`
//! runs all of them.

use std::{env, process::Command, sync::Arc, time::Duration};

use dubbo::{Instance, Url, extension::Extensions, spi::config_center::ConfigCenter};
use examples::greet::GreeterClient;
use tokio::time::{Instant, sleep};

use super::rig::{File, Traffic, answering, greet, provide, remaining, says, url_of};

/// One kind of server.
struct Server {
    /// The name of its plugins.
    plugin: &'static str,
    /// What its variables are called by.
    variable: &'static str,
    /// Where a document is whose group nothing says.
    group: &'static str,
}

impl Server {
    fn address(&self) -> String {
        let variable = format!("DUBBO_TEST_{}", self.variable);
        let server = env::var(&variable);
        let server = server.unwrap_or_else(|_| panic!("{variable}=host:port says where it is"));
        format!("{}://{server}", self.plugin)
    }

    /// The center as another program has it, with `params` in its URL.
    fn center(&self, params: &str) -> Arc<dyn ConfigCenter> {
        let url = format!("{}?{params}", self.address());
        let url: Url = url.parse().expect("a URL");
        let extensions = Extensions::linked().expect("no duplicates");
        extensions.create(self.plugin, &url).expect("is linked")
    }

    /// Ends the server and starts it again; `false` if nobody says how.
    async fn restart(&self) -> bool {
        let Ok(command) = env::var(format!("DUBBO_TEST_{}_RESTART", self.variable)) else {
            return false;
        };
        let run = move || Command::new("sh").args(["-c", &command]).status();
        let status = tokio::task::spawn_blocking(run).await.expect("runs");
        assert!(status.expect("runs").success(), "the server was restarted");
        true
    }

    /// A file of which a part is in the document `data-id`, and which says of `greeter` that calls take 50 s at most.
    fn file(&self, data_id: &str, options: &str, greeter: &str) -> File {
        let address = self.address();
        File::new(&format!(
            "dubbo: {{config-center: {{address: '{address}', data-id: {data_id}, {options}}}, \
             consumer: {{request-timeout: 50s, references: {{GreeterClient: {{url: '{greeter}'}}}}}}}}"
        ))
    }
}

/// A document that says how long calls take.
fn document(seconds: u32) -> String {
    format!("dubbo: {{consumer: {{request-timeout: {seconds}s}}}}")
}

/// A name that no run before has used: servers keep what they get.
fn new_name(test: &str) -> String {
    let since = std::time::UNIX_EPOCH.elapsed().expect("later");
    format!("{test}-{}", since.as_micros())
}

/// It counts at the start, when it changes, and not any more when it has gone. What is no configuration changes nothing.
async fn is_read_and_followed(server: Server) {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let (center, name) = (server.center(""), new_name("followed"));
    let publish = async |text: &str| {
        let published = center.publish(&name, server.group, text).await;
        published.expect("published");
    };
    publish(&document(40)).await;
    let file = server.file(&name, "", &url_of(&provider));
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(greet(&greeter).await.expect("answers"), "40");
    let traffic = Traffic::start(&greeter);

    publish(&document(30)).await;
    says(&greeter, "30").await;
    publish("dubbo: {consumer: [").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(greet(&greeter).await.expect("answers"), "30");
    publish(&document(20)).await;
    says(&greeter, "20").await;
    let removed = center.remove(&name, server.group).await;
    removed.expect("removed");
    says(&greeter, "50").await;

    traffic.was_all_well().await;
    instance.shutdown(Duration::ZERO).await;
    center.close().await;
}

/// What was said stays while the server is away, and what is said afterwards counts.
async fn survives_a_restart(server: Server) {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let (center, name) = (server.center(""), new_name("restarted"));
    let published = center.publish(&name, server.group, &document(40)).await;
    published.expect("published");
    let file = server.file(&name, "", &url_of(&provider));
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let traffic = Traffic::start(&greeter);
    assert!(server.restart().await, "nothing says how to restart it");
    assert_eq!(greet(&greeter).await.expect("answers"), "40");

    let begin = Instant::now();
    while center
        .publish(&name, server.group, &document(30))
        .await
        .is_err()
    {
        assert!(begin.elapsed() < BACK, "the server takes texts again");
        sleep(Duration::from_millis(100)).await;
    }
    while greet(&greeter).await.expect("answers") != "30" {
        assert!(begin.elapsed() < BACK, "the document counts again");
        sleep(Duration::from_millis(100)).await;
    }
    traffic.was_all_well().await;
    instance.shutdown(Duration::ZERO).await;
    center.close().await;
}

/// A document that is not there is an error, unless it is optional; then it counts when it comes.
async fn may_come_later(server: Server) {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let (center, name) = (server.center(""), new_name("late"));
    let greeter = url_of(&provider);
    let error = server.file(&name, "", &greeter).load().build();
    let error = error.expect_err("refused").to_string();
    let address = server.address();
    let said = format!(
        "{address}/{}/{name}: there is no such document",
        server.group
    );
    assert!(error.contains(&said), "{error} has not {said}");

    let file = server.file(&name, "params: {optional: 'true'}", &greeter);
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(greet(&greeter).await.expect("answers"), "50");
    let published = center.publish(&name, server.group, &document(40)).await;
    published.expect("published");
    says(&greeter, "40").await;
    instance.shutdown(Duration::ZERO).await;
    center.close().await;
}

/// Of documents with one name the one in the group and the namespace counts that the configuration says; and it may have
/// another form.
async fn is_found_in_its_group_and_namespace(server: Server) {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let name = format!("{}.properties", new_name("placed"));
    let centers = [
        ("", server.group),
        ("namespace=dev", server.group),
        ("namespace=dev", "shop"),
    ];
    for ((params, group), seconds) in centers.into_iter().zip([10, 20, 30]) {
        let center = server.center(params);
        let text = format!("dubbo.consumer.request-timeout={seconds}s\n");
        center
            .publish(&name, group, &text)
            .await
            .expect("published");
        center.close().await;
    }
    for (options, want) in [
        ("", "10"),
        ("namespace: dev", "20"),
        ("namespace: dev, group: shop", "30"),
    ] {
        let file = server.file(&name, options, &url_of(&provider));
        let instance: Instance = file.build();
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        assert_eq!(greet(&greeter).await.expect("answers"), want, "{options}");
        instance.shutdown(Duration::ZERO).await;
    }
}

/// Runs all of them on one kind of server.
macro_rules! on_server {
    ($name:ident, $server:expr) => {
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            #[ignore = "needs a server"]
            async fn a_document_is_read_and_followed() {
                is_read_and_followed($server).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            #[ignore = "needs a server that may be restarted"]
            async fn a_document_survives_a_restart() {
                survives_a_restart($server).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            #[ignore = "needs a server"]
            async fn an_optional_document_may_come_later() {
                may_come_later($server).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            #[ignore = "needs a server"]
            async fn a_document_is_found_in_its_group_and_namespace() {
                is_found_in_its_group_and_namespace($server).await;
            }
        }
    };
}

#[cfg(feature = "etcd")]
on_server!(
    etcd,
    Server {
        plugin: "etcdv3",
        variable: "ETCD",
        group: "dubbo"
    }
);

#[cfg(feature = "nacos")]
on_server!(
    nacos,
    Server {
        plugin: "nacos",
        variable: "NACOS",
        group: "DEFAULT_GROUP"
    }
);

#[cfg(feature = "zookeeper")]
on_server!(
    zookeeper,
    Server {
        plugin: "zookeeper",
        variable: "ZOOKEEPER",
        group: "dubbo"
    }
);

/// How long clients take, at most, until they have found a server again.
const BACK: Duration = Duration::from_mins(1);
