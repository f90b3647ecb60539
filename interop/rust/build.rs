//! Generates the contract, and what the consumer needs to call services beyond it.

fn main() -> Result<(), dubbo_build::Error> {
    dubbo_build::configure().compile(
        &[
            "../../proto/dubbo/interop/v1/interop.proto",
            "proto/stranger.proto",
            "../../proto/grpc/health/v1/health.proto",
            "../../proto/grpc/reflection/v1alpha/reflection.proto",
        ],
        &["../../proto", "proto"],
    )
}
