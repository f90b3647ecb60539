//! Generates the service and its client.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    dubbo_build::configure().compile(&["proto/greeter.proto"], &["proto"])?;
    Ok(())
}
