//! Generates the service that all examples share, and those that every Triple port has.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    dubbo_build::configure().compile(
        &[
            "proto/greet.proto",
            "../proto/grpc/health/v1/health.proto",
            "../proto/grpc/reflection/v1/reflection.proto",
        ],
        &["proto", "../proto"],
    )?;
    Ok(())
}
