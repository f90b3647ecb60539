//! Generates the service from its interface definition.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    dubbo_build::configure().compile(&["proto/ping.proto"], &["proto"])?;
    Ok(())
}
