//! Calls the contract, and prints a line of JSON per case. With a registry it looks for providers there, and prints a line
//! whenever its calls begin to fare otherwise. With a configuration it makes the calls that its standard input asks for.

use std::{error::Error, path::Path};

use interop::{
    Arguments,
    consumer::{Consumer, discover, obey},
    registries,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let known = [
        &["tri", "dubbo", "cases", "load", "rate", "config"],
        &registries::FLAGS[..],
    ]
    .concat();
    let arguments = Arguments::of_process(&known)?;
    if let Some(config) = arguments.get("config") {
        return obey(Path::new(config)).await;
    }
    if arguments.get("registry").is_some() {
        return discover(&arguments).await;
    }
    let consumer = Consumer::new(&arguments)?;
    let labels = arguments.get("cases").ok_or(
        "--cases=PROTOCOL/NAME,… is missing; `cargo xtask interop go --case ?` lists the names",
    )?;
    for label in labels.split(',') {
        consumer.run(label).await?.print();
    }
    Ok(())
}
