//! The task that moves the bytes of one connection.

use std::{
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _},
    time::{Duration, timeout},
};

use super::{
    super::{
        body::{
            event::{self, Event, HEARTBEAT, MAX_EVENT},
            response,
        },
        frame::{FrameDecoder, HESSIAN2, Header, Received},
        outbox::Batch,
        status::{BAD_REQUEST, OK},
    },
    connection::Wire,
    life::Pause,
    options::ConnectOptions,
    pulse::{Pulse, Silence},
    table::{Ending, Owner},
};
use crate::net::{Stream, hint_unheard};

/// Reads and writes one connection until it ends: by the peer, by silence, or by the end of its last handle. Dropping it
/// fails the calls that are left.
pub(super) struct Driver {
    io: Stream,
    wire: Arc<Wire>,
    decoder: FrameDecoder,
    pulse: Option<Pulse>,
    /// The peer has said something in this protocol.
    heard: bool,
    /// What is being written.
    batch: Option<Batch>,
    /// The next batch waits a moment for more calls.
    gather: bool,
    /// Bytes of answers to the peer's own requests since all was last written.
    owed: usize,
    /// The ids of events are negative; those of calls are not.
    last_event: i64,
}

/// Why a connection has ended, of which there is nothing to say when we wanted it.
type End = Result<(), String>;

impl Driver {
    pub(super) fn new(io: Stream, wire: Arc<Wire>, options: &ConnectOptions) -> Self {
        Self {
            io,
            wire,
            decoder: FrameDecoder::new(options.payload),
            pulse: Pulse::new(options.heartbeat),
            heard: false,
            batch: None,
            gather: true,
            owed: 0,
            last_event: 0,
        }
    }

    /// Drives it to its end.
    pub(super) async fn run(mut self) {
        let end = std::future::poll_fn(|cx| self.poll(cx)).await;
        match end {
            Ok(()) => {
                // For TLS, so that the peer sees no broken connection.
                let _ = timeout(GOODBYE, self.io.shutdown()).await;
            }
            Err(why) => {
                tracing::debug!(address = %self.wire.address, %why, "the connection has ended");
                self.wire.life.retire(why);
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        loop {
            if let Poll::Ready(why) = self.poll_read(cx) {
                return Poll::Ready(Err(why));
            }
            let owed = self.owed;
            match self.poll_write(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => {
                    // What the peer said before it went may have come meanwhile.
                    let last_words = self.poll_read(cx);
                    return Poll::Ready(Err(match last_words {
                        Poll::Ready(why) => why,
                        Poll::Pending => format!("writing failed: {error}"),
                    }));
                }
                Poll::Pending => {}
            }
            // Reading had stopped, and may go on: nobody else would wake it.
            if owed > MOST_OWED && self.owed <= MOST_OWED {
                continue;
            }
            match self.poll_pulse(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(why)) => return Poll::Ready(Err(why)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Takes in what has come. Ready with the reason why nothing more will.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        // A peer that asks and asks, and reads no answers, waits.
        while self.owed <= MOST_OWED {
            let read = pin!(self.io.read_buf(self.decoder.room())).poll(cx);
            match ready!(read) {
                Ok(0) if self.decoder.is_within_frame() => {
                    let text = "the peer closed the connection in the middle of a frame";
                    return Poll::Ready(text.to_owned());
                }
                Ok(0) => return Poll::Ready(self.advise("the peer closed the connection")),
                Ok(_) => {}
                Err(error) => return Poll::Ready(self.advise(&error.to_string())),
            }
            if let Some(pulse) = &mut self.pulse {
                pulse.note_read();
            }
            loop {
                match self.decoder.next() {
                    Ok(Some(received)) => {
                        self.heard = true;
                        self.receive(received);
                    }
                    Ok(None) => break,
                    // An alert of TLS, for one.
                    Err(error) => return Poll::Ready(self.advise(&error.to_string())),
                }
            }
        }
        Poll::Pending
    }

    /// What may be done about the end of a connection that never was one.
    fn advise(&self, end: &str) -> String {
        if self.heard {
            return end.to_owned();
        }
        format!("{end}; {}", hint_unheard(self.io.is_secure()))
    }

    /// Writes what there is. Ready when nothing more is to be written, ever.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let outbox = &self.wire.outbox;
            let Some(batch) = &mut self.batch else {
                // A single caller makes no other call meanwhile.
                self.gather &= self.wire.table.len() > 1;
                match ready!(outbox.poll_take(&mut self.gather, cx)) {
                    Some(batch) => self.batch = Some(batch),
                    None => return Poll::Ready(Ok(())),
                }
                continue;
            };
            while !batch.is_written() {
                let written = outbox.poll_write(batch, Pin::new(&mut self.io), cx);
                if let Some(pulse) = &mut self.pulse {
                    pulse.note_stuck(written.is_pending());
                }
                ready!(written)?;
            }
            ready!(Pin::new(&mut self.io).poll_flush(cx))?;
            for id in batch.one_way.drain(..) {
                self.wire.table.complete(id, Ending::Written);
            }
            if let Some(batch) = self.batch.take() {
                outbox.give_back(batch);
            }
            self.owed = 0;
        }
    }

    /// Asks for a sign of life when it is time. Ready when there is something to write, or no hope.
    fn poll_pulse(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        let Some(pulse) = &mut self.pulse else {
            return Poll::Pending;
        };
        match ready!(pulse.poll(cx)) {
            Silence::Probe => {
                self.last_event = self.last_event.checked_sub(1).unwrap_or(-1);
                let beat = Header::event(self.last_event, true);
                self.send(beat, |body| body.extend_from_slice(HEARTBEAT));
                Poll::Ready(Ok(()))
            }
            Silence::Stuck(after) => Poll::Ready(Err(format!(
                "the peer took nothing of what it was sent within {after:?}"
            ))),
            Silence::GiveUp(after) => Poll::Ready(Err(format!(
                "nothing came from the peer within {after:?}, and it answered no heartbeat"
            ))),
        }
    }

    fn receive(&mut self, received: Received) {
        let (header, body) = match &received {
            Received::Frame(frame) => (frame.header, Some(&frame.body)),
            Received::Oversize(header) => (*header, None),
        };
        match (header.request, header.event) {
            (false, false) => self.wire.life.note_answer(),
            // The answer to a heartbeat has done its work by coming. dubbo-go sends some that nobody asked for.
            (false, true) => return,
            (true, true) => return self.event(header, body),
            (true, false) => return self.refuse(header),
        }
        match self
            .wire
            .table
            .complete(header.id, Ending::Answer(received))
        {
            Owner::Found => {}
            Owner::Gone => self.wire.note_late(header.id),
            Owner::Nobody => {
                tracing::debug!(address = %self.wire.address, id = header.id, "a response to nothing");
            }
        }
    }

    fn event(&mut self, header: Header, body: Option<&Bytes>) {
        let Some(body) = body.filter(|body| body.len() <= MAX_EVENT) else {
            let len = header.len;
            tracing::debug!(address = %self.wire.address, len, "an event is dropped: it is too long");
            return;
        };
        if let Some(null) = event::answer(header, body) {
            return self.send(header.answer(OK), |body| body.extend_from_slice(null));
        }
        match Event::read(body) {
            Event::ReadOnly => self.wire.pause(Pause::ReadOnly),
            Event::Writable => self.wire.life.resume(),
            Event::Heartbeat | Event::Unknown => {}
        }
    }

    /// Answers a call that the peer makes in our direction: Java's callbacks (`docs/spec/dubbo-protocol.md` §17).
    fn refuse(&mut self, header: Header) {
        tracing::debug!(address = %self.wire.address, id = header.id, "the provider calls back");
        if header.two_way {
            let header = Header {
                serialization: HESSIAN2,
                ..header.answer(BAD_REQUEST)
            };
            self.send(header, |body| response::write_text(NO_CALLBACKS, body));
        }
    }

    fn send(&mut self, header: Header, body: impl FnOnce(&mut BytesMut)) {
        let frame = header.short(body);
        self.owed += frame.len();
        self.wire.outbox.answer(frame);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.wire.end();
    }
}

/// How many bytes of answers to its own requests a peer may leave unread before nothing more is read from it.
const MOST_OWED: usize = 64 << 10;

const NO_CALLBACKS: &str =
    "this is a consumer and serves nothing; callback parameters are not supported";

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);
