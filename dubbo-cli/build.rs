//! Generates the client of the service by which servers tell what they serve.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    dubbo_build::configure().compile(
        &["../proto/grpc/reflection/v1/reflection.proto"],
        &["../proto"],
    )?;
    Ok(())
}
