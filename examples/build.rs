//! Generates the service that all examples share.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    dubbo_build::configure().compile(&["proto/greet.proto"], &["proto"])?;
    Ok(())
}
