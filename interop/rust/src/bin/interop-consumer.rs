//! Calls the contract, and prints a line of JSON per case.

use std::error::Error;

use interop::{Arguments, consumer::Consumer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::of_process(&["tri", "dubbo", "cases"])?;
    let consumer = Consumer::new(&arguments)?;
    let labels = arguments.get("cases").ok_or(
        "--cases=PROTOCOL/NAME,… is missing; `cargo xtask interop go --case ?` lists the names",
    )?;
    for label in labels.split(',') {
        consumer.run(label).await?.print();
    }
    Ok(())
}
