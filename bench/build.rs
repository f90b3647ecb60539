//! Generates the interop service twice: for us and for tonic.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let protos = ["proto/ping.proto"];
    let includes = ["proto"];
    dubbo_build::configure().compile(&protos, &includes)?;

    let tonic_dir = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("tonic");
    std::fs::create_dir_all(&tonic_dir)?;
    tonic_prost_build::configure()
        .bytes(".")
        .out_dir(tonic_dir)
        .compile_fds(protox::compile(protos, includes)?)?;
    Ok(())
}
