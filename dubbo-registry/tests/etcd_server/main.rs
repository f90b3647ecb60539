//! What only a real etcd server can show, beside the suites of `real_servers`. `interop/registries/etcd start PORT DIR`
//! starts one; `DUBBO_TEST_ETCD=127.0.0.1:PORT cargo test -p dubbo-registry --features etcd --test etcd_server --
//! --ignored` runs these tests.

#![cfg(feature = "etcd")]

mod faults;
mod keys;
mod logins;
mod secure;
mod texts;
mod world;
