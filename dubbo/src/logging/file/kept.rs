//! The files of a log that were put aside: `dubbo-2026-03-01T23-59-07.250.log`, and `.gz` behind it once it is packed.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use flate2::{Compression, write::GzEncoder};

use super::complain;
use crate::{
    config::LogFileConfig,
    logging::line::{DAY, date},
};

/// Knows their names, and which of them stay.
pub(super) struct Kept {
    rules: Rules,
    /// Packing takes its time, and nobody waits for it.
    tidying: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct Rules {
    folder: PathBuf,
    /// What names begin with, and end with.
    begin: String,
    end: String,
    /// 0 is no limit.
    number: usize,
    /// `None` is no limit.
    age: Option<Duration>,
    packs: bool,
}

impl Kept {
    pub(super) fn of(config: &LogFileConfig) -> Self {
        let path = config.path();
        let text =
            |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let end = text(path.extension()).map(|end| format!(".{end}"));
        Self {
            rules: Rules {
                folder: path.parent().map(Path::to_owned).unwrap_or_default(),
                begin: format!("{}-", text(path.file_stem()).unwrap_or_default()),
                end: end.unwrap_or_default(),
                number: config.number(),
                age: config.age(),
                packs: config.packs(),
            },
            tidying: None,
        }
    }

    /// A path that nobody has for the file that is put aside at `now`.
    pub(super) fn free_name(&self, now: SystemTime) -> PathBuf {
        let mut at = now;
        loop {
            let path = self.rules.path(&stamp(at));
            if !path.exists() && !packed(&path).exists() {
                return path;
            }
            at += Duration::from_millis(1);
        }
    }

    /// Removes those that are too many and too old, and packs the rest, on a thread of its own: at once, or with the next
    /// file if the last ones are not packed yet.
    pub(super) fn tidy_aside(&mut self) {
        if self
            .tidying
            .as_ref()
            .is_some_and(|last| !last.is_finished())
        {
            return;
        }
        let rules = self.rules.clone();
        let named = thread::Builder::new().name("dubbo-log-tidy".to_owned());
        let tidying = named.spawn(move || {
            if let Err(error) = rules.tidy(SystemTime::now()) {
                let folder = rules.folder.display();
                complain(&format!(
                    "cannot tidy up the log files in {folder}: {error}"
                ));
            }
        });
        self.tidying = tidying.ok();
    }

    #[cfg(test)]
    pub(super) fn tidied(&mut self) {
        if let Some(tidying) = self.tidying.take() {
            assert!(tidying.join().is_ok(), "it does not panic");
        }
    }
}

impl Rules {
    fn path(&self, stamp: &str) -> PathBuf {
        let Self { begin, end, .. } = self;
        self.folder.join(format!("{begin}{stamp}{end}"))
    }

    fn tidy(&self, now: SystemTime) -> io::Result<()> {
        let mut stamps = self.stamps()?;
        // The newest first.
        stamps.sort_unstable_by(|a, b| b.cmp(a));
        stamps.dedup();
        let oldest = self.age.and_then(|age| now.checked_sub(age)).map(stamp);
        for (place, stamp) in stamps.iter().enumerate() {
            let is_too_many = self.number > 0 && place >= self.number;
            let is_too_old = oldest.as_ref().is_some_and(|oldest| stamp < oldest);
            let path = self.path(stamp);
            if is_too_many || is_too_old {
                remove(&path)?;
                remove(&packed(&path))?;
            } else if self.packs && path.exists() {
                pack(&path)?;
            }
        }
        Ok(())
    }

    /// When each was put aside, as its name says; twice where packing was interrupted.
    fn stamps(&self) -> io::Result<Vec<String>> {
        let folder = if self.folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.folder
        };
        let mut stamps = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else {
                continue;
            };
            let name = name.strip_suffix(PACKED).unwrap_or(name);
            let stamp = name.strip_prefix(&self.begin);
            let stamp = stamp.and_then(|rest| rest.strip_suffix(&self.end));
            stamps.extend(stamp.filter(|stamp| is_stamp(stamp)).map(str::to_owned));
        }
        Ok(stamps)
    }
}

/// Packs the file at `path`, which is gone only when all of it is in the other one.
fn pack(path: &Path) -> io::Result<()> {
    let target = packed(path);
    let part = target.with_added_extension("part");
    let mut packing = GzEncoder::new(File::create(&part)?, Compression::default());
    io::copy(&mut File::open(path)?, &mut packing)?;
    packing.finish()?.flush()?;
    fs::rename(part, target)?;
    remove(path)
}

fn packed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(PACKED);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// `2026-03-01T23-59-07.250`: in UTC, and in the order of time.
fn stamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = date(seconds / DAY);
    let second = seconds % DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{second:02}.{millis:03}")
}

/// Whether a text looks like one; another program may have files of nearly the same name.
fn is_stamp(text: &str) -> bool {
    text.len() == SHAPE.len()
        && text
            .bytes()
            .zip(SHAPE.bytes())
            .all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                shape => byte == shape,
            })
}

const SHAPE: &str = "0000-00-00T00-00-00.000";

const PACKED: &str = ".gz";

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::logging::file::tests::Folder;

    fn at(text: &str) -> SystemTime {
        let millis: u64 = text.parse().expect("a number");
        UNIX_EPOCH + Duration::from_millis(millis)
    }

    #[test]
    fn a_stamp_is_ordered_as_time_is_and_knows_its_like() {
        let stamps = ["0", "999", "1772409547250", "4102444800000"].map(|text| stamp(at(text)));
        let want = [
            "1970-01-01T00-00-00.000",
            "1970-01-01T00-00-00.999",
            "2026-03-01T23-59-07.250",
            "2100-01-01T00-00-00.000",
        ];
        assert_eq!(stamps, want);
        assert!(stamps.iter().all(|stamp| is_stamp(stamp)));
        for other in [
            "",
            "old",
            "2026-03-01T23-59-07.25",
            "2026-03-01 23-59-07.250",
        ] {
            assert!(!is_stamp(other), "{other}");
        }
    }

    #[test]
    fn files_that_are_too_many_or_too_old_are_removed_and_the_rest_is_packed() {
        let folder = Folder::new();
        let names = || {
            let mut names: Vec<_> = fs::read_dir(folder.path())
                .expect("it is there")
                .map(|entry| {
                    entry
                        .expect("a name")
                        .file_name()
                        .to_string_lossy()
                        .into_owned()
                })
                .collect();
            names.sort();
            names
        };
        let now = at("1772409547250");
        let put = |days: u64, end: &str| {
            let stamp = stamp(now - Duration::from_secs(days * DAY));
            let name = format!("app-{stamp}.log{end}");
            fs::write(folder.path().join(&name), format!("{days}")).expect("room");
            name
        };
        let (today, one, two) = (put(0, ""), put(1, ".gz"), put(2, ""));
        put(3, "");
        put(9, ".gz");
        for strange in [
            "app-old.log",
            "app.log",
            "other-2026-03-01T23-59-07.250.log",
        ] {
            fs::write(folder.path().join(strange), "").expect("room");
        }
        let config = LogFileConfig::new()
            .name(folder.path().join("app.log"))
            .max_backups(3)
            .max_age(8);
        let rules = Kept::of(&config).rules;
        rules.tidy(now).expect("it can");
        let want = [&*format!("{today}.gz"), &one, &*format!("{two}.gz")];
        let strange = [
            "app-old.log",
            "app.log",
            "other-2026-03-01T23-59-07.250.log",
        ];
        let mut all: Vec<_> = want
            .iter()
            .chain(&strange)
            .map(|name| (*name).to_owned())
            .collect();
        all.sort();
        assert_eq!(names(), all);
        let packed = File::open(folder.path().join(want[2])).expect("it is there");
        let mut text = String::new();
        let mut reader = flate2::read::GzDecoder::new(packed);
        reader.read_to_string(&mut text).expect("it can be read");
        assert_eq!(text, "2");

        let config = config.max_backups(0).max_age(1);
        Kept::of(&config).rules.tidy(now).expect("it can");
        assert_eq!(names().iter().filter(|name| is_stamp_of(name)).count(), 2);
    }

    fn is_stamp_of(name: &str) -> bool {
        name.starts_with("app-2026")
    }
}
