//! Whether files have changed, as far as that is seen from outside.

use std::{fs, io, path::Path, time::SystemTime};

/// How a file looks from outside: another stamp means another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// The file's own. One that is written aside and renamed is another file.
    number: u64,
}

impl Stamp {
    /// That of the file that `path` leads to in the end: where links are swapped, as Kubernetes does it with its `..data`,
    /// that is another one. It asks the disk, and waits for it.
    ///
    /// # Errors
    ///
    /// There is no such file, or it may not be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            size: found.len(),
            modified: found.modified().ok(),
            number: number(&found),
        })
    }
}

/// Remembers how files looked. Those that look different are told of once they have looked the same twice: who writes a
/// file, or several that belong together, may need a moment.
#[derive(Debug, Default)]
pub struct Watched {
    /// When they were told of last.
    told: Option<Look>,
    last: Option<Look>,
}

/// `Err` is why there is no file.
type Look = Vec<Result<Stamp, io::ErrorKind>>;

impl Watched {
    /// What is in `files` now is known already. Asked before they are read, it misses nothing that is written meanwhile.
    pub fn known<'p>(files: impl IntoIterator<Item = &'p Path>) -> Self {
        let look = look(files);
        Self {
            told: Some(look.clone()),
            last: Some(look),
        }
    }

    /// Looks at `files`; whether they shall be read now.
    pub fn look<'p>(&mut self, files: impl IntoIterator<Item = &'p Path>) -> bool {
        let look = look(files);
        let is_settled = self.last.as_ref() == Some(&look);
        let is_new = self.told.as_ref() != Some(&look);
        if is_settled && is_new {
            self.told = Some(look.clone());
        }
        self.last = Some(look);
        is_settled && is_new
    }
}

fn look<'p>(files: impl IntoIterator<Item = &'p Path>) -> Look {
    let stamps = files.into_iter().map(Stamp::of);
    stamps
        .map(|stamp| stamp.map_err(|error| error.kind()))
        .collect()
}

#[cfg(unix)]
fn number(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn number(_found: &fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A file of this test alone, gone with it.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            let name = format!("dubbo-files-{}-{:x}", std::process::id(), fastrand::u64(..));
            Self(std::env::temp_dir().join(name))
        }

        fn write(&self, text: &str) {
            fs::write(&self.0, text).expect("writable");
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            // It may be gone already.
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn files_that_changed_are_told_of_once_when_they_have_settled() {
        let file = Scratch::new();
        let mut watched = Watched::known([file.0.as_path()]);
        let mut look = || watched.look([file.0.as_path()]);
        assert!(!look(), "there is none, as before");
        file.write("a");
        assert!(!look(), "it may be half of it");
        assert!(look(), "it is all of it");
        assert!(!look(), "that is known");
        file.write("longer");
        assert!(!look());
        file.write("longer still");
        assert!(!look(), "it is still being written");
        assert!(look());
        fs::remove_file(&file.0).expect("there");
        assert!(
            [look(), look(), look()] == [false, true, false],
            "it is gone"
        );
    }

    #[test]
    fn who_knows_nothing_yet_is_told_of_what_there_is() {
        let file = Scratch::new();
        file.write("a");
        let mut watched = Watched::default();
        let looks = [0; 3].map(|_| watched.look([file.0.as_path()]));
        assert_eq!(looks, [false, true, false]);
    }
}
