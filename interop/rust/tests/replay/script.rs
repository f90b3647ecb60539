//! A server that does in one call what a recorded one did, frame by frame.

use bytes::Bytes;
use dubbo_test::peer::h2::{Frame, Request, ServerConnection, code};
use tokio::sync::oneshot;

use crate::{
    body,
    record::{End, Half, Headers, Stream},
};

/// What a client did.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) request: Half,
    /// The code it gave the call up with.
    pub(crate) cancelled: Option<u32>,
}

/// What the server does in one call.
#[derive(Debug)]
pub(crate) struct Script {
    steps: Vec<Step>,
    /// Whether the client has to half-close.
    half_close: bool,
}

#[derive(Debug)]
enum Step {
    /// Waits for this many messages.
    Messages(usize),
    /// Waits until the client has half-closed.
    HalfClose,
    Send(Frame),
    /// Waits until the client gives up, for which it gets the sign.
    Cancel,
}

impl Script {
    /// What the recorded server did, each step as soon as the client has come as far as the recorded one had.
    pub(crate) fn of(stream: &Stream) -> Self {
        let mut steps = Steps::default();
        let (request, response) = (&stream.request, &stream.response);
        let mut data = Bytes::from(response.data.clone());
        let (mut came, mut awaited) = (0, 0);
        for frame in stream.all_frames() {
            match (frame.by_client, frame.kind.as_str()) {
                (true, "DATA") => {
                    came = request.data.len().min(came + frame.len);
                    let count = body::messages(&request.data[..came]).len();
                    if count > awaited {
                        steps.0.push(Step::Messages(count));
                        awaited = count;
                    }
                    if frame.ends_stream {
                        steps.0.push(Step::HalfClose);
                    }
                }
                (false, "HEADERS") if !steps.have_headers() => {
                    steps.headers(&response.headers, frame.ends_stream);
                }
                (false, "HEADERS") => {
                    // What is left of data that is not as it was recorded.
                    steps.data(std::mem::take(&mut data), false);
                    steps.headers(response.trailers.as_ref().expect("recorded"), true);
                }
                (false, "DATA") => {
                    let part = data.split_to(frame.len.min(data.len()));
                    steps.data(part, frame.ends_stream);
                }
                (false, "RST_STREAM") => {
                    let code = match &response.end {
                        End::Reset { code, .. } if code == "INTERNAL_ERROR" => code::INTERNAL_ERROR,
                        End::Complete => code::NO_ERROR,
                        other => panic!("{}: ended with {other:?}", stream.label),
                    };
                    steps.0.push(Step::Send(Frame::reset(STREAM, code)));
                }
                _ => {}
            }
        }
        if !matches!(
            response.end,
            End::Complete
                | End::Reset {
                    by_client: false,
                    ..
                }
        ) {
            steps.0.push(Step::Cancel);
        }
        Self {
            steps: steps.0,
            half_close: request.end == End::Complete,
        }
    }

    /// Serves `request` and gives it back, for dropping it would be an answer too. `give_up` is the sign to the client
    /// that there is nothing more to wait for.
    pub(crate) async fn play(
        self,
        connection: &mut ServerConnection,
        mut request: Request,
        give_up: oneshot::Sender<()>,
    ) -> (Seen, Request) {
        let mut seen = Seen::default();
        seen.request.headers = Headers::from(request.headers());
        let path = request.path().as_bytes().to_vec();
        seen.request.headers.0.push((":path".to_owned(), path));
        let mut give_up = Some(give_up);
        for step in self.steps {
            match step {
                Step::Messages(count) => seen.read(&mut request, count).await,
                Step::HalfClose => seen.read(&mut request, usize::MAX).await,
                Step::Send(mut frame) => {
                    frame.stream = request.stream();
                    connection.insert(&frame);
                }
                Step::Cancel => {
                    drop(give_up.take());
                    seen.cancelled = Some(request.reset_by_client().await);
                }
            }
        }
        if self.half_close {
            seen.read(&mut request, usize::MAX).await;
        }
        (seen, request)
    }
}

impl Seen {
    /// Reads until there are `count` messages, or no more.
    async fn read(&mut self, request: &mut Request, count: usize) {
        while self.request.end == End::Open && body::messages(&self.request.data).len() < count {
            match request.message().await {
                Some(message) => self.request.data.extend(body::envelope(&message)),
                None => self.request.end = End::Complete,
            }
        }
    }
}

#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn have_headers(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Send(_)))
    }

    fn headers(&mut self, headers: &Headers, end: bool) {
        let pairs = headers.0.iter().map(|(name, value)| (&**name, &**value));
        let frame = Frame::headers(STREAM, &pairs.collect::<Vec<_>>(), end);
        self.0.push(Step::Send(frame));
    }

    /// In frames that every client takes.
    fn data(&mut self, mut data: Bytes, end: bool) {
        while data.len() > MAX_FRAME {
            let part = data.split_to(MAX_FRAME);
            self.0.push(Step::Send(Frame::data(STREAM, part, false)));
        }
        if end || !data.is_empty() {
            self.0.push(Step::Send(Frame::data(STREAM, data, end)));
        }
    }
}

/// Until it is known which stream it is.
const STREAM: u32 = 0;

/// HTTP/2's default.
const MAX_FRAME: usize = 16_384;
