//! A caller that speaks HTTP/2 and nothing more: what it sends and gets is spelled out byte by byte.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::{
    RecvStream, SendStream,
    client::{ResponseFuture, SendRequest},
};
use http::{HeaderMap, Method, Request};
use prost::Message as _;
use tokio::net::TcpStream;

use crate::greeter::{GreetRequest, GreetResponse, due};

/// One connection.
#[derive(Clone)]
pub(crate) struct Wire {
    send: SendRequest<Bytes>,
}

/// One request that is under way.
pub(crate) struct Exchange {
    pub(crate) response: ResponseFuture,
    pub(crate) send: SendStream<Bytes>,
}

/// All that came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The bytes of all DATA frames.
    pub(crate) data: Vec<u8>,
    /// `None` when the headers ended the stream.
    pub(crate) trailers: Option<HeaderMap>,
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("listening");
        let (send, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        tokio::spawn(async move {
            // Its end shows in the calls.
            let _ = connection.await;
        });
        Self { send }
    }

    /// Opens a stream with `headers`, which override those of every gRPC request.
    pub(crate) async fn open(&mut self, path: &str, headers: &[(&str, &str)]) -> Exchange {
        self.try_open(path, headers).await.expect("opened")
    }

    pub(crate) async fn try_open(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Exchange, h2::Error> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = format!("http://test{path}").parse().expect("a path");
        for &(name, value) in GRPC.iter().chain(headers) {
            let name = http::HeaderName::try_from(name).expect("a name");
            let value = http::HeaderValue::from_bytes(value.as_bytes()).expect("a value");
            if GRPC.iter().any(|(usual, _)| *usual == name) {
                request.headers_mut().insert(name, value);
            } else {
                request.headers_mut().append(name, value);
            }
        }
        if let Some(method) = request.headers_mut().remove("x-method") {
            *request.method_mut() = Method::from_bytes(method.as_bytes()).expect("a method");
        }
        let mut ready = self.send.clone().ready().await?;
        let (response, send) = ready.send_request(request, false)?;
        Ok(Exchange { response, send })
    }

    /// Sends `body` in one frame and reads the answer.
    pub(crate) async fn call(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut exchange = self.open(path, headers).await;
        exchange.data(body, true);
        exchange.answer().await
    }

    /// Greets `name` and reads the answer.
    pub(crate) async fn greet(&mut self, name: &str, headers: &[(&str, &str)]) -> Answer {
        self.call(GREET, headers, request(name)).await
    }
}

impl Exchange {
    pub(crate) fn data(&mut self, data: impl Into<Bytes>, end: bool) {
        self.send.send_data(data.into(), end).expect("open");
    }

    pub(crate) async fn answer(self) -> Answer {
        self.try_answer().await.expect("answered")
    }

    pub(crate) async fn try_answer(self) -> Result<Answer, h2::Error> {
        // Dropping the sending half of an unfinished request would reset it.
        let Self { response, send } = self;
        let (head, mut body) = due(response).await?.into_parts();
        let mut data = Vec::new();
        while let Some(chunk) = next(&mut body).await? {
            data.extend_from_slice(&chunk);
        }
        let trailers = due(body.trailers()).await?;
        drop(send);
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            data,
            trailers,
        })
    }
}

impl Answer {
    /// The block that has the status: the trailers, or the headers when there are no others.
    pub(crate) fn end(&self) -> &HeaderMap {
        self.trailers.as_ref().unwrap_or(&self.headers)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        text(&self.headers, name)
    }

    pub(crate) fn trailer(&self, name: &str) -> Option<&str> {
        text(self.end(), name)
    }

    pub(crate) fn code(&self) -> u32 {
        let code = self.trailer("grpc-status").expect("a grpc-status");
        code.parse().expect("a number")
    }

    /// The text of the status, unescaped.
    pub(crate) fn message(&self) -> String {
        let raw = self.trailer("grpc-message").unwrap_or_default();
        let text = percent_encoding::percent_decode_str(raw).decode_utf8();
        text.expect("text").into_owned()
    }

    /// The greetings in the data.
    pub(crate) fn greetings(&self) -> Vec<String> {
        messages(&self.data)
            .into_iter()
            .map(|message| GreetResponse::decode(message).expect("a greeting").greeting)
            .collect()
    }

    /// Checks that this is an error of gRPC as every client understands it: one block under 200, or two.
    pub(crate) fn refused(&self) -> (u32, String) {
        assert_eq!((self.status, &self.data[..]), (200, &b""[..]), "{self:?}");
        assert_ne!(self.code(), 0, "{self:?}");
        (self.code(), self.message())
    }
}

/// The next DATA frame, with its share of the window given back.
pub(crate) async fn next(body: &mut RecvStream) -> Result<Option<Bytes>, h2::Error> {
    let Some(chunk) = due(body.data()).await else {
        return Ok(None);
    };
    let chunk = chunk?;
    body.flow_control().release_capacity(chunk.len())?;
    Ok(Some(chunk))
}

/// One message in its envelope.
pub(crate) fn envelope(flags: u8, message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).expect("short");
    [&[flags][..], &len.to_be_bytes(), message].concat()
}

/// A request to greet `name`, in its envelope.
pub(crate) fn request(name: &str) -> Vec<u8> {
    let name = name.to_owned();
    envelope(0, &GreetRequest { name }.encode_to_vec())
}

/// The messages of uncompressed envelopes.
pub(crate) fn messages(mut data: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while let Some((prefix, rest)) = data.split_first_chunk::<5>() {
        assert_eq!(prefix[0], 0, "no flags");
        let len = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
        let (message, rest) = rest.split_at(len);
        messages.push(message);
        data = rest;
    }
    assert!(data.is_empty(), "{} bytes too many", data.len());
    messages
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("hex"))
        .collect()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get(name)
        .map(|value| std::str::from_utf8(value.as_bytes()).expect("text"))
}

pub(crate) const GREET: &str = "/greet.GreetService/Greet";
pub(crate) const GREET_STREAM: &str = "/greet.GreetService/GreetStream";
pub(crate) const GREET_MANY: &str = "/greet.GreetService/GreetMany";
pub(crate) const GREET_BIDI: &str = "/greet.GreetService/GreetBidi";

/// As every gRPC client sends them; a test that sets one of them replaces it.
const GRPC: [(&str, &str); 3] = [
    ("content-type", "application/grpc+proto"),
    ("te", "trailers"),
    ("user-agent", "wire/1"),
];
