//! One result of those of several groups.

use std::{fmt, marker::PhantomData};

use bytes::BytesMut;

use crate::{
    extension::BoxError,
    payload::{Codec, Payload},
    service::{MethodDescriptor, MethodRef},
};

/// Makes one result of those that several groups of providers gave for one call: the cluster `mergeable`
/// (`docs/spec/cluster.md` §2.11).
///
/// A reference names it with the parameter `merger`, or says `default` for the one that is called like the type of the
/// method's result.
///
/// What it gets are messages as they came: encoded in the form of the method, or typed if they never left the process.
/// [`MessageMerger`] decodes the messages of a proto file.
pub trait Merger: Send + Sync + 'static {
    /// Whether it can merge the results of `method`. A reference that asks for what cannot be is refused.
    ///
    /// # Errors
    ///
    /// Why not.
    fn check(&self, method: &MethodDescriptor) -> Result<(), BoxError> {
        let _ = method;
        Ok(())
    }

    /// Merges `results` of `method`, two at least, in the order of the groups.
    ///
    /// # Errors
    ///
    /// A result that cannot be read, or that does not go with the others.
    fn merge(&self, method: &MethodRef, results: Vec<Payload>) -> Result<Payload, BoxError>;
}

/// A [`Merger`] of messages of the type `T`, made of a closure.
///
/// ```
/// use std::sync::Arc;
///
/// use dubbo_core::cluster::{MessageMerger, Merger};
///
/// // Any message that `dubbo-build` generated; here one of prost's own, an `int64`.
/// dubbo_core::extension!(dyn Merger, "sum", |_cx| {
///     Ok(Arc::new(MessageMerger::new(|all: Vec<i64>| all.into_iter().sum::<i64>())))
/// });
/// ```
pub struct MessageMerger<T, F> {
    merge: F,
    message: PhantomData<fn(T) -> T>,
}

impl<T, F> MessageMerger<T, F>
where
    T: prost::Message + Default,
    F: Fn(Vec<T>) -> T + Send + Sync + 'static,
{
    /// Merges with `merge`.
    pub fn new(merge: F) -> Self {
        Self {
            merge,
            message: PhantomData,
        }
    }
}

impl<T, F> Merger for MessageMerger<T, F>
where
    T: prost::Message + Default + 'static,
    F: Fn(Vec<T>) -> T + Send + Sync + 'static,
{
    fn check(&self, method: &MethodDescriptor) -> Result<(), BoxError> {
        match &method.java {
            Some(_) => {
                Err("it merges messages of a proto file, and these are values of Java".into())
            }
            None => Ok(()),
        }
    }

    fn merge(&self, _method: &MethodRef, results: Vec<Payload>) -> Result<Payload, BoxError> {
        let mut messages = Vec::with_capacity(results.len());
        for result in results {
            let mut bytes = BytesMut::new();
            result.encode(Codec::Protobuf, &mut bytes)?;
            messages.push(T::decode(bytes.freeze())?);
        }
        let merged = (self.merge)(messages).encode_to_vec();
        Ok(Payload::encoded(Codec::Protobuf, merged.into()))
    }
}

impl<T, F> fmt::Debug for MessageMerger<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageMerger").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use prost::Message as _;

    use super::*;
    use crate::{
        codegen::Proto,
        payload::Adapter as _,
        service::{CallKind, ServiceDescriptor},
    };

    #[test]
    fn messages_are_merged_whether_they_came_encoded_or_typed() {
        let methods = vec![MethodDescriptor::new("Count", CallKind::Unary)];
        let method = Arc::new(ServiceDescriptor::new("a.B", methods)).find("Count");
        let method = method.expect("is there");
        let merger = MessageMerger::new(|all: Vec<i64>| all.into_iter().sum::<i64>());
        let results = vec![
            Payload::encoded(Codec::Protobuf, 3_i64.encode_to_vec().into()),
            Payload::typed(Proto::wrap(4_i64)),
        ];
        let sum = merger.merge(&method, results).expect("merges");
        assert_eq!(sum.decode::<Proto<i64>>().expect("reads").unwrap(), 7);

        let unreadable = vec![Payload::encoded(Codec::Protobuf, b"\x0f".as_slice().into())];
        assert!(merger.merge(&method, unreadable).is_err());
        let java = MethodDescriptor::java("count", CallKind::Unary, ["int"], "int");
        assert!(merger.check(&java).is_err() && merger.check(method.descriptor()).is_ok());
    }
}
