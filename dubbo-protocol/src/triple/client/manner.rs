//! In which form a reference writes its requests (`docs/spec/triple.md` §2.3, §8).

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    payload::{Codec, Payload},
    service::{MethodRef, ServiceDescriptor},
    status::Status,
    url::Url,
};
use http::HeaderMap;

use super::{
    super::{
        compression::{Compression, Packing},
        form::{Form, is_wrapped},
        frame::{self, Sending, check_sent},
    },
    dialect::TripleDialect,
};

/// How the requests of a reference are written, and what their answers may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    pub(super) dialect: TripleDialect,
    /// How messages of a proto file are written, both ways.
    pub(super) codec: Codec,
    packing: Option<Packing>,
}

impl Manner {
    /// gRPC with protobuf, not compressed.
    pub(super) const PLAIN: Self = Self {
        dialect: TripleDialect::Grpc,
        codec: Codec::Protobuf,
        packing: None,
    };

    /// What `url` says for calls of `service`. A provider may say `serialization` for all who do not say it themselves.
    ///
    /// # Errors
    ///
    /// A parameter that cannot be used. Compression cannot for methods whose arguments are hessian values: Dubbo Java takes
    /// their first message for plain whatever its flag says, and a provider cannot be told from another by its URL.
    pub(super) fn read(url: &Url, service: &ServiceDescriptor) -> Result<Self, String> {
        let packing = Packing::of_calls(url).map_err(|error| error.to_string())?;
        if let (Some(packing), true) = (packing, service.is_java()) {
            return Err(format!(
                "`compression.send` is `{}`, but `{}` is a Java interface: Dubbo Java's providers cannot read compressed \
                 arguments; leave it out (answers may be compressed in any case)",
                packing.compression,
                service.interface()
            ));
        }
        let codec = match url.param("serialization") {
            Some("json") => Codec::Json,
            _ => Codec::Protobuf,
        };
        let dialect = TripleDialect::read(url).map_err(|error| error.to_string())?;
        Ok(Self {
            dialect,
            codec,
            packing,
        })
    }

    /// The form of the requests of `method`.
    pub(super) fn form(self, method: &MethodRef) -> Form {
        Form::of_requests(method, self.codec)
    }

    /// How they are sent, with at most `limit` bytes each.
    pub(super) fn sending(self, method: &MethodRef, limit: usize) -> Sending {
        Sending {
            limit,
            packing: self.packing_for(method),
        }
    }

    /// Whether messages of `method` are in JSON.
    pub(super) fn is_json(self, method: &MethodRef) -> bool {
        self.codec == Codec::Json && !is_wrapped(method)
    }

    /// `payload`, the one request of a call of `method`, with at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// It is over the limit, or cannot be written.
    pub(super) fn write(
        self,
        method: &MethodRef,
        payload: &Payload,
        limit: usize,
    ) -> Result<Written, Status> {
        let (form, sending) = (self.form(method), self.sending(method, limit));
        if self.dialect.has_envelopes() {
            return Ok(Written {
                body: frame::encode(payload, &form, sending)?,
                compression: self.announced(method),
            });
        }
        let known = form.encoded_len(payload).unwrap_or(0);
        check_sent(known, limit)?;
        let mut body = BytesMut::with_capacity(known);
        form.write(payload, &mut body)
            .map_err(|error| Status::internal(error.to_string()).with_source(error))?;
        check_sent(body.len(), limit)?;
        let packing = sending.packing;
        let packed = packing.and_then(|packing| Some((packing, packing.pack_whole(&body)?)));
        Ok(match packed {
            Some((packing, packed)) => Written {
                body: packed.into(),
                compression: Some(packing.compression),
            },
            None => Written {
                body: body.freeze(),
                compression: None,
            },
        })
    }

    /// What the head of a request in envelopes says of those that are compressed.
    pub(super) fn announced(self, method: &MethodRef) -> Option<Compression> {
        self.packing_for(method).map(|packing| packing.compression)
    }

    /// Writes the headers that say so. `compression` is what the body is announced as, and `remaining` how much longer the
    /// caller waits.
    pub(super) fn describe(
        self,
        method: &MethodRef,
        compression: Option<Compression>,
        remaining: Option<Duration>,
        headers: &mut HeaderMap,
    ) {
        let is_json = self.is_json(method);
        self.dialect
            .describe(is_json, compression, remaining, headers);
    }

    /// Methods without a proto file may be called beside those of one.
    fn packing_for(self, method: &MethodRef) -> Option<Packing> {
        self.packing.filter(|_| !is_wrapped(method))
    }
}

/// A request as it goes out.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) body: Bytes,
    /// What its head announces.
    pub(super) compression: Option<Compression>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_core::service::{CallKind, MethodDescriptor};
    use http::header::CONTENT_TYPE;

    use crate::triple::headers::GRPC_ENCODING;

    use super::*;

    fn service(java: bool) -> Arc<ServiceDescriptor> {
        let method = if java {
            MethodDescriptor::java("get", CallKind::Unary, ["int"], "x.User")
        } else {
            MethodDescriptor::new("Get", CallKind::Unary)
        };
        Arc::new(ServiceDescriptor::new("x.Y", vec![method]))
    }

    fn read(query: &str, java: bool) -> Result<Manner, String> {
        let url: Url = format!("tri://h:1/x.Y?{query}").parse().expect(query);
        Manner::read(&url, &service(java))
    }

    /// Content type and compression of requests for a method.
    fn described(manner: Manner, java: bool) -> (String, Option<String>) {
        let mut headers = HeaderMap::new();
        let method = MethodRef::new(service(java), 0);
        manner.describe(&method, manner.announced(&method), None, &mut headers);
        let text = |name: &http::HeaderName| {
            let value = headers.get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let encoding = text(&GRPC_ENCODING);
        let sent = manner.sending(&method, 7).packing;
        assert_eq!(sent.map(|p| p.compression.name()), encoding.as_deref());
        (text(&CONTENT_TYPE).expect("always there"), encoding)
    }

    #[test]
    fn json_is_for_messages_of_a_proto_file_and_other_names_change_nothing() {
        let proto = "application/grpc+proto";
        for (query, content, codec) in [
            ("", proto, Codec::Protobuf),
            ("serialization=json", "application/grpc+json", Codec::Json),
            ("serialization=protobuf", proto, Codec::Protobuf),
            // What providers of other makes say of services of a proto file, too.
            ("serialization=hessian2", proto, Codec::Protobuf),
            ("serialization=msgpack", proto, Codec::Protobuf),
        ] {
            let manner = read(query, false).expect(query);
            assert_eq!(manner.codec, codec, "{query}");
            assert_eq!(described(manner, false), (content.to_owned(), None));
            assert_eq!(described(manner, true), (proto.to_owned(), None));
        }
    }

    #[test]
    fn arguments_of_a_java_interface_are_never_compressed() {
        let manner = read("compression.send=zstd", false).expect("known");
        let (_, encoding) = described(manner, false);
        assert_eq!(encoding.as_deref(), Some("zstd"));
        let (_, encoding) = described(manner, true);
        assert_eq!(encoding, None);
        let error = read("compression.send=zstd", true).expect_err("refused");
        assert!(error.contains("`x.Y` is a Java interface"), "{error}");
        assert_eq!(read("compression.send=", true), Ok(Manner::PLAIN));
    }
}
