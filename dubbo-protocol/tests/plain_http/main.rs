//! The Triple server as callers without gRPC see it: `curl`, browsers, gateways, clients of Connect. Every test talks to it
//! over a socket, most over HTTP/1.1 and HTTP/2 alike.

mod answers;
mod connections;
mod deadlines;
mod errors;
mod get;
#[allow(dead_code, reason = "the tests of gRPC calls use all of it")]
#[path = "../triple_server/greeter.rs"]
mod greeter;
mod grpc;
mod java;
mod refusals;
mod streams;
mod support;
mod words;
