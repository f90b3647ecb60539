//! Errors of clients, told as errors of what a plugin was asked for.

use dubbo_core::registry::RegistryError;

use crate::{
    backend::Backend,
    reconcile::{Fulfilled, Gone, Handle, closed, copy},
};

/// `error` as the reason why `operation` failed.
pub(crate) fn during(operation: String, mut error: RegistryError) -> RegistryError {
    error.reason = format!("{}: {}", error.operation, error.reason);
    error.operation = operation;
    error
}

/// Waits until a wish is fulfilled, or refused, or given up because its owner was closed.
pub(crate) async fn fulfilled<B: Backend>(
    handle: &Handle<B>,
    operation: impl Fn() -> String,
    wish: Fulfilled,
) -> Result<(), RegistryError> {
    match wish.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(during(operation(), copy(&error))),
        Err(_) => given_up(handle, operation),
    }
}

/// Waits until what was taken back is gone.
pub(crate) async fn gone<B: Backend>(
    handle: &Handle<B>,
    operation: impl Fn() -> String,
    gone: Gone,
) -> Result<(), RegistryError> {
    match gone.await {
        Ok(()) => Ok(()),
        Err(_) => Err(closed(operation(), handle.address())),
    }
}

fn given_up<B: Backend>(
    handle: &Handle<B>,
    operation: impl Fn() -> String,
) -> Result<(), RegistryError> {
    handle.open(&operation)?;
    let reason = "it was taken back before it was visible";
    Err(RegistryError::new(operation(), handle.address(), reason).refused())
}
