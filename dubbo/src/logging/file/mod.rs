//! A log in a file: a thread of its own writes it, so that nobody who logs waits for a disk.

mod kept;
mod rolling;

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, SystemTime},
};

use metrics::counter;

pub(super) use self::rolling::Rolling;
use super::line::Line;
use crate::config::LogFormat;

/// The way to the thread that writes. It ends, having written all, when this is dropped.
pub(super) struct FileLog {
    queue: SyncSender<Ask>,
    shared: Arc<Shared>,
}

enum Ask {
    Line(String),
    /// Tells when all that was put before is in the file.
    Flush(SyncSender<()>),
}

/// What those who log and the thread tell each other.
#[derive(Default)]
struct Shared {
    /// What waits to be written.
    bytes: AtomicUsize,
    /// The lines that nobody will ever see, since the file was told so last.
    dropped: AtomicU64,
}

impl FileLog {
    /// Has a thread write to `file`.
    pub(super) fn write(file: Rolling, format: LogFormat) -> Self {
        let (queue, asks) = sync_channel(LINES);
        let shared = Arc::<Shared>::default();
        let writer = Writer {
            file,
            format,
            shared: Arc::clone(&shared),
            is_failing: false,
        };
        let named = thread::Builder::new().name("dubbo-log".to_owned());
        if let Err(error) = named.spawn(move || writer.run(&asks)) {
            // Then each line finds that nobody takes it, and is counted.
            complain(&format!(
                "no thread can be had to write the log file: {error}"
            ));
        }
        Self { queue, shared }
    }

    /// Puts `line` into the file soon. When too much is waiting it is dropped and counted.
    pub(super) fn put(&self, line: String) {
        let length = line.len();
        let waiting = self.shared.bytes.fetch_add(length, Ordering::Relaxed);
        let is_put = waiting <= BYTES && self.queue.try_send(Ask::Line(line)).is_ok();
        if !is_put {
            self.shared.bytes.fetch_sub(length, Ordering::Relaxed);
            self.shared.drop_lines("full", 1);
        }
    }

    /// Waits until what was put by now is in the file, but no longer than `patience`.
    #[expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "it is asked for where a program ends, on a thread that may have no runtime"
    )]
    pub(super) fn flush(&self, patience: Duration) -> bool {
        let (done, flushed) = sync_channel(1);
        let mut ask = Ask::Flush(done);
        let until = std::time::Instant::now() + patience;
        loop {
            match self.queue.try_send(ask) {
                Ok(()) => break,
                Err(TrySendError::Disconnected(_)) => return false,
                Err(TrySendError::Full(_)) if std::time::Instant::now() >= until => return false,
                Err(TrySendError::Full(back)) => {
                    ask = back;
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        let left = until.saturating_duration_since(std::time::Instant::now());
        flushed.recv_timeout(left).is_ok()
    }
}

impl Shared {
    fn drop_lines(&self, reason: &'static str, lines: u64) {
        self.dropped.fetch_add(lines, Ordering::Relaxed);
        counter!("dubbo_log_lines_dropped_total", "reason" => reason).increment(lines);
    }
}

/// The thread.
struct Writer {
    file: Rolling,
    format: LogFormat,
    shared: Arc<Shared>,
    /// So that trouble is told of once.
    is_failing: bool,
}

impl Writer {
    fn run(mut self, asks: &Receiver<Ask>) {
        while let Ok(first) = asks.recv() {
            // What waits is written before anybody looks at the file.
            let mut flushed = Vec::new();
            let mut next = Some(first);
            while let Some(ask) = next {
                match ask {
                    Ask::Line(line) => {
                        self.shared.bytes.fetch_sub(line.len(), Ordering::Relaxed);
                        self.line(&line);
                    }
                    Ask::Flush(done) => flushed.push(done),
                }
                next = asks.try_recv().ok();
            }
            self.own_up();
            let done = self.file.flush();
            self.note(done);
            for done in flushed {
                // Who has waited long enough is not there any more.
                let _ = done.try_send(());
            }
        }
        let done = self.file.flush();
        self.note(done);
    }

    fn line(&mut self, line: &str) {
        if self.file.is_full_with(line.len()) {
            let rolled = self.file.roll(SystemTime::now());
            self.note(rolled);
        }
        let written = self.file.write(line.as_bytes());
        if written.is_err() {
            self.shared.drop_lines("io", 1);
        }
        self.note(written);
    }

    /// Says in the file how many lines are missing there.
    fn own_up(&mut self) {
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        if dropped == 0 {
            return;
        }
        let message = format!("{dropped} lines are missing here: they could not be written");
        let line = Line::warning(message, SystemTime::now());
        let line = match self.format {
            LogFormat::Json => line.json(),
            LogFormat::Text => line.text(false),
        };
        if self.file.write(line.as_bytes()).is_err() {
            self.shared.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    fn note(&mut self, done: std::io::Result<()>) {
        match done {
            Ok(()) => self.is_failing = false,
            Err(error) if !self.is_failing => {
                self.is_failing = true;
                let path = self.file.path().display();
                complain(&format!(
                    "cannot write the log file {path}: {error}; lines are lost until it can be written"
                ));
            }
            Err(_) => {}
        }
    }
}

/// The log cannot be used to tell what is wrong with it.
fn complain(what: &str) {
    let _ = writeln!(std::io::stderr().lock(), "dubbo: {what}");
}

/// How many lines may wait.
const LINES: usize = 8192;

/// How much may wait before no more is taken.
const BYTES: usize = 16 << 20;

#[cfg(test)]
pub(super) mod tests;
