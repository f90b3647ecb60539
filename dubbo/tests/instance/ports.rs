//! Several protocols on one port: what a connection speaks tells whose it is.

use std::time::Duration;

use dubbo::{
    Instance,
    config::{ReferenceConfig, ServiceConfig},
};
use dubbo_test::{certificates::Authority, soon};
use examples::users::{UserServiceClient, UserServiceServer, Users};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::rig::{consume, free_again, greet, load, named};

/// A port that was free just now.
async fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let address = listener.and_then(|listener| listener.local_addr());
    address.expect("there are free ports").port()
}

/// Serves users on both protocols and greetings on one, all on `port`.
async fn provide(port: u16, tls: &str) -> Instance {
    let yaml = format!(
        "dubbo: {{protocols: {{t: {{ip: 127.0.0.1, port: {port}}}, d: {{name: dubbo, ip: 127.0.0.1, port: {port}}}}}, \
         tls_config: {{{tls}}}, shutdown: {{step-timeout: 0}}}}"
    );
    let instance = load(&yaml)
        .provide(UserServiceServer::new(Users))
        .provide_with(named("p"), ServiceConfig::new().protocol_ids(["t"]))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    instance
}

async fn name_of_ada(consumer: &Instance, url: String) -> String {
    let options = ReferenceConfig::new().url([url]);
    let users: UserServiceClient = consumer.refer_with(options).await.expect("refers");
    let ada = soon("an answer", users.get_user("ada".to_owned())).await;
    ada.expect("she is known").into_message().name
}

#[tokio::test]
async fn callers_of_both_protocols_are_served_on_one_port() {
    let authority = Authority::new();
    let issued = authority.issue(&["127.0.0.1"]);
    let secure = format!(
        "ca-cert-file: {}, tls-cert-file: {}, tls-key-file: {}",
        authority.file().display(),
        issued.cert.display(),
        issued.key.display()
    );
    for tls in ["", &secure] {
        let port = free_port().await;
        let provider = provide(port, tls).await;
        assert_eq!(provider.exported().len(), 3);
        let consumer = load(&format!("dubbo: {{tls_config: {{{tls}}}}}"));
        let consumer = consumer.build().expect("valid");
        let address = format!("127.0.0.1:{port}");
        // Noise harms nobody, before and between.
        for noise in [&b"status -l\r\n"[..], b"\xda", b"\0\0\0\0"] {
            let mut socket = TcpStream::connect(&address).await.expect("it listens");
            socket.write_all(noise).await.expect("it is open");
            socket.shutdown().await.expect("it is open");
            let mut heard = Vec::new();
            let _ = soon("the end", socket.read_to_end(&mut heard)).await;
            assert_eq!(heard, b"");
            for protocol in ["tri", "dubbo"] {
                let url = format!("{protocol}://{address}");
                assert_eq!(name_of_ada(&consumer, url).await, "Ada", "{protocol}");
            }
        }
        soon("the end", provider.shutdown(Duration::from_secs(5))).await;
        free_again(&*address).await;
    }
}

#[tokio::test]
async fn a_peer_of_another_protocol_is_no_mystery() {
    for (served, spoken) in [("tri", "dubbo"), ("dubbo", "tri")] {
        let yaml =
            format!("dubbo: {{protocols: {{p: {{name: {served}, ip: 127.0.0.1, port: 0}}}}}}");
        let provider = load(&yaml).provide(UserServiceServer::new(Users));
        let provider = provider.build().expect("valid");
        provider.start().await.expect("starts");
        let address = provider.exported()[0].address();

        let consumer = load("dubbo: {consumer: {check: false}}").build();
        let options = ReferenceConfig::new()
            .url([format!("{spoken}://{address}")])
            .retries(0);
        let consumer = consumer.expect("valid");
        let users: UserServiceClient = consumer.refer_with(options).await.expect("refers");
        let answer = soon("an answer", users.get_user("ada".to_owned())).await;
        let text = answer.expect_err("nobody understands it").to_string();
        for part in [
            "the peer may serve another protocol",
            "if it demands TLS, set `dubbo.tls_config.ca-cert-file`",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

#[tokio::test]
async fn services_of_one_protocol_are_not_those_of_the_other() {
    let port = free_port().await;
    let _provider = provide(port, "").await;
    let greeter = consume(&format!("tri://127.0.0.1:{port}"), "retries: 0").await;
    assert_eq!(greet(&greeter, "x").await.expect("it works"), "p");
}
