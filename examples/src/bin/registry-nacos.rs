//! A provider and a consumer that find each other by Nacos:
//! `cargo run -p examples --features nacos --bin registry-nacos -- provider`, then the same with `-- consumer`.
//!
//! `interop/registries/nacos start 8848 /tmp/nacos` starts a server that speaks as Nacos does, unless there is one. The
//! program is `src/registries.rs`.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    examples::registries::run("registry-nacos.yaml").await
}
