//! A stub for a scripted peer.

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock},
};

use dubbo_core::{
    call::{Call, Stub},
    codegen::{Proto, prost::Message as _},
    protocol::Protocol,
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    streaming::Streaming,
    url::Url,
};
use futures_core::Stream;

/// The interface; each method takes and gives strings.
pub(crate) static GREETER: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let methods = [
        ("Greet", CallKind::Unary),
        ("Many", CallKind::ServerStream),
        ("Join", CallKind::ClientStream),
        ("Talk", CallKind::BidiStream),
    ];
    let methods = methods.map(|(name, kind)| MethodDescriptor::new(name, kind));
    Arc::new(ServiceDescriptor::new("greet.Greeter", methods.to_vec()))
});

/// The URL of the service at `address`, with more parameters.
pub(crate) fn url(address: SocketAddr, query: &str) -> Url {
    format!("tri://{address}/greet.Greeter?{query}")
        .parse()
        .expect("a good URL")
}

/// A stub for the service at `address`.
pub(crate) async fn stub(protocol: &dyn Protocol, address: SocketAddr, query: &str) -> Stub {
    let url = url(address, query);
    let invoker = protocol.refer(&url, Arc::clone(&GREETER)).await;
    let invoker = invoker.expect("the URL is good");
    Stub::new(invoker, url.service_key(), Arc::clone(&GREETER))
}

pub(crate) fn greet<'a>(stub: &'a Stub, text: &str) -> Call<'a, Response<String>> {
    stub.unary::<Proto<String>, Proto<String>>(0, Request::new(text.to_owned()))
}

pub(crate) fn many<'a>(stub: &'a Stub, text: &str) -> Call<'a, Response<Streaming<String>>> {
    stub.server_stream::<Proto<String>, Proto<String>>(1, Request::new(text.to_owned()))
}

pub(crate) fn join<S>(stub: &Stub, requests: S) -> Call<'_, Response<String>>
where
    S: Stream<Item = String> + Send + 'static,
{
    stub.client_stream::<Proto<String>, Proto<String>>(2, requests)
}

pub(crate) fn talk<S>(stub: &Stub, requests: S) -> Call<'_, Response<Streaming<String>>>
where
    S: Stream<Item = String> + Send + 'static,
{
    stub.bidi_stream::<Proto<String>, Proto<String>>(3, requests)
}

/// `text` as the message that goes over the wire.
pub(crate) fn message(text: &str) -> Vec<u8> {
    text.to_owned().encode_to_vec()
}
