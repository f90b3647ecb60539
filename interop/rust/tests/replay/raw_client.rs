//! A client that sends what was recorded, and reads what comes back as it is.

use std::net::SocketAddr;

use bytes::Bytes;
use dubbo_test::peer::h2::{Call, Client, code};
use http::{HeaderMap, HeaderName, HeaderValue, Request};

use crate::{
    body,
    record::{End, Half, Headers, Stream},
};

/// A connection to our server.
pub(crate) struct RawClient {
    client: Client,
    address: SocketAddr,
}

impl RawClient {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self {
            client: Client::connect(address).await,
            address,
        }
    }

    /// Sends `data` and half-closes. What HTTP/2 says on its own is taken from `:path` and from the connection.
    pub(crate) async fn call(&mut self, headers: &Headers, data: &[u8]) -> Exchange {
        let mut exchange = self.open(headers).await;
        exchange.call.data(Bytes::copy_from_slice(data), true);
        exchange
    }

    /// Sends the request of a record, frame by frame.
    pub(crate) async fn replay(&mut self, stream: &Stream) -> Exchange {
        let mut exchange = self.open(&stream.request.headers).await;
        exchange.send(stream, stream.half_closes());
        exchange
    }

    /// The kind and the stream of the next frame that is of one of these kinds.
    pub(crate) async fn next_of(&mut self, kinds: &[u8]) -> (u8, u32) {
        let frame = self
            .client
            .frame("a frame", |frame| kinds.contains(&frame.kind))
            .await;
        (frame.kind, frame.stream)
    }

    /// Waits until the server has closed the connection.
    pub(crate) async fn closed(&mut self) {
        self.client.closed().await;
    }

    async fn open(&mut self, headers: &Headers) -> Exchange {
        let path = headers.text(":path").expect("a path");
        let mut request = Request::post(format!("http://{}{path}", self.address))
            .body(())
            .expect("a request");
        *request.headers_mut() = header_map(headers);
        Exchange::of(self.client.open(request, false).await)
    }
}

/// How far an answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    End,
    /// The headers and this many messages.
    Messages(usize),
    /// Not at all.
    Nothing,
}

impl Stream {
    /// Whether its client would have half-closed if the answer had not been faster: what takes one message does so at
    /// once, while a stream both ways may have stayed open on purpose.
    pub(crate) fn half_closes(&self) -> bool {
        let both_ways = ["/GreetBidi", "/ServerReflectionInfo"];
        self.request.end == End::Complete
            || !both_ways.iter().any(|method| self.path().ends_with(method))
    }

    /// How far its client read the answer.
    pub(crate) fn read_until(&self) -> Until {
        let answered = !self.response.headers.0.is_empty();
        match &self.response.end {
            End::Reset {
                by_client: true, ..
            } if !answered => Until::Nothing,
            End::Open
            | End::Reset {
                by_client: true, ..
            } if answered => Until::Messages(body::messages(&self.response.data).len()),
            // Also a server that was silent for as long as anybody listened.
            _ => Until::End,
        }
    }
}

/// A call under way. Dropping it gives it up.
pub(crate) struct Exchange {
    half: Half,
    call: Call,
}

impl Exchange {
    pub(crate) fn of(call: Call) -> Self {
        Self {
            half: Half::default(),
            call,
        }
    }

    /// Sends the data of a recorded request, frame by frame. One whose end was not seen is ended here if it `half_closes`.
    pub(crate) fn send(&mut self, stream: &Stream, half_closes: bool) {
        let mut rest = Bytes::from(stream.request.data.clone());
        let mut ended = false;
        let frames = stream.all_frames();
        for frame in frames.filter(|frame| frame.by_client && frame.kind == "DATA") {
            let part = rest.split_to(frame.len.min(rest.len()));
            self.call.data(part, frame.ends_stream);
            ended = frame.ends_stream;
        }
        if !ended {
            self.call.data(rest, half_closes);
        }
    }

    /// Ends a request that was left open.
    pub(crate) fn half_close(&mut self) {
        self.call.data(Bytes::new(), true);
    }

    pub(crate) fn stream(&self) -> u32 {
        self.call.stream()
    }

    /// Reads on.
    pub(crate) async fn read(&mut self, until: Until) -> &Half {
        if let Err(code) = self.try_read(until).await {
            let code = match code {
                code::INTERNAL_ERROR => "INTERNAL_ERROR".to_owned(),
                other => other.to_string(),
            };
            self.half.end = End::Reset {
                by_client: false,
                code,
            };
        }
        &self.half
    }

    /// Gives the call up, as a client does that wants no more of it.
    pub(crate) fn cancel(&mut self) -> &Half {
        if self.half.end == End::Open {
            self.call.reset(code::CANCEL);
            self.half.end = End::Reset {
                by_client: true,
                code: "CANCEL".to_owned(),
            };
        }
        &self.half
    }

    async fn try_read(&mut self, until: Until) -> Result<(), u32> {
        if until == Until::Nothing {
            return Ok(());
        }
        if self.half.headers.0.is_empty() {
            let response = self.call.try_response().await?;
            let status = response.status.to_string().into_bytes();
            self.half.headers = Headers::from(&response.headers);
            self.half.headers.0.push((":status".to_owned(), status));
        }
        let enough = |data: &[u8]| match until {
            Until::Messages(count) => body::messages(data).len() >= count,
            _ => false,
        };
        while !enough(&self.half.data) {
            let Some(data) = self.call.try_next_data().await? else {
                self.half.trailers = self.call.trailers().await.as_ref().map(Headers::from);
                self.half.end = End::Complete;
                break;
            };
            self.half.data.extend_from_slice(&data);
        }
        Ok(())
    }
}

/// The regular headers of a block.
fn header_map(headers: &Headers) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers.regular() {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a legal name");
        map.append(name, HeaderValue::from_bytes(value).expect("a legal value"));
    }
    map
}
