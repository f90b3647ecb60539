//! The second version of the metadata service: that of a proto file (`docs/spec/metadata.md` §3.2).

use std::{fmt, sync::Arc};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    codegen::ProtoJson,
    invocation::{Body, Invocation, Reply, RpcResult},
    payload::{Adapter as _, Codec, CodecError, Message, Payload},
    provider::Service,
    status::Status,
};
use dubbo_metadata::published::Published;

use super::{
    content::Content,
    encodings::Encodings,
    openapi::openapi_info,
    proto::{METADATA_SERVICE_V2_DESCRIPTOR, MetadataInfoV2, MetadataRequest},
};

pub(super) const VERSION: &str = "2.0.0";

/// The service. dubbo-go's other spelling of its first method, `getMetadataInfo`, is that of the first letter.
pub(super) fn service(content: Arc<dyn Content>) -> Service {
    let encodings = Encodings::default();
    let described = Arc::clone(&content);
    Service::builder(
        Arc::clone(&METADATA_SERVICE_V2_DESCRIPTOR),
        "MetadataServiceV2",
    )
    .raw(GET_METADATA_INFO, move |invocation| {
        let answer = metadata_info(&*content, &encodings, invocation);
        async { answer }
    })
    .raw(GET_OPENAPI_INFO, move |invocation| {
        let answer = openapi_info(&*described, invocation);
        async { answer }
    })
    .build()
}

/// The metadata of the revision that is asked for; an empty message when none is.
fn metadata_info(
    content: &dyn Content,
    encodings: &Encodings,
    invocation: Invocation,
) -> RpcResult {
    let method = invocation.method;
    let unusable = |why: String| Status::invalid_argument(format!("{method:?}: {why}"));
    let Body::Unary(payload) = invocation.body else {
        return Err(unusable("it takes one request, not a stream".to_owned()));
    };
    let MetadataRequest { revision } = payload
        .decode::<ProtoJson<MetadataRequest>>()
        .map_err(|error| unusable(error.to_string()).with_source(error))?
        .unwrap();
    if revision.is_empty() {
        let nothing = ProtoJson::wrap(MetadataInfoV2::default());
        return Ok(Reply::new(Body::Unary(Payload::typed(nothing))));
    }
    let Some(published) = content.find(&revision) else {
        return Err(unknown(content, &revision));
    };
    let protobuf = encodings.of(&published);
    let answer = Answer {
        published,
        protobuf,
    };
    Ok(Reply::new(Body::Unary(Payload::typed(answer))))
}

fn unknown(content: &dyn Content, revision: &str) -> Status {
    let current: Vec<_> = content
        .current()
        .iter()
        .map(|published| published.revision().to_owned())
        .collect();
    let now = match &current[..] {
        [] => "nothing is published".to_owned(),
        all => format!("now it is {}", all.join(", ")),
    };
    // It can be as long as a message, and the text has to fit into a header.
    Status::not_found(format!(
        "`{}` has no metadata of revision `{revision:.128}`; {now}",
        content.application()
    ))
}

/// Metadata as an answer: encoded already in the form that all callers but browsers ask for.
struct Answer {
    published: Arc<Published>,
    protobuf: Bytes,
}

impl Message for Answer {
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        if codec == Codec::Protobuf {
            dst.extend_from_slice(&self.protobuf);
            return Ok(());
        }
        ProtoJson::wrap(MetadataInfoV2::from(&*self.published.info)).encode(codec, dst)
    }

    fn encoded_len(&self, codec: Codec) -> Option<usize> {
        (codec == Codec::Protobuf).then_some(self.protobuf.len())
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the metadata of revision {}", self.published.revision())
    }
}

const GET_METADATA_INFO: usize = 0;
const GET_OPENAPI_INFO: usize = 1;

#[cfg(test)]
mod tests {
    use dubbo_core::payload::{FromPayload as _, Rules};
    use dubbo_metadata::model::MetadataInfo;

    use super::*;

    #[test]
    fn the_answer_is_the_same_in_every_form() {
        let published = Arc::new(Published::new(MetadataInfo {
            app: "demo".to_owned(),
            revision: "r".to_owned(),
            ..MetadataInfo::default()
        }));
        let answer = Answer {
            protobuf: Encodings::default().of(&published),
            published,
        };
        for codec in [Codec::Json, Codec::Protobuf] {
            let mut bytes = BytesMut::new();
            answer.encode(codec, &mut bytes).expect("written");
            let len = answer.encoded_len(codec);
            assert!(len.is_none_or(|len| len == bytes.len()), "{codec}");
            let read = ProtoJson::<MetadataInfoV2>::decode(codec, bytes.freeze(), &Rules::NONE);
            let read = read.expect("read").unwrap();
            assert_eq!(MetadataInfo::from(read), *answer.published.info, "{codec}");
        }
    }
}
