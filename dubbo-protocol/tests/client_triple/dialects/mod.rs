//! gRPC-Web and Connect, over HTTP/2 and HTTP/1.1, plain and with TLS.

mod calls;
mod connections;
mod failures;
mod rig;
mod strangers;
