//! A service of texts, callers of it who write their bytes themselves, and messages compressed by nobody of ours.

use std::{
    io::{Read as _, Write as _},
    net::SocketAddr,
    sync::{Arc, LazyLock},
};

use dubbo_core::{
    call::{Call, Stub},
    codegen::{ProtoJson, prost::Message},
    protocol::{Exporter, Protocol as _},
    provider::Service,
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::Status,
    streaming::Streaming,
    url::Url,
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::peer::h2::Client;
use flate2::{
    read::{MultiGzDecoder, ZlibDecoder},
    write::{GzEncoder, ZlibEncoder},
};
use futures_core::Stream;
use futures_util::{StreamExt as _, stream};
use http::HeaderMap;
use serde::{Deserialize, Serialize};

pub(crate) const ALL: [&str; 3] = ["gzip", "deflate", "zstd"];

pub(crate) const ECHO: &str = "/x.Texts/Echo";
pub(crate) const REPEAT: &str = "/x.Texts/Repeat";
pub(crate) const JOIN: &str = "/x.Texts/Join";

/// The one message of the service.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
pub(crate) struct Text {
    #[prost(string, tag = "1")]
    #[serde(default)]
    pub(crate) text: String,
}

type Json = ProtoJson<Text>;

pub(crate) static TEXTS: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let methods = [
        ("Echo", CallKind::Unary),
        ("Repeat", CallKind::ServerStream),
        ("Join", CallKind::ClientStream),
        ("Talk", CallKind::BidiStream),
    ];
    let methods = methods.map(|(name, kind)| MethodDescriptor::new(name, kind));
    Arc::new(ServiceDescriptor::new("x.Texts", methods.to_vec()))
});

/// `text` as a message.
pub(crate) fn text(text: &str) -> Text {
    Text {
        text: text.to_owned(),
    }
}

/// A text that is worth compressing.
pub(crate) fn long() -> String {
    "all of dubbo ".repeat(300)
}

/// Gives back what it is given; fails for `fail`. `Repeat` gives a short text, the text itself, and nothing.
fn service() -> Service {
    Service::builder(Arc::clone(&TEXTS), "Texts")
        .unary::<Json, Json, _, _>(0, |request| async move {
            let Text { text } = request.into_message();
            if text.starts_with("fail") {
                return Err(Status::failed_precondition(text));
            }
            Ok(Response::new(Text { text }))
        })
        .server_stream::<Json, Json, _, _>(1, |request| async move {
            let items = [text("short"), request.into_message(), text("")];
            Ok(Response::stream(stream::iter(items.map(Ok))))
        })
        .client_stream::<Json, Json, _, _>(2, |request| async move {
            let mut all = String::new();
            let mut requests = request.into_message();
            while let Some(request) = requests.message().await? {
                all += &request.text;
            }
            Ok(text(&all).into())
        })
        .bidi_stream::<Json, Json, _, _>(3, |request| async move {
            Ok(Response::stream(request.into_message().map(|item| item)))
        })
        .build()
}

/// A server of the service.
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    protocol: TripleProtocol,
    _exporter: Box<dyn Exporter>,
}

impl Provider {
    /// On a free port, with these parameters.
    pub(crate) async fn with(query: &str) -> Self {
        let url: Url = format!("tri://127.0.0.1:0/x.Texts?{query}")
            .parse()
            .expect(query);
        let protocol = TripleProtocol::default();
        let invoker = service().into_invoker(url.clone());
        let exporter = protocol.export(&url, Arc::clone(&TEXTS), invoker).await;
        let exporter = exporter.expect("exported");
        let port = exporter.url().port().expect("bound");
        Self {
            address: ([127, 0, 0, 1], port).into(),
            protocol,
            _exporter: exporter,
        }
    }

    /// Why another service cannot be exported on the same port with these parameters.
    pub(crate) async fn refuses(&self, query: &str) -> String {
        let port = self.address.port();
        let url: Url = format!("tri://127.0.0.1:{port}/x.Texts?group=g&{query}")
            .parse()
            .expect(query);
        let invoker = service().into_invoker(url.clone());
        let exported = self.protocol.export(&url, Arc::clone(&TEXTS), invoker);
        match exported.await {
            Ok(_) => panic!("{query} was exported"),
            Err(error) => error.to_string(),
        }
    }

    /// Calls `path` with these headers and this body, over a connection of its own.
    pub(crate) async fn call(&self, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let mut client = Client::connect(self.address).await;
        let mut all = vec![
            ("content-type", "application/grpc+proto"),
            ("te", "trailers"),
        ];
        all.retain(|(name, _)| headers.iter().all(|(own, _)| own != name));
        all.extend(headers);
        let mut call = client.post(path, &all).await;
        call.data(body, true);
        let head = call.response().await;
        let body = call.body().await;
        let trailers = call.trailers().await;
        Answer {
            status: head.status,
            headers: head.headers,
            body,
            trailers,
        }
    }
}

/// All that came back of a call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The code and the text of the outcome.
    pub(crate) fn outcome(&self) -> (u32, String) {
        let last = self.trailers.as_ref().unwrap_or(&self.headers);
        let value = |name| last.get(name).and_then(|value| value.to_str().ok());
        let code = value("grpc-status").expect("a status");
        let text = percent_encoding::percent_decode_str(value("grpc-message").unwrap_or_default());
        let text = text.decode_utf8_lossy().into_owned();
        (code.parse().expect("a number"), text)
    }

    /// Whether each message is compressed, and its text.
    pub(crate) fn texts(&self) -> Vec<(bool, String)> {
        assert_eq!(self.outcome().0, 0, "{self:?}");
        let encoding = self.header("grpc-encoding").unwrap_or("identity");
        let messages = messages(&self.body).into_iter();
        messages
            .map(|(packed, message)| {
                let plain = if packed {
                    unpacked(encoding, message)
                } else {
                    message.to_vec()
                };
                let text = Text::decode(&plain[..]).expect("a text");
                (packed, text.text)
            })
            .collect()
    }
}

/// A stub for the service at `address`.
pub(crate) async fn stub(
    protocol: &TripleProtocol,
    address: SocketAddr,
    query: &str,
) -> Result<Stub, String> {
    let url: Url = format!("tri://{address}/x.Texts?{query}")
        .parse()
        .expect(query);
    let invoker = protocol.refer(&url, Arc::clone(&TEXTS)).await;
    let invoker = invoker.map_err(|error| error.to_string())?;
    Ok(Stub::new(invoker, url.service_key(), Arc::clone(&TEXTS)))
}

pub(crate) fn echo<'a>(stub: &'a Stub, given: &str) -> Call<'a, Response<Text>> {
    stub.unary::<Json, Json>(0, Request::new(text(given)))
}

pub(crate) fn repeat<'a>(stub: &'a Stub, given: &str) -> Call<'a, Response<Streaming<Text>>> {
    stub.server_stream::<Json, Json>(1, Request::new(text(given)))
}

pub(crate) fn join<S>(stub: &Stub, requests: S) -> Call<'_, Response<Text>>
where
    S: Stream<Item = Text> + Send + 'static,
{
    stub.client_stream::<Json, Json>(2, requests)
}

pub(crate) fn talk<S>(stub: &Stub, requests: S) -> Call<'_, Response<Streaming<Text>>>
where
    S: Stream<Item = Text> + Send + 'static,
{
    stub.bidi_stream::<Json, Json>(3, requests)
}

/// All texts of a stream.
pub(crate) async fn all(mut items: Streaming<Text>) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(item) = items.message().await.expect("the stream goes on") {
        all.push(item.text);
    }
    all
}

/// `message` in an envelope with these flags.
pub(crate) fn envelope(flags: u8, message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).expect("short");
    [&[flags][..], &len.to_be_bytes(), message].concat()
}

/// A text in an envelope, plain or compressed.
pub(crate) fn request(encoding: Option<&str>, given: &str) -> Vec<u8> {
    let message = text(given).encode_to_vec();
    match encoding {
        Some(encoding) => envelope(1, &packed(encoding, &message)),
        None => envelope(0, &message),
    }
}

/// The messages in `bytes`, and whether they are compressed.
pub(crate) fn messages(mut bytes: &[u8]) -> Vec<(bool, &[u8])> {
    let mut all = Vec::new();
    while let Some((&[flags, a, b, c, d], rest)) = bytes.split_first_chunk() {
        assert!(flags < 2, "{flags}");
        let (message, rest) = rest.split_at(u32::from_be_bytes([a, b, c, d]) as usize);
        all.push((flags == 1, message));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "{} bytes too many", bytes.len());
    all
}

/// `plain` as others compress it. Their zstd is a stream, whose length is not said beforehand.
pub(crate) fn packed(encoding: &str, plain: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::best();
    match encoding {
        "gzip" => {
            let mut gzip = GzEncoder::new(Vec::new(), level);
            gzip.write_all(plain).expect("in memory");
            gzip.finish().expect("in memory")
        }
        "deflate" => {
            let mut zlib = ZlibEncoder::new(Vec::new(), level);
            zlib.write_all(plain).expect("in memory");
            zlib.finish().expect("in memory")
        }
        "zstd" => zstd::stream::encode_all(plain, 0).expect("in memory"),
        other => panic!("nobody here knows {other}"),
    }
}

/// What `packed` was, as others read it.
pub(crate) fn unpacked(encoding: &str, packed: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match encoding {
        "gzip" => MultiGzDecoder::new(packed).read_to_end(&mut plain),
        "deflate" => ZlibDecoder::new(packed).read_to_end(&mut plain),
        "zstd" => zstd::stream::Decoder::new(packed)
            .expect("zstd")
            .read_to_end(&mut plain),
        other => panic!("nobody here knows {other}"),
    }
    .expect(encoding);
    plain
}
