//! Both sides ours.

use std::sync::Arc;

use dubbo_core::{
    protocol::Protocol as _, provider::Service, request::Request, status::Code, url::Url,
};
use dubbo_protocol::{
    TripleProtocol,
    java::{GenericClient, JavaService, with_built_ins},
};
use futures_util::stream;

use crate::support::{ALL, Provider, all, echo, join, long, repeat, stub, talk, text};

#[tokio::test]
async fn all_kinds_of_calls_work_with_any_two_compressions() {
    let protocol = TripleProtocol::default();
    for (sent, answered) in ALL
        .iter()
        .flat_map(|sent| ALL.map(|answered| (sent, answered)))
    {
        let provider = Provider::with(&format!(
            ".compression.send={answered}&.compression.min-size=50"
        ))
        .await;
        let query = format!("compression.send={sent}&compression.min-size=50");
        let stub = stub(&protocol, provider.address, &query)
            .await
            .expect("known");
        let long = long();
        let one = echo(&stub, &long).await.expect("it worked");
        assert_eq!(one.message().text, long);
        let many = repeat(&stub, &long).await.expect("it began");
        assert_eq!(all(many.into_message()).await, ["short", &*long, ""]);
        let requests = stream::iter([text(&long), text("x"), text(&long)]);
        let joined = join(&stub, requests.clone()).await.expect("it worked");
        assert_eq!(joined.message().text, format!("{long}x{long}"));
        let talked = talk(&stub, requests).await.expect("it began");
        assert_eq!(all(talked.into_message()).await, [&*long, "x", &*long]);
        let status = echo(&stub, &"fail".repeat(100))
            .await
            .expect_err("it fails");
        assert_eq!(status.code(), Code::FailedPrecondition);
    }
}

#[tokio::test]
async fn results_of_a_java_interface_are_compressed_for_those_who_take_it() {
    let service: Service = JavaService::new("x.Users")
        .method("text", async |call: Request<(i32,)>| {
            let len = usize::try_from(call.into_message().0).unwrap_or_default();
            Ok("x".repeat(len).into())
        })
        .into();
    let service = with_built_ins(service);
    let url: Url = "tri://127.0.0.1:0/x.Users?.compression.send=zstd"
        .parse()
        .expect("a URL");
    let protocol = TripleProtocol::default();
    let descriptor = Arc::clone(service.descriptor());
    let invoker = service.into_invoker(url.clone());
    let exporter = protocol.export(&url, descriptor, invoker).await;
    let exporter = exporter.expect("exported");
    let url: Url = format!("tri://{}/x.Users", exporter.url().address())
        .parse()
        .expect("a URL");
    let descriptor = Arc::new(GenericClient::descriptor("x.Users"));
    let invoker = protocol.refer(&url, descriptor).await.expect("a URL");
    let client = GenericClient::new(invoker, url.service_key());
    for len in [10, 100_000] {
        let value = client
            .invoke("text", Some(&["int"]), vec![len.into()])
            .await;
        let value = value.expect("it worked").into_message();
        let text = value.as_str().expect("a text");
        assert_eq!(i32::try_from(text.len()), Ok(len));
    }
}
