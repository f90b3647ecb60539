//! What only a real etcd server can show, beside the suites of `real_servers`. `interop/registries/etcd start PORT DIR`
//! starts one; `DUBBO_TEST_ETCD=127.0.0.1:PORT cargo test -p dubbo-registry --features etcd --test etcd_server --
//! --ignored` runs these tests.

#![cfg(feature = "etcd")]

mod faults;
mod keys;
mod logins;
mod secure;
#[path = "../servers/mod.rs"]
mod servers;
mod texts;
mod world;

const SERVER: servers::Kind = servers::Kind {
    plugin: "etcdv3",
    script: "etcd",
    variable: "DUBBO_TEST_ETCD",
    // Tokens are good for this many seconds without use.
    environment: &[("ETCD_AUTH_TOKEN_TTL", "1")],
};
