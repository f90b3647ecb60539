//! A provider and a consumer that find each other by etcd:
//! `cargo run -p examples --features etcd --bin registry-etcd -- provider`, then the same with `-- consumer`.
//!
//! `interop/registries/etcd start 2379 /tmp/etcd` starts a server, unless there is one. The program is
//! `src/registries.rs`.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    examples::registries::run("registry-etcd.yaml").await
}
