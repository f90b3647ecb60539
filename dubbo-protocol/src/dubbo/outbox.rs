//! What is to be written to one connection: frames from any task, in the order in which they came.
//!
//! Small frames are put together as they come, and large ones are not copied; what was put in since the task that writes
//! last looked goes out in one go. Callers wait, one after the other, while a peer does not read.

use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll, Waker, ready},
};

use bytes::BytesMut;
use parking_lot::Mutex;
use tokio::{
    io::AsyncWrite,
    sync::{Semaphore, SemaphorePermit},
};

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
    /// Buffers to put small frames together in.
    spares: Vec<BytesMut>,
    /// How many bytes were ever put in.
    end: u64,
    /// How many of them have been taken out.
    taken: u64,
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
    pieces: VecDeque<BytesMut>,
    /// How much of the first piece has been written.
    done: usize,
    /// What the pieces were in.
    empty: Vec<BytesMut>,
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
    /// before the writer does again, and many frames cost the system little more than one.
    pub(in crate::dubbo) fn poll_take(
        &self,
        gather: &mut bool,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Batch>> {
        let mut queue = self.queue.lock();
        match queue.end - queue.taken {
            0 if queue.state != State::Open => return Poll::Ready(None),
            0 => match &mut queue.writer {
                Some(writer) => writer.clone_from(cx.waker()),
                None => queue.writer = Some(cx.waker().clone()),
            },
            ..PIECE if std::mem::take(gather) => cx.waker().wake_by_ref(),
            _ => {
                *gather = true;
                queue.taken = queue.end;
                return Poll::Ready(Some(std::mem::take(&mut queue.batch)));
            }
        }
        Poll::Pending
    }

    /// Writes some of what is left of `batch`.
    ///
    /// # Errors
    ///
    /// The connection's, also when it takes no more bytes.
    pub(in crate::dubbo) fn poll_write(
        &self,
        batch: &mut Batch,
        io: Pin<&mut impl AsyncWrite>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let written = ready!(batch.poll_write(io, cx))?;
        self.written.fetch_add(written as u64, Ordering::Release);
        Poll::Ready(Ok(()))
    }

    /// Takes back a batch that has been written: there is room for others.
    pub(in crate::dubbo) fn give_back(&self, batch: Batch) {
        self.room.add_permits(batch.room);
        if !batch.empty.is_empty() {
            let mut queue = self.queue.lock();
            queue.spares.extend(batch.empty);
            queue.spares.truncate(SPARES);
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
            queue.spares = Vec::new();
            queue.taken = queue.end;
        }
        let writer = queue.writer.take();
        drop(queue);
        if let Some(writer) = writer {
            writer.wake();
        }
    }
}

impl Batch {
    /// Whether all of it has been written.
    pub(in crate::dubbo) fn is_written(&self) -> bool {
        self.pieces.is_empty()
    }

    fn poll_write(
        &mut self,
        io: Pin<&mut impl AsyncWrite>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); AT_ONCE];
        let mut skip = self.done;
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(&piece[std::mem::take(&mut skip)..]);
            count += 1;
        }
        let written = ready!(io.poll_write_vectored(cx, &slices[..count]))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.done += written;
        while let Some(first) = self.pieces.front()
            && self.done >= first.len()
        {
            self.done -= first.len();
            if let Some(mut piece) = self.pieces.pop_front()
                && piece.capacity() == PIECE_LEN
            {
                piece.clear();
                self.empty.push(piece);
            }
        }
        Poll::Ready(Ok(written))
    }
}

impl Queue {
    fn push(&mut self, frame: BytesMut) -> u64 {
        let start = self.end;
        self.end += frame.len() as u64;
        let pieces = &mut self.batch.pieces;
        match pieces.back_mut() {
            _ if frame.len() >= LARGE => pieces.push_back(frame),
            Some(last) if last.capacity() - last.len() >= frame.len() => {
                last.extend_from_slice(&frame);
            }
            _ => {
                let spare = self.spares.pop();
                let mut piece = spare.unwrap_or_else(|| BytesMut::with_capacity(PIECE_LEN));
                piece.extend_from_slice(&frame);
                pieces.push_back(piece);
            }
        }
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
        start
    }
}

/// How many bytes wait before callers do. A frame that is larger has it all to itself.
const ROOM: usize = 1 << 20;

/// Small frames are put together in pieces of this length. That much is worth writing at once.
const PIECE_LEN: usize = 16 << 10;
const PIECE: u64 = PIECE_LEN as u64;

/// A frame from this length on is a piece of its own: an entry in a list costs less than a copy.
const LARGE: usize = 4 << 10;

/// How many pieces the system is given at once.
const AT_ONCE: usize = 32;

/// How many empty pieces are kept: what a connection with small frames needs.
const SPARES: usize = 4;

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

    /// All that is left of a batch, written as the system takes it: `at_most` bytes at once.
    fn written(outbox: &Outbox, batch: &mut Batch, at_most: usize) -> Vec<u8> {
        let mut io = Slow(Vec::new(), at_most);
        let mut cx = Context::from_waker(Waker::noop());
        while !batch.is_written() {
            let written = outbox.poll_write(batch, Pin::new(&mut io), &mut cx);
            assert!(matches!(written, Poll::Ready(Ok(()))));
        }
        io.0
    }

    struct Slow(Vec<u8>, usize);

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let taken = bytes.len().min(self.1);
            self.0.extend_from_slice(&bytes[..taken]);
            Poll::Ready(Ok(taken))
        }

        fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn small_frames_are_put_together_and_large_ones_are_not_copied() {
        let lengths = [10, 20, 100_000, 5, 16_000, 6, PIECE_LEN - 6, 7];
        let want: Vec<u8> = (0..).zip(lengths).flat_map(|(b, n)| vec![b; n]).collect();
        for at_most in [1, 7, 16_384, usize::MAX] {
            let outbox = Outbox::new();
            let mut starts = Vec::new();
            for (byte, len) in (0..).zip(lengths) {
                starts.push(put(&outbox, frame(byte, len)).await.expect("open"));
            }
            assert_eq!(starts[..5], [0, 10, 30, 100_030, 100_035]);
            let Poll::Ready(Some(mut batch)) = take(&outbox) else {
                panic!("there is something");
            };
            let pieces: Vec<_> = batch.pieces.iter().map(BytesMut::len).collect();
            assert_eq!(pieces, [30, 100_000, 5, 16_000, 6, PIECE_LEN - 6, 7]);
            assert_eq!(written(&outbox, &mut batch, at_most), want);
            assert!(take(&outbox).is_pending());
            outbox.give_back(batch);
            let spares = outbox.queue.lock().spares.len();
            assert_eq!(spares, SPARES, "the pieces that were made for small frames");
        }
    }

    #[tokio::test]
    async fn what_comes_at_about_the_same_time_goes_out_together() {
        let outbox = Outbox::new();
        let mut cx = Context::from_waker(Waker::noop());
        let mut gather = true;
        put(&outbox, frame(1, 10)).await.expect("open");
        assert!(outbox.poll_take(&mut gather, &mut cx).is_pending());
        put(&outbox, frame(2, 10)).await.expect("open");
        let Poll::Ready(Some(mut batch)) = outbox.poll_take(&mut gather, &mut cx) else {
            panic!("it has waited");
        };
        assert_eq!(written(&outbox, &mut batch, 100).len(), 20);
        // Enough does not wait.
        put(&outbox, frame(3, PIECE_LEN)).await.expect("open");
        assert!(outbox.poll_take(&mut gather, &mut cx).is_ready());
    }

    #[tokio::test]
    async fn callers_wait_while_too_much_is_unwritten_and_frames_of_any_length_pass() {
        let outbox = Outbox::new();
        put(&outbox, frame(1, ROOM - 10)).await.expect("open");
        put(&outbox, frame(2, 10)).await.expect("there is room");
        let mut next = std::pin::pin!(put(&outbox, frame(3, 5 * ROOM)));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(next.as_mut().poll(&mut cx).is_pending());
        let Poll::Ready(Some(mut batch)) = take(&outbox) else {
            panic!("there is something");
        };
        written(&outbox, &mut batch, usize::MAX);
        assert!(next.as_mut().poll(&mut cx).is_pending(), "not given back");
        outbox.give_back(batch);
        assert!(next.as_mut().poll(&mut cx).is_ready());
    }

    #[tokio::test]
    async fn what_was_not_begun_is_known_at_the_end() {
        let outbox = Outbox::new();
        let one = put(&outbox, frame(1, 10)).await.expect("open");
        let two = put(&outbox, frame(2, 10)).await.expect("open");
        let three = put(&outbox, frame(3, 10)).await.expect("open");
        let Poll::Ready(Some(mut batch)) = take(&outbox) else {
            panic!("there is something");
        };
        let mut io = Slow(Vec::new(), 11);
        let mut cx = Context::from_waker(Waker::noop());
        let begun = outbox.poll_write(&mut batch, Pin::new(&mut io), &mut cx);
        assert!(begun.is_ready() && !batch.is_written());
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
