//! Serves the contract. Prints `{"event":"ready"}` once it can be called, then what becomes of the calls it holds.

use std::{error::Error, io, process, thread, time::Duration};

use dubbo::{
    Instance,
    config::{ProtocolConfig, ServiceConfig, ShutdownConfig},
};
use interop::{
    Arguments,
    contract::GreeterServer,
    provider::{Greeter, Notice},
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

    let grouped = ServiceConfig::new().group("g1").version("1.0.0");
    let mut builder = Instance::builder()
        .application("interop-rust-provider")
        // Calls in flight finish and new ones are refused at once: without a registry nobody needs time to notice
        // that the provider leaves.
        .shutdown(
            ShutdownConfig::new()
                .step_timeout(Duration::ZERO)
                .consumer_update_wait_time(Duration::ZERO)
                .offline_request_window_timeout(Duration::ZERO),
        )
        .provide(GreeterServer::new(Greeter::plain()))
        .provide_with(GreeterServer::new(Greeter::grouped()), grouped);
    if let Some(port) = arguments.get("tri") {
        builder = builder.protocol("tri", ProtocolConfig::tri().port(port.parse()?));
    }
    let instance = builder.build()?;
    instance.start().await?;
    Notice::ready().print();
    instance.serve().await?;
    Ok(())
}
