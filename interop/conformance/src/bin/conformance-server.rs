//! The server under test of the Connect conformance suite, as its runner starts it.

use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    conformance::server::serve().await
}
