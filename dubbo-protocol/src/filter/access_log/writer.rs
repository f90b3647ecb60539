//! The file, and the thread that writes it: no call waits for a disk.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::SystemTime,
};

use dubbo_core::extension::BoxError;
use metrics::counter;
use parking_lot::Mutex;

use super::{
    date::{Day, Moment},
    line::Line,
};

/// The files of one instance: a path is written by one thread, whatever services have it.
#[derive(Default)]
pub(super) struct Logs(Mutex<Vec<(PathBuf, std::sync::Weak<Writer>)>>);

impl Logs {
    /// Who writes `path`.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or no thread be had.
    pub(super) fn writer(&self, path: PathBuf) -> Result<Arc<Writer>, BoxError> {
        let mut writers = self.0.lock();
        writers.retain(|(_, writer)| writer.strong_count() > 0);
        let known = writers.iter().find(|(known, _)| *known == path);
        if let Some(writer) = known.and_then(|(_, writer)| writer.upgrade()) {
            return Ok(writer);
        }
        let writer = Arc::new(Writer::open(&path)?);
        writers.push((path, Arc::downgrade(&writer)));
        Ok(writer)
    }
}

/// Lines on their way to one file. Those that come while [`QUEUE`] wait are dropped and counted.
pub(super) struct Writer {
    lines: Option<SyncSender<Line>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn open(path: &Path) -> Result<Self, BoxError> {
        let log = Daily::open(path, Moment::of(SystemTime::now()).day).map_err(|error| {
            format!(
                "the access log {} cannot be opened: {error}",
                path.display()
            )
        })?;
        let (lines, queue) = sync_channel(QUEUE);
        let thread = thread::Builder::new()
            .name("dubbo-accesslog".to_owned())
            .spawn(move || write(log, &queue))?;
        Ok(Self {
            lines: Some(lines),
            thread: Some(thread),
        })
    }

    /// Takes a line, and never waits.
    pub(super) fn write(&self, line: Line) {
        let sent = self.lines.as_ref().map(|lines| lines.try_send(line));
        if let Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) = sent {
            counter!("dubbo_provider_accesslog_dropped_total").increment(1);
        }
    }
}

impl Drop for Writer {
    /// What was taken is written.
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes an access log panicked");
        }
    }
}

/// Writes until nobody sends any more.
fn write(mut log: Daily, queue: &Receiver<Line>) {
    let mut is_failing = false;
    while let Ok(first) = queue.recv() {
        let mut written = log.append(&first);
        while let Ok(line) = queue.try_recv() {
            written = written.and_then(|()| log.append(&line));
        }
        written = written.and_then(|()| log.file.flush());
        if let Err(error) = &written
            && !is_failing
        {
            tracing::warn!(path = %log.path.display(), %error, "an access log cannot be written");
        }
        is_failing = written.is_err();
    }
}

/// A file that is put aside as `<path>.<day>` when its day is over.
struct Daily {
    path: PathBuf,
    file: BufWriter<File>,
    day: Day,
}

impl Daily {
    fn open(path: &Path, today: Day) -> io::Result<Self> {
        // What is left from an earlier day is of that day.
        let is_of = |file: fs::Metadata| file.modified().map(|time| Moment::of(time).day);
        let day = fs::metadata(path).and_then(is_of).unwrap_or(today);
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::new(append_to(path)?),
            day,
        })
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let day = line.moment().day;
        // A call that began yesterday may end today.
        if day > self.day {
            self.file.flush()?;
            let mut aside = OsString::from(&self.path);
            aside.push(format!(".{}", self.day));
            fs::rename(&self.path, aside)?;
            self.file = BufWriter::new(append_to(&self.path)?);
            self.day = day;
        }
        writeln!(self.file, "{line}")
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// As many lines may wait as in dubbo-go.
const QUEUE: usize = 5_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dubbo_test::metrics::Numbers;

    use super::*;
    use crate::filter::{access_log::line::Form, tests::rig::invocation, watch::End};

    #[test]
    fn what_does_not_fit_is_dropped_and_counted_and_nobody_waits() {
        let numbers = Numbers::default();
        let _recording = metrics::set_default_local_recorder(&numbers);
        let (lines, queue) = sync_channel(2);
        let writer = Writer {
            lines: Some(lines),
            thread: None,
        };
        for _ in 0..5 {
            let line = Line::begin(&invocation(), SystemTime::now(), Form::Text);
            writer.write(line.ended(&End::Done, Duration::ZERO));
        }
        assert_eq!(queue.try_iter().count(), 2);
        let dropped = numbers.get("dubbo_provider_accesslog_dropped_total");
        assert_eq!(dropped.to_string(), "3");
    }
}
