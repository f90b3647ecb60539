//! The classic protocol: frames over TCP with hessian2 in them (`docs/spec/dubbo-protocol.md`).

pub(crate) mod body;
pub(crate) mod descriptor;
pub(crate) mod frame;
pub(crate) mod status;
