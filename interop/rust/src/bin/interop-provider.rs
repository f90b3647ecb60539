//! Serves the contract. Prints `{"event":"ready"}` once it can be called, then what becomes of the calls it holds.

use std::{error::Error, io, process, thread, time::Duration};

use dubbo::{
    Instance,
    config::{ProtocolConfig, ServiceConfig, ShutdownConfig},
};
use interop::{
    Arguments, Notice,
    contract::GreeterServer,
    provider::Greeter,
    user::{UserServiceServer, UserStreamServiceServer, UserStreams, Users},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::of_process(&["tri", "dubbo", "until-stdin-ends"])?;
    if arguments.get("until-stdin-ends").is_some() {
        thread::spawn(|| {
            // However the input ends, its writer is gone.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            process::exit(1);
        });
    }

    let grouped = || ServiceConfig::new().group("g1").version("1.0.0");
    // Calls in flight finish and new ones are refused at once: without a registry nobody needs time to notice that the
    // provider leaves.
    let shutdown = ShutdownConfig::new()
        .step_timeout(Duration::ZERO)
        .consumer_update_wait_time(Duration::ZERO)
        .offline_request_window_timeout(Duration::ZERO);
    let mut builder = Instance::builder()
        .application("interop-rust-provider")
        .shutdown(shutdown)
        .provide(UserServiceServer::new(Users::plain()))
        .provide_with(UserServiceServer::new(Users::grouped()), grouped());
    if let Some(port) = arguments.get("tri") {
        let triple = |options: ServiceConfig| options.protocol_ids(["tri"]);
        builder = builder
            .protocol("tri", ProtocolConfig::tri().port(port.parse()?))
            .provide_with(
                UserStreamServiceServer::new(UserStreams),
                triple(ServiceConfig::new()),
            )
            .provide_with(
                GreeterServer::new(Greeter::plain()),
                triple(ServiceConfig::new()),
            )
            .provide_with(GreeterServer::new(Greeter::grouped()), triple(grouped()));
    }
    if let Some(port) = arguments.get("dubbo") {
        let dubbo = ProtocolConfig::new().name("dubbo").port(port.parse()?);
        builder = builder.protocol("dubbo", dubbo);
    }
    let instance = builder.build()?;
    instance.start().await?;
    Notice::ready().print();
    instance.serve().await?;
    Ok(())
}
