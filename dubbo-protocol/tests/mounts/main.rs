//! HTTP services beside the calls on a Triple port, over HTTP/1.1 and HTTP/2.

mod answers;
mod ends;
#[allow(dead_code, reason = "the tests of gRPC calls use all of it")]
#[path = "../triple_server/greeter.rs"]
mod greeter;
mod handlers;
mod paths;
#[allow(dead_code, reason = "the tests of calls over plain HTTP use all of it")]
#[path = "../plain_http/support.rs"]
mod support;
#[allow(dead_code, reason = "the tests of gRPC calls use all of it")]
#[path = "../triple_server/wire.rs"]
mod wire;
