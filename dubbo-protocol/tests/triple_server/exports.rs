//! Exporting, and taking back what was exported.

use std::sync::Arc;

use dubbo_core::{
    protocol::{Protocol as _, ProtocolError},
    url::Url,
};
use dubbo_protocol::TripleProtocol;
use futures_util::future::join_all;

use crate::{
    greeter::{Provider, export, greeter, url},
    wire::Wire,
};

async fn refused(protocol: &TripleProtocol, url: &Url) -> ProtocolError {
    let service = greeter();
    let descriptor = Arc::clone(service.descriptor());
    match protocol
        .export(url, descriptor, service.into_invoker(url.clone()))
        .await
    {
        Ok(exporter) => panic!("exported at {}", exporter.url()),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_key_can_be_exported_once_at_an_address() {
    let mut provider = Provider::of(greeter()).await;
    let here = url().with_port(provider.address.port());
    let error = refused(&provider.protocol, &here).await;
    assert!(matches!(error, ProtocolError::Duplicate { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("greet.GreetService") && text.contains(&here.address()),
        "{text}"
    );
    // Port 0 again is the port that was found free.
    assert!(matches!(
        refused(&provider.protocol, &url()).await,
        ProtocolError::Duplicate { .. }
    ));
    provider
        .also(&here.with_param("group", "g"), greeter())
        .await;
}

#[tokio::test]
async fn what_is_unexported_is_gone_and_can_be_exported_again() {
    let mut provider = Provider::of(greeter()).await;
    provider
        .also(&url().with_param("group", "g"), greeter())
        .await;
    let mut wire = Wire::connect(provider.address).await;
    let grouped = [("tri-service-group", "g")];
    provider.exporters.remove(0).unexport().await;
    assert_eq!(wire.greet("x", &[]).await.refused().0, 12);
    assert_eq!(wire.greet("x", &grouped).await.code(), 0);
    provider.also(&url(), greeter()).await;
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}

#[tokio::test]
async fn services_exported_at_once_share_their_port() {
    let protocol = TripleProtocol::default();
    let exporters = join_all((0..20).map(|n| {
        let url = url().with_param("version", format!("1.0.{n}"));
        let protocol = &protocol;
        async move { export(protocol, &url, greeter()).await }
    }))
    .await;
    let port = exporters[0].url().port().expect("bound");
    assert_ne!(port, 0);
    assert!(
        exporters
            .iter()
            .all(|exporter| exporter.url().port() == Some(port))
    );
    let mut wire = Wire::connect(([127, 0, 0, 1], port).into()).await;
    for n in 0..20 {
        let version = format!("1.0.{n}");
        let answer = wire.greet("x", &[("tri-service-version", &version)]).await;
        assert_eq!(answer.code(), 0, "{version}");
    }
}

#[tokio::test]
async fn two_protocol_values_share_nothing() {
    let one = Provider::of(greeter()).await;
    let other = Provider::of(greeter()).await;
    assert_ne!(one.address, other.address);
    let taken = url().with_port(one.address.port());
    let error = refused(&other.protocol, &taken).await;
    let ProtocolError::Bind { address, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(address, taken.address());
    drop(one);
    let mut wire = Wire::connect(other.address).await;
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}

#[tokio::test]
async fn a_bad_parameter_is_refused_with_its_name() {
    let protocol = TripleProtocol::default();
    let bad = url().with_param("max-server-recv-msg-size", "huge");
    let error = refused(&protocol, &bad).await.to_string();
    assert!(
        error.contains("max-server-recv-msg-size") && error.contains("huge"),
        "{error}"
    );
}

#[tokio::test]
async fn a_service_may_be_exported_under_another_interface_than_its_definitions() {
    let url = Url::new("tri", "127.0.0.1")
        .with_port(0)
        .with_path("com.example.Greeter");
    let provider = Provider::at(&url, greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let body = crate::wire::request("x");
    let answer = wire.call("/com.example.Greeter/Greet", &[], body).await;
    assert_eq!(answer.greetings(), ["hello x"]);
    assert_eq!(wire.greet("x", &[]).await.code(), 12);
}

#[test]
fn the_default_port_is_dubbos() {
    let protocol = TripleProtocol::default();
    assert_eq!(protocol.default_port(), 50_051);
}
