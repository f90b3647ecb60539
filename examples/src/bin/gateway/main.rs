//! HTTP in, any Dubbo service out: `cargo run -p examples --bin gateway`.
//!
//! It knows no service by its types. How calls are tried again, what becomes of those that cannot be saved, and which traffic
//! is kept apart from which is all in `gateway.yaml`; switches change while it runs.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

mod backend;
mod calls;
mod http;
mod letters;

use std::{error::Error, sync::Arc};

use calls::Services;
use dubbo::Instance;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let backend = backend::start().await?;
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/gateway.yaml"))?.build()?;
    let services = Services::new(instance, backend.urls.clone());

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let gateway = format!("http://{}", listener.local_addr()?);
    println!("Try, in another terminal:");
    for (what, arguments) in [
        (
            "a call",
            format!("-d '[\"ada\"]' {gateway}/com.example.UserService/getUser"),
        ),
        (
            "an error of the service",
            format!("-d '[\"nemo\"]' {gateway}/com.example.UserService/getUser"),
        ),
        (
            "a call that cannot be saved now",
            format!(
                "-d '[\"lost\"]' -H 'x-env-tag: gray' {gateway}/com.example.UserService/getUser"
            ),
        ),
        ("what became of it", format!("{gateway}/dead-letters")),
        ("mend the service", format!("-X POST {gateway}/mend")),
        (
            "and make the call once more",
            format!("-X POST {gateway}/dead-letters/replay"),
        ),
        (
            "a tenth of the calls is gray, and none is tried again",
            format!("-X PUT -d '{{gray.percent: 10, retry.enabled: false}}' {gateway}/switches"),
        ),
    ] {
        println!("  curl {arguments}  # {what}");
    }
    let gateway = Arc::new(http::Gateway { services, backend });
    let instance = &gateway.services.instance;
    tokio::select! {
        served = http::serve(listener, Arc::clone(&gateway)) => served?,
        // Until Ctrl-C: an instance takes the signal, so the listener has to end with it.
        ended = instance.serve() => ended?,
    }
    Ok(())
}
