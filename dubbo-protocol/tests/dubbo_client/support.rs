//! A stub for a scripted provider.

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock},
};

use dubbo_core::{
    call::{Call, Stub},
    protocol::Protocol,
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    url::Url,
};
use dubbo_hessian2::Value;
use dubbo_protocol::java::{Args, Ret};

/// The interface; its method takes a text and gives anything.
pub(crate) static ECHO: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let types = ["java.lang.String"];
    let echo = MethodDescriptor::java("echo", CallKind::Unary, types, "java.lang.Object");
    Arc::new(ServiceDescriptor::new("com.x.Echo", vec![echo]))
});

/// A stub for the service at `address`, with more parameters in its URL.
pub(crate) async fn stub(protocol: &dyn Protocol, address: SocketAddr, query: &str) -> Stub {
    let url: Url = format!("dubbo://{address}/com.x.Echo?{query}")
        .parse()
        .expect("a good URL");
    let invoker = protocol.refer(&url, Arc::clone(&ECHO)).await;
    let invoker = invoker.expect("the URL is good");
    Stub::new(invoker, url.service_key(), Arc::clone(&ECHO))
}

pub(crate) fn echo<'a>(stub: &'a Stub, text: &str) -> Call<'a, Response<Value>> {
    stub.unary::<Args<(String,)>, Ret<Value>>(0, Request::new((text.to_owned(),)))
}
