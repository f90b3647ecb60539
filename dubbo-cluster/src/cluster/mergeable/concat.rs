//! Merging messages of a proto file without knowing their types.

use std::sync::Arc;

use bytes::BytesMut;
use dubbo_core::{
    cluster::Merger,
    extension::BoxError,
    payload::{Codec, Payload},
    service::{MethodDescriptor, MethodRef},
};

/// Joins the encoded messages: whoever decodes that reads one message with the lists of all, the entries of all maps, and
/// of what is single the last. So protobuf defines it, for messages inside of messages as well.
struct Concat;

impl Merger for Concat {
    fn check(&self, method: &MethodDescriptor) -> Result<(), BoxError> {
        match &method.java {
            Some(_) => Err("they are values of Java; `java` merges these".into()),
            None => Ok(()),
        }
    }

    fn merge(&self, _method: &MethodRef, results: Vec<Payload>) -> Result<Payload, BoxError> {
        let mut merged = BytesMut::new();
        for result in results {
            result.encode(Codec::Protobuf, &mut merged)?;
        }
        Ok(Payload::encoded(Codec::Protobuf, merged.freeze()))
    }
}

dubbo_core::extension!(dyn Merger, "protobuf", |_cx| Ok(Arc::new(Concat)));
