//! A provider and a consumer that find each other by ZooKeeper:
//! `cargo run -p examples --features zookeeper --bin registry-zookeeper -- provider`, then the same with `-- consumer`.
//!
//! `interop/registries/zookeeper start 2181 /tmp/zookeeper` starts a server, unless there is one. The program is
//! `src/registries.rs`.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    examples::registries::run("registry-zookeeper.yaml").await
}
