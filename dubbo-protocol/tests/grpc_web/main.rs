//! gRPC-Web as a page speaks it, byte by byte, over HTTP/1.1 and HTTP/2 (`docs/spec/triple.md` §10.5).

mod failures;
#[allow(dead_code, reason = "the tests of gRPC calls use all of it")]
#[path = "../triple_server/greeter.rs"]
mod greeter;
mod messages;
mod page;
mod streams;
#[allow(dead_code, reason = "the tests of calls over plain HTTP use all of it")]
#[path = "../plain_http/support.rs"]
mod support;
