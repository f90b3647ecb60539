use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicUsize,
    time::UNIX_EPOCH,
};

use dubbo_test::metrics::Numbers;

use super::*;
use crate::config::LogFileConfig;

/// A folder that is gone with this.
pub(in crate::logging) struct Folder(PathBuf);

impl Folder {
    pub(in crate::logging) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("dubbo-log-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("room");
        Self(path)
    }

    pub(in crate::logging) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn named(path: PathBuf) -> LogFileConfig {
    LogFileConfig::new()
        .name(path)
        .max_size(1)
        .max_age(0)
        .compress(false)
}

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn what_is_put_is_in_the_file_once_it_is_flushed_and_an_older_log_goes_on() {
    let folder = Folder::new();
    let path = folder.path().join("deep").join("app.log");
    for (line, want) in [("one\n", "one\n"), ("two\n", "one\ntwo\n")] {
        let file = Rolling::open(&named(path.clone())).expect("it can be opened");
        let log = FileLog::write(file, LogFormat::Text);
        log.put(line.to_owned());
        assert!(log.flush(PATIENCE));
        assert_eq!(fs::read_to_string(&path).expect("text"), want);
    }
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error() {
    let folder = Folder::new();
    let error = Rolling::open(&named(folder.path().to_owned())).err();
    assert!(error.is_some(), "a folder is no file");
}

#[test]
fn a_full_file_is_put_aside_under_a_name_that_nobody_has() {
    let folder = Folder::new();
    let path = folder.path().join("app.log");
    let mut file = Rolling::open(&named(path.clone())).expect("it can be opened");
    let half = vec![b'x'; 600 << 10];
    let now = UNIX_EPOCH + Duration::from_millis(1_772_409_547_250);
    for _ in 0..3 {
        if file.is_full_with(half.len()) {
            file.roll(now).expect("it can");
        }
        file.write(&half).expect("room");
        file.flush().expect("room");
    }
    for (name, length) in [
        ("app.log", half.len()),
        ("app-2026-03-01T23-59-07.250.log", half.len()),
        ("app-2026-03-01T23-59-07.251.log", half.len()),
    ] {
        let found = fs::metadata(folder.path().join(name)).expect(name);
        assert_eq!(found.len(), length as u64, "{name}");
    }
    assert!(!file.is_full_with(10) && file.is_full_with(500 << 10));
}

#[test]
fn what_comes_faster_than_it_is_written_is_dropped_counted_and_owned_up_to() {
    let folder = Folder::new();
    let path = folder.path().join("app.log");
    let numbers = Numbers::default();
    let dropped = "dubbo_log_lines_dropped_total{reason=full}";
    let file = Rolling::open(&named(path.clone())).expect("it can be opened");
    let (queue, asks) = sync_channel(LINES);
    let log = FileLog {
        queue,
        shared: Arc::default(),
    };
    metrics::with_local_recorder(&numbers, || {
        (0..LINES + 3).for_each(|n| log.put(format!("{n}\n")));
        assert_eq!(
            numbers.get(dropped).to_string(),
            "3",
            "there is room for no more lines"
        );
    });
    let writer = Writer {
        file,
        format: LogFormat::Json,
        shared: Arc::clone(&log.shared),
        is_failing: false,
    };
    let writing = thread::spawn(move || writer.run(&asks));
    assert!(log.flush(PATIENCE));
    drop(log);
    writing.join().expect("it ends when nobody logs any more");
    let text = fs::read_to_string(&path).expect("text");
    let mut lines = text.lines().skip(LINES - 1);
    assert_eq!(lines.next(), Some("8191"));
    let last = lines.next().expect("one more");
    assert!(
        last.contains(r#""msg":"3 lines are missing here"#),
        "{last}"
    );
}

#[test]
fn lines_that_are_too_long_together_are_dropped_too() {
    let (queue, _asks) = sync_channel(LINES);
    let log = FileLog {
        queue,
        shared: Arc::default(),
    };
    let numbers = Numbers::default();
    metrics::with_local_recorder(&numbers, || {
        (0..5).for_each(|_| log.put("x".repeat(BYTES / 2)));
    });
    let dropped = numbers.get("dubbo_log_lines_dropped_total{reason=full}");
    assert_eq!(dropped.to_string(), "2");
    assert!(!log.flush(Duration::ZERO), "nobody writes");
}

#[test]
fn what_is_put_aside_is_packed_by_a_thread_of_its_own() {
    let folder = Folder::new();
    let path = folder.path().join("app.log");
    let config = named(path).compress(true).max_age(0);
    let mut file = Rolling::open(&config).expect("it can be opened");
    file.write(b"one\n").expect("room");
    file.tidied();
    let now = UNIX_EPOCH + Duration::from_millis(1_772_409_547_250);
    file.roll(now).expect("it can");
    file.tidied();
    let aside = folder.path().join("app-2026-03-01T23-59-07.250.log");
    assert!(!aside.exists());
    assert!(aside.with_added_extension("gz").exists());
}
