//! Generates the suite's contract.

fn main() -> Result<(), dubbo_build::Error> {
    dubbo_build::configure()
        // In JSON an `Any` shows the message in it, so it has to know which messages there are.
        .extern_path(".google.protobuf.Any", "crate::any::Any")
        .compile(&["proto/conformance.proto"], &["proto"])
}
