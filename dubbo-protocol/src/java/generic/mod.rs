//! Generic calls: calls of any method by name, with values of any shape (`docs/spec/dubbo-protocol.md` §13).

mod answer;
mod argument;
mod client;
mod mode;
mod provider;

use std::any::Any;

use self::argument::Argument;
use super::describe::MethodSpec;

pub use self::{
    client::GenericClient,
    mode::{GenericMode, UnknownGenericMode},
    provider::with_built_ins,
};

/// The method that a generic call asks for and its arguments; `None` when `arguments` are of another call.
pub(super) fn asked(arguments: &dyn Any) -> Option<(&str, &[Argument])> {
    let (method, _, arguments) = arguments.downcast_ref::<provider::Asked<Argument>>()?;
    Some((method, arguments))
}

/// What every Dubbo service answers beside its own methods. The positions are [`INVOKE`], [`INVOKE_ASYNC`], [`ECHO`].
fn built_ins() -> [MethodSpec; 3] {
    let object = "java.lang.Object";
    let types = [
        "java.lang.String",
        "[Ljava.lang.String;",
        "[Ljava.lang.Object;",
    ];
    let invoke = |name| MethodSpec::new(name).parameters_as(types);
    [
        invoke("$invoke").returns(object),
        invoke("$invokeAsync").returns("java.util.concurrent.CompletableFuture"),
        MethodSpec::new("$echo")
            .parameters_as([object])
            .returns(object),
    ]
}

const INVOKE: usize = 0;
const INVOKE_ASYNC: usize = 1;
const ECHO: usize = 2;

/// The attachment that names the [`GenericMode`].
const GENERIC: &str = "generic";
