//! Serves the contract. Prints `{"event":"ready"}` once it can be called, then what becomes of the calls it holds, and at the
//! end of an orderly shutdown how many calls it answered to consumers that discover it.

use std::{
    error::Error, io, num::ParseIntError, process, sync::atomic::Ordering, thread, time::Duration,
};

use dubbo::{
    InstanceBuilder,
    config::{ProtocolConfig, ServiceConfig, ShutdownConfig, TlsConfig},
};
use interop::{
    Arguments, Notice,
    contract::GreeterServer,
    provider::Greeter,
    registries, traces,
    user::{UserServiceServer, UserStreamServiceServer, UserStreams, Users},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let known = [
        &[
            "tri",
            "dubbo",
            "name",
            "leave",
            "default-shutdown",
            "work",
            "until-stdin-ends",
            "tls-cert",
            "tls-key",
        ][..],
        &registries::FLAGS[..],
        &traces::FLAGS[..],
    ]
    .concat();
    let arguments = Arguments::of_process(&known)?;
    if arguments.get("until-stdin-ends").is_some() {
        thread::spawn(|| {
            // However the input ends, its writer is gone.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            process::exit(1);
        });
    }
    let mut builder = registries::builder(&arguments, "interop-rust-provider")?;
    for name in ["tri", "dubbo"] {
        if let Some(port) = arguments.get(name) {
            let protocol = ProtocolConfig::new().name(name).port(port.parse()?);
            builder = builder.protocol(name, protocol);
        }
    }
    if let (Some(cert), Some(key)) = (arguments.get("tls-cert"), arguments.get("tls-key")) {
        builder = builder.tls(TlsConfig::new().tls_cert_file(cert).tls_key_file(key));
    }
    let discovered = arguments.get("registry").is_some();
    if arguments.get("default-shutdown").is_none() {
        builder = builder.shutdown(shutdown(arguments.get("leave"), discovered)?);
    }
    if !discovered {
        return serve(offer_all(builder, arguments.get("tri").is_some())).await;
    }
    let name = arguments
        .get("name")
        .ok_or("--name=… is missing: consumers tell by it who answers")?;
    let suffix = format!(" from {name}");
    let work = arguments.get("work").map_or(Ok(0), str::parse)?;
    let work = Duration::from_millis(work);
    let users = Users::with_suffix(&*suffix).working(work);
    let greeter = Greeter::with_suffix(suffix).working(work);
    let answered = users.greeted();
    serve(offer_to_discover(builder, greeter, users)).await?;
    Notice::left(answered.load(Ordering::Relaxed)).print();
    Ok(())
}

/// Calls in flight finish and new ones are refused at once. In a registry consumers need `leave` seconds to notice that the
/// provider leaves, one unless it is given; without a registry nobody does.
fn shutdown(leave: Option<&str>, discovered: bool) -> Result<ShutdownConfig, ParseIntError> {
    let leave = match leave {
        Some(seconds) => seconds.parse()?,
        None => u64::from(discovered),
    };
    Ok(ShutdownConfig::new()
        .step_timeout(Duration::ZERO)
        .consumer_update_wait_time(Duration::from_secs(leave))
        .offline_request_window_timeout(Duration::ZERO))
}

async fn serve(builder: InstanceBuilder) -> Result<(), Box<dyn Error>> {
    let instance = builder.build()?;
    instance.start().await?;
    Notice::ready().print();
    instance.serve().await?;
    Ok(())
}

/// The whole contract, plain and in a group, over all that is served.
fn offer_all(builder: InstanceBuilder, over_triple: bool) -> InstanceBuilder {
    let grouped = || ServiceConfig::new().group("g1").version("1.0.0");
    let builder = builder
        .provide(UserServiceServer::new(Users::plain()))
        .provide_with(UserServiceServer::new(Users::grouped()), grouped());
    if !over_triple {
        return builder;
    }
    let triple = |options: ServiceConfig| options.protocol_ids(["tri"]);
    builder
        .provide_with(
            UserStreamServiceServer::new(UserStreams),
            triple(ServiceConfig::new()),
        )
        .provide_with(
            GreeterServer::new(Greeter::plain()),
            triple(ServiceConfig::new()),
        )
        .provide_with(GreeterServer::new(Greeter::grouped()), triple(grouped()))
}

/// Each service once, over one protocol, with answers that say who gave them.
fn offer_to_discover(builder: InstanceBuilder, greeter: Greeter, users: Users) -> InstanceBuilder {
    builder
        .provide_with(
            GreeterServer::new(greeter),
            ServiceConfig::new().protocol_ids(["tri"]),
        )
        .provide_with(
            UserServiceServer::new(users),
            ServiceConfig::new().protocol_ids(["dubbo"]),
        )
}
