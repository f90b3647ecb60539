//! What is to be written to one connection: frames from any task, in the order in which they came.
//!
//! Small frames are put together as they come, so the task that writes finds one piece for all calls that were made
//! since it last looked. Callers wait, one after the other, while a peer does not read.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll, Waker},
};

use bytes::BytesMut;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The frames that wait to be written.
#[derive(Debug)]
pub(in crate::dubbo) struct Outbox {
    queue: Mutex<Queue>,
    room: Semaphore,
    /// How many bytes of all those that were ever put in have been given to the socket.
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    batch: Batch,
    /// An empty buffer that has grown before.
    spare: Option<BytesMut>,
    /// How many bytes were ever put in.
    end: u64,
    state: State,
    writer: Option<Waker>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// What is here is still written.
    Finishing,
    /// Nothing more is written.
    Closed,
}

/// What is written together.
#[derive(Debug, Default)]
pub(in crate::dubbo) struct Batch {
    pub(in crate::dubbo) pieces: VecDeque<BytesMut>,
    /// The requests in it to which no response will come.
    pub(in crate::dubbo) one_way: Vec<i64>,
    room: usize,
}

/// The right to put a frame in.
#[derive(Debug)]
pub(in crate::dubbo) struct Room<'a> {
    permit: SemaphorePermit<'a>,
}

/// The connection takes no more frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dubbo) struct Closed;

impl Outbox {
    pub(in crate::dubbo) fn new() -> Self {
        Self {
            queue: Mutex::default(),
            room: Semaphore::new(ROOM),
            written: AtomicU64::new(0),
        }
    }

    /// Waits until a frame of `len` bytes may be put in.
    ///
    /// # Cancel safety
    ///
    /// Safe: only its turn is lost.
    pub(in crate::dubbo) async fn room(&self, len: usize) -> Result<Room<'_>, Closed> {
        let len = u32::try_from(len.min(ROOM)).unwrap_or(u32::MAX);
        match self.room.acquire_many(len).await {
            Ok(permit) => Ok(Room { permit }),
            Err(_) => Err(Closed),
        }
    }

    /// Puts a frame in: where in all that was ever written it begins. `one_way` is the id of a request to which no
    /// response will come.
    pub(in crate::dubbo) fn put(
        &self,
        room: Room<'_>,
        frame: BytesMut,
        one_way: Option<i64>,
    ) -> Result<u64, Closed> {
        let mut queue = self.queue.lock();
        if queue.state != State::Open {
            return Err(Closed);
        }
        queue.batch.room += room.permit.num_permits();
        room.permit.forget();
        queue.batch.one_way.extend(one_way);
        Ok(queue.push(frame))
    }

    /// Puts a frame in that answers the peer, and so does not wait for room.
    pub(in crate::dubbo) fn answer(&self, frame: BytesMut) {
        let mut queue = self.queue.lock();
        if queue.state != State::Closed {
            queue.push(frame);
        }
    }

    /// What is to be written next; for the one task that writes. `None`: nothing, and nothing will come.
    ///
    /// While `gather` is set, what has just come waits for the calls that other tasks are about to make: they all run
    /// before the writer does again, and one piece costs the system as much as one call.
    pub(in crate::dubbo) fn poll_take(
        &self,
        gather: &mut bool,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Batch>> {
        let mut queue = self.queue.lock();
        match queue.batch.pieces.len() {
            0 if queue.state != State::Open => return Poll::Ready(None),
            0 => match &mut queue.writer {
                Some(writer) => writer.clone_from(cx.waker()),
                None => queue.writer = Some(cx.waker().clone()),
            },
            1 if std::mem::take(gather) => cx.waker().wake_by_ref(),
            _ => {
                *gather = true;
                return Poll::Ready(Some(std::mem::take(&mut queue.batch)));
            }
        }
        Poll::Pending
    }

    /// Notes that the socket has taken `count` bytes more.
    pub(in crate::dubbo) fn note_written(&self, count: usize) {
        self.written.fetch_add(count as u64, Ordering::Release);
    }

    /// Takes back a batch that has been written: there is room for others.
    pub(in crate::dubbo) fn give_back(&self, batch: Batch, buffer: Option<BytesMut>) {
        self.room.add_permits(batch.room);
        if let Some(mut buffer) = buffer.filter(|buffer| buffer.capacity() <= LARGEST_SPARE) {
            buffer.clear();
            self.queue.lock().spare = Some(buffer);
        }
    }

    /// Whether the socket has taken any byte of a frame that began at `start`. Reliable once the connection has ended.
    pub(in crate::dubbo) fn has_begun(&self, start: u64) -> bool {
        self.written.load(Ordering::Acquire) > start
    }

    /// Takes no more; what is here is written.
    pub(in crate::dubbo) fn finish(&self) {
        self.end(State::Finishing);
    }

    /// Takes no more, and drops what is here.
    pub(in crate::dubbo) fn close(&self) {
        self.end(State::Closed);
    }

    fn end(&self, state: State) {
        self.room.close();
        let mut queue = self.queue.lock();
        if queue.state != State::Closed {
            queue.state = state;
        }
        if state == State::Closed {
            queue.batch = Batch::default();
            queue.spare = None;
        }
        let writer = queue.writer.take();
        drop(queue);
        if let Some(writer) = writer {
            writer.wake();
        }
    }
}

impl Queue {
    fn push(&mut self, frame: BytesMut) -> u64 {
        let start = self.end;
        self.end += frame.len() as u64;
        match self.batch.pieces.back_mut() {
            Some(last) if last.len() < PIECE && frame.len() < PIECE => {
                last.extend_from_slice(&frame);
            }
            None if frame.len() < PIECE && self.spare.is_some() => {
                let mut first = self.spare.take().unwrap_or_default();
                first.extend_from_slice(&frame);
                self.batch.pieces.push_back(first);
            }
            _ => self.batch.pieces.push_back(frame),
        }
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
        start
    }
}

/// How many bytes wait before callers do. A frame that is larger has it all to itself.
const ROOM: usize = 1 << 20;

/// Frames are put together up to about this length; larger ones are not copied.
const PIECE: usize = 32 << 10;

const LARGEST_SPARE: usize = 2 * PIECE;

#[cfg(test)]
mod tests {
    use std::future::Future as _;

    use super::*;

    fn frame(byte: u8, len: usize) -> BytesMut {
        BytesMut::from(&*vec![byte; len])
    }

    async fn put(outbox: &Outbox, frame: BytesMut) -> Result<u64, Closed> {
        let room = outbox.room(frame.len()).await?;
        outbox.put(room, frame, None)
    }

    fn take(outbox: &Outbox) -> Poll<Option<Batch>> {
        outbox.poll_take(&mut false, &mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn small_frames_are_put_together_and_large_ones_are_not_copied() {
        let outbox = Outbox::new();
        let lengths = [10, 20, 100_000, 5, 6];
        let mut starts = Vec::new();
        for (byte, len) in (0..).zip(lengths) {
            starts.push(put(&outbox, frame(byte, len)).await.expect("open"));
        }
        assert_eq!(starts, [0, 10, 30, 100_030, 100_035]);
        let Poll::Ready(Some(batch)) = take(&outbox) else {
            panic!("there is something");
        };
        let pieces: Vec<_> = batch.pieces.iter().map(BytesMut::len).collect();
        assert_eq!(pieces, [30, 100_000, 11]);
        let all: Vec<u8> = batch.pieces.iter().flatten().copied().collect();
        let want: Vec<u8> = (0..).zip(lengths).flat_map(|(b, n)| vec![b; n]).collect();
        assert_eq!(all, want);
        assert!(take(&outbox).is_pending());
    }

    #[tokio::test]
    async fn callers_wait_while_too_much_is_unwritten_and_frames_of_any_length_pass() {
        let outbox = Outbox::new();
        put(&outbox, frame(1, ROOM - 10)).await.expect("open");
        put(&outbox, frame(2, 10)).await.expect("there is room");
        let mut next = std::pin::pin!(put(&outbox, frame(3, 5 * ROOM)));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(next.as_mut().poll(&mut cx).is_pending());
        let Poll::Ready(Some(batch)) = take(&outbox) else {
            panic!("there is something");
        };
        assert!(next.as_mut().poll(&mut cx).is_pending(), "not written yet");
        outbox.give_back(batch, None);
        assert!(next.as_mut().poll(&mut cx).is_ready());
    }

    #[tokio::test]
    async fn what_was_not_begun_is_known_at_the_end() {
        let outbox = Outbox::new();
        let one = put(&outbox, frame(1, 10)).await.expect("open");
        let two = put(&outbox, frame(2, 10)).await.expect("open");
        let three = put(&outbox, frame(3, 10)).await.expect("open");
        outbox.note_written(7);
        outbox.note_written(4);
        outbox.close();
        assert_eq!(
            [one, two, three].map(|start| outbox.has_begun(start)),
            [true, true, false]
        );
        assert_eq!(put(&outbox, frame(4, 1)).await, Err(Closed));
        assert!(matches!(take(&outbox), Poll::Ready(None)));
    }

    #[tokio::test]
    async fn a_connection_that_finishes_writes_what_it_has() {
        let outbox = Outbox::new();
        put(&outbox, frame(1, 10)).await.expect("open");
        outbox.finish();
        assert_eq!(put(&outbox, frame(2, 1)).await, Err(Closed));
        assert!(matches!(take(&outbox), Poll::Ready(Some(_))));
        assert!(matches!(take(&outbox), Poll::Ready(None)));
    }
}
