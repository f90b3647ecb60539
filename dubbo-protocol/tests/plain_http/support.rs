//! A caller that speaks HTTP/1.1, spelled out byte by byte, or HTTP/2.

use std::{fmt::Write as _, net::SocketAddr};

use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

use crate::greeter::due;

/// One connection.
pub(crate) enum Caller {
    Http1(Http1),
    Http2(SendRequest<Bytes>),
}

/// All that came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: HeaderMap,
}

impl Caller {
    /// One connection of each kind.
    pub(crate) async fn both(address: SocketAddr) -> [Self; 2] {
        [
            Self::Http1(Http1::connect(address).await),
            Self::http2(address).await,
        ]
    }

    pub(crate) async fn http2(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("listening");
        let (send, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        tokio::spawn(async move {
            // Its end shows in the calls.
            let _ = connection.await;
        });
        Self::Http2(send)
    }

    pub(crate) async fn call(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        match self {
            Self::Http1(caller) => {
                caller.send(method, path, headers, &body.into()).await;
                caller.answer().await
            }
            Self::Http2(send) => {
                let uri = format!("http://test{path}");
                let mut request = Request::builder().method(method).uri(uri);
                for (name, value) in headers {
                    request = request.header(*name, value.as_bytes());
                }
                let request = request.body(()).expect("a request");
                let mut ready = due(send.clone().ready()).await.expect("open");
                let (response, mut stream) = ready.send_request(request, false).expect("room");
                stream.send_data(body.into(), true).expect("open");
                let (head, mut body) = due(response).await.expect("answered").into_parts();
                let mut all = Vec::new();
                while let Some(data) = due(body.data()).await {
                    let data = data.expect("whole");
                    let released = body.flow_control().release_capacity(data.len());
                    released.expect("it was used");
                    all.extend_from_slice(&data);
                }
                let trailers = due(body.trailers()).await.expect("whole");
                Answer {
                    status: head.status.as_u16(),
                    headers: head.headers,
                    body: all,
                    trailers: trailers.unwrap_or_default(),
                }
            }
        }
    }

    /// Calls with a body of JSON.
    pub(crate) async fn json(&mut self, path: &str, body: &str) -> Answer {
        self.json_with(path, &[], body).await
    }

    pub(crate) async fn json_with(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let headers = [&[JSON], headers].concat();
        self.call("POST", path, &headers, body.to_owned()).await
    }
}

/// A connection over HTTP/1.1.
pub(crate) struct Http1(BufReader<TcpStream>);

impl Http1 {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("listening");
        Self(BufReader::new(stream))
    }

    /// Sends a request with a body of that length.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").expect("in memory");
        }
        if !body.is_empty() || method == "POST" {
            write!(head, "content-length: {}\r\n", body.len()).expect("in memory");
        }
        head.push_str("\r\n");
        self.raw([head.as_bytes(), body].concat()).await;
    }

    /// Sends these bytes.
    pub(crate) async fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        let written = due(self.0.get_mut().write_all(bytes.as_ref())).await;
        written.expect("open");
    }

    /// Reads the next answer whole.
    pub(crate) async fn answer(&mut self) -> Answer {
        let (status, headers) = self.head().await;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let (mut body, mut trailers) = (Vec::new(), HeaderMap::new());
        if text("transfer-encoding") == Some("chunked") {
            loop {
                let size = self.line().await;
                let size = usize::from_str_radix(&size, 16).expect("a size");
                if size == 0 {
                    trailers = self.fields().await;
                    break;
                }
                body.extend(self.exactly(size).await);
                assert_eq!(self.line().await, "");
            }
        } else if let Some(length) = text("content-length") {
            body = self.exactly(length.parse().expect("a length")).await;
        } else if status != 204 {
            due(self.0.read_to_end(&mut body)).await.expect("open");
        }
        Answer {
            status,
            headers,
            body,
            trailers,
        }
    }

    /// Reads the head of the next answer.
    pub(crate) async fn head(&mut self) -> (u16, HeaderMap) {
        let line = self.line().await;
        let status = ["HTTP/1.0 ", "HTTP/1.1 "];
        let status = status.iter().find_map(|start| line.strip_prefix(start));
        let status = status.unwrap_or_else(|| panic!("no status in {line:?}"));
        let status = status[..3].parse().expect("a status");
        (status, self.fields().await)
    }

    /// Reads one line, without its end.
    pub(crate) async fn line(&mut self) -> String {
        let mut line = Vec::new();
        due(self.0.read_until(b'\n', &mut line))
            .await
            .expect("open");
        let line = String::from_utf8_lossy(&line);
        line.trim_end_matches(['\r', '\n']).to_owned()
    }

    /// Checks that the server has hung up and said nothing more.
    pub(crate) async fn is_closed(&mut self) {
        let mut rest = Vec::new();
        // A reset is an end, too.
        let _ = due(self.0.read_to_end(&mut rest)).await;
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }

    async fn fields(&mut self) -> HeaderMap {
        let mut fields = HeaderMap::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else {
                return fields;
            };
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            let value = HeaderValue::from_str(value.trim()).expect("a value");
            fields.append(name, value);
        }
    }

    async fn exactly(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        due(self.0.read_exact(&mut bytes)).await.expect("whole");
        bytes
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .get(name)
            .map(|value| std::str::from_utf8(value.as_bytes()).expect("text"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    /// The body, which says in JSON why there is nothing better: the status, the code and the message.
    pub(crate) fn refused(&self) -> (u16, String, String) {
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{self:?}"
        );
        let body: Value = serde_json::from_slice(&self.body).expect("JSON");
        let text = |name| body[name].as_str().unwrap_or_default().to_owned();
        (self.status, text("code"), text("message"))
    }
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const GREET: &str = "/greet.GreetService/Greet";
pub(crate) const GREET_STREAM: &str = "/greet.GreetService/GreetStream";
pub(crate) const GREET_MANY: &str = "/greet.GreetService/GreetMany";
pub(crate) const GREET_BIDI: &str = "/greet.GreetService/GreetBidi";
