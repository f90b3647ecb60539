//! gRPC's server reflection: what `grpcurl` and its like ask a server about its services (`docs/spec/triple.md` §10.2).

pub(super) mod index;
pub(super) mod service;

pub(super) use service::services;
