//! Calls the contract, and prints a line of JSON per case.

use std::error::Error;

use interop::{Arguments, consumer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::of_process(&["addr", "cases"])?;
    let consumer = consumer::Consumer::new(arguments.get("addr").unwrap_or("127.0.0.1:20000"))?;
    let cases = arguments.get("cases").ok_or(
        "--cases=NAME,NAME… is missing; `cargo xtask interop go --case ?` lists the names",
    )?;
    for case in cases.split(',') {
        consumer.run(case).await?.print();
    }
    Ok(())
}
