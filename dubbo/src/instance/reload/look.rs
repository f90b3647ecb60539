//! Whether files have changed, as far as that is seen from outside.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Remembers how files looked. Those that look different are told of once they have looked the same twice: who writes a
/// file may need a moment.
#[derive(Default)]
pub(super) struct Watched {
    /// When they were told of last.
    told: Option<Vec<Stamp>>,
    last: Option<Vec<Stamp>>,
}

impl Watched {
    /// Looks at the files; whether they shall be read.
    pub(super) fn look(&mut self, files: &[PathBuf]) -> bool {
        let look: Vec<_> = files.iter().map(|path| stamp(path)).collect();
        let is_settled = self.last.as_ref() == Some(&look);
        let is_new = self.told.as_ref() != Some(&look);
        if is_settled && is_new {
            self.told = Some(look.clone());
        }
        self.last = Some(look);
        is_settled && is_new
    }
}

/// Size, time and number of a file; `Err` is why there is none.
type Stamp = Result<(u64, Option<SystemTime>, u64), io::ErrorKind>;

/// Of the file that `path` leads to in the end: where links are swapped, as Kubernetes does it with its `..data`, that is
/// another one.
fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).map_err(|error| error.kind())?;
    Ok((found.len(), found.modified().ok(), number(&found)))
}

#[cfg(unix)]
fn number(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn number(_found: &fs::Metadata) -> u64 {
    0
}
