//! Two programs of one machine find each other in a directory, with nothing installed:
//! `cargo run -p examples --bin registry-file -- provider`, then `-- consumer` in another terminal.
//!
//! The program is `src/registries.rs`; which registry it uses, and where, is said in the YAML file alone.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    examples::registries::run("registry-file.yaml").await
}
