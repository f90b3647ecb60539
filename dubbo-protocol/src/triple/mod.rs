//! Triple: gRPC's framing over HTTP/2 with Dubbo's routing, attachments and errors (`docs/spec/triple.md`).

mod frame;
mod headers;
mod status_wire;
mod timeout;
