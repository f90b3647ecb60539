//! What can be exported where.

use std::sync::Arc;

use dubbo_core::{
    extension::Extensions,
    protocol::{Protocol, ProtocolError},
    provider::Service,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    url::Url,
};
use dubbo_hessian2::Value;
use dubbo_protocol::{DubboProtocol, java::with_built_ins};
use dubbo_test::peer::dubbo::{Call, Connection};

use crate::provider::{Provider, export, greeter, url};

#[tokio::test]
async fn the_protocol_is_linked_by_its_name_with_its_port() {
    let all = Extensions::linked().expect("no duplicates");
    let protocol = all.create::<dyn Protocol>("dubbo", &url()).expect("linked");
    assert_eq!(protocol.default_port(), 20_880);
}

#[tokio::test]
async fn services_share_a_port_and_a_key_is_taken_once() {
    let mut provider = Provider::of(greeter()).await;
    let at = url().with_port(provider.address.port());
    for taken in ["", "0.0.0", "*"] {
        let again = export(
            &provider.protocol,
            &at.with_param("version", taken),
            greeter(),
        )
        .await;
        let Err(error @ ProtocolError::Duplicate { .. }) = again else {
            panic!("the key is taken");
        };
        assert!(
            error.to_string().contains(&provider.address.to_string()),
            "{error}"
        );
    }
    let other = export(&provider.protocol, &at.with_param("group", "g"), greeter()).await;
    let other = other.expect("another key");
    assert_eq!(other.url().port(), Some(provider.address.port()));

    let mut connection = provider.connect().await;
    let call = Call::greet("x").with("group", "g");
    assert_eq!(connection.ask(&call).await.value(), Value::from("hello x"));
    other.unexport().await;
    assert_eq!(connection.ask(&call).await.refused().0, 40);
    let first = provider.exporters.pop().expect("the first");
    first.unexport().await;
    assert_eq!(connection.ask(&Call::greet("x")).await.refused().0, 40);
    assert!(
        export(&provider.protocol, &at, greeter()).await.is_ok(),
        "it is free again"
    );
    assert_eq!(
        connection.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );
}

#[tokio::test]
async fn messages_of_proto_files_are_refused() {
    let methods = vec![MethodDescriptor::new("Greet", CallKind::Unary)];
    let descriptor = Arc::new(ServiceDescriptor::new("greet.Greeter", methods));
    let service = Service::builder(Arc::clone(&descriptor), "T").build();
    let protocol = DubboProtocol::default();
    let invoker = service.into_invoker(url());
    let Err(error) = protocol.export(&url(), descriptor, invoker).await else {
        panic!("hessian cannot carry them");
    };
    let text = error.to_string();
    assert!(
        text.contains("`greet.Greeter` has protobuf messages"),
        "{text}"
    );
    assert!(text.contains("`tri`"), "{text}");
}

#[tokio::test]
async fn a_bad_parameter_is_named() {
    let protocol = DubboProtocol::default();
    for (key, value) in [
        ("payload", "much"),
        ("heartbeat", "often"),
        ("heartbeat.timeout", "1s"),
        ("accepts", "-1"),
        ("max-calls", "few"),
        ("max-connection-calls", "few"),
    ] {
        let refused = export(&protocol, &url().with_param(key, value), greeter()).await;
        let Err(ProtocolError::Url { reason, .. }) = refused else {
            panic!("{key}={value} is taken");
        };
        assert!(reason.contains(key), "{reason}");
    }
}

#[tokio::test]
async fn a_taken_address_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("bound").port();
    let refused = export(&DubboProtocol::default(), &url().with_port(port), greeter()).await;
    let Err(error @ ProtocolError::Bind { .. }) = refused else {
        panic!("it is taken");
    };
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}

#[tokio::test]
async fn one_port_serves_triple_too() {
    let all = Extensions::linked().expect("no duplicates");
    let [tri, dubbo] = ["tri", "dubbo"].map(|name| {
        let url = Url::new(name, "127.0.0.1");
        all.create::<dyn Protocol>(name, &url).expect("linked")
    });
    let service = with_built_ins(greeter().into());
    let export = async |protocol: &Arc<dyn Protocol>, url: Url| {
        let descriptor = Arc::clone(service.descriptor());
        let invoker = service.clone().into_invoker(url.clone());
        protocol.export(&url, descriptor, invoker).await
    };
    let first = export(&dubbo, url()).await.expect("exported");
    let port = first.url().port().expect("bound");
    let second = export(&tri, url().with_protocol("tri").with_port(port)).await;
    assert_eq!(second.expect("shared").url().port(), Some(port));
    let mut connection = Connection::connect(([127, 0, 0, 1], port).into()).await;
    assert_eq!(
        connection.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );
}
