//! What only a real ZooKeeper server can show. `interop/registries/zookeeper start PORT DIR` starts one;
//! `DUBBO_TEST_ZOOKEEPER=127.0.0.1:PORT cargo test -p dubbo-registry --features zookeeper --test zookeeper_server --
//! --ignored` runs these tests.

#![cfg(feature = "zookeeper")]

mod faults;
mod nodes;
mod proxy;
#[path = "../servers/mod.rs"]
mod servers;
mod texts;
mod world;

const SERVER: servers::Kind = servers::Kind {
    plugin: "zookeeper",
    script: "zookeeper",
    variable: "DUBBO_TEST_ZOOKEEPER",
    environment: &[],
};
