//! Pages of other origins at a Triple port, as their browsers see it (`docs/spec/triple.md` §10.3).

#[allow(dead_code, reason = "the tests of gRPC calls use all of it")]
#[path = "../triple_server/greeter.rs"]
mod greeter;
mod pages;
mod recorded;
#[allow(dead_code, reason = "the tests of calls over plain HTTP use all of it")]
#[path = "../plain_http/support.rs"]
mod support;

use dubbo_core::url::Url;

/// Where the greeter is exported for pages of `example.com`.
fn url() -> Url {
    greeter::url().with_param(".cors.allow-origins", "https://*.example.com")
}
