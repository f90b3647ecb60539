//! One value for each method of a service.

use std::sync::OnceLock;

use dubbo_core::service::MethodRef;

/// One value for each method of the service that is called first, whose methods are all that a load balance meets.
#[derive(Debug, Default)]
pub(super) struct Methods<T> {
    by_index: OnceLock<Box<[T]>>,
    other: T,
}

impl<T: Default> Methods<T> {
    /// That of `method`.
    pub(super) fn of(&self, method: &MethodRef) -> &T {
        let by_index = self.by_index.get_or_init(|| {
            let methods = method.service().methods();
            methods.iter().map(|_| T::default()).collect()
        });
        by_index.get(method.index()).unwrap_or(&self.other)
    }
}
