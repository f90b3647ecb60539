//! Services without an IDL: what Java interfaces are here.
//!
//! The messages of such a service are Hessian values, on every protocol: [`Args`] for the arguments of a call, [`Ret`]
//! for its result. [`JavaService`] makes a service of closures, `#[dubbo::service]` of a trait; both describe it with
//! [`MethodSpec`] and [`descriptor`]. An exception is a [`Status`](dubbo_core::status::Status) that holds a
//! [`Throwable`](dubbo_hessian2::java::Throwable): [`exception`] throws, [`thrown`] catches.

mod args;
mod attachments;
mod class_name;
mod describe;
mod exception;
mod generic;
mod json;
mod merge;
mod message;
mod ret;
mod rpc_exception;
mod service;
mod text;

pub use self::{
    args::{Args, Arguments, JavaValue},
    describe::{Declared, MethodSpec, descriptor},
    exception::{exception, exception_with, thrown, thrown_as},
    generic::{GenericClient, GenericMode, UnknownGenericMode, with_built_ins},
    merge::ValueMerger,
    ret::Ret,
    service::JavaService,
};
pub(crate) use self::{
    attachments::{read_attachments, write_attachments_with},
    exception::{from_throwable, to_throwable},
    json::{read_json_arguments, told_in_json, write_json_result},
    message::{options, shared_rules},
};
