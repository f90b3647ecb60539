//! A file that is put aside when it is full, as lumberjack does it for dubbo-go.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::kept::Kept;
use crate::config::LogFileConfig;

/// The file that is written now. Who writes it is one, and one process.
pub(in crate::logging) struct Rolling {
    path: PathBuf,
    /// In bytes.
    limit: u64,
    file: BufWriter<File>,
    size: u64,
    kept: Kept,
}

impl Rolling {
    /// Goes on with the file that is there, or begins one; folders on the way are made.
    pub(in crate::logging) fn open(config: &LogFileConfig) -> io::Result<Self> {
        let path = config.path().to_owned();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let (file, size) = append(&path)?;
        let mut kept = Kept::of(config);
        // What an earlier run has left.
        kept.tidy_aside();
        Ok(Self {
            path,
            limit: config.limit(),
            file,
            size,
            kept,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `more` bytes are too many for this file. A line that is too long by itself has a file of its own.
    pub(super) fn is_full_with(&self, more: usize) -> bool {
        self.size > 0 && self.size.saturating_add(more as u64) > self.limit
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Puts the file aside and begins another one.
    ///
    /// # Errors
    ///
    /// That cannot be done; the same file is written on, and is full again after as much once more.
    pub(super) fn roll(&mut self, now: SystemTime) -> io::Result<()> {
        self.size = 0;
        self.file.flush()?;
        fs::rename(&self.path, self.kept.free_name(now))?;
        (self.file, self.size) = append(&self.path)?;
        self.kept.tidy_aside();
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn tidied(&mut self) {
        self.kept.tidied();
    }
}

fn append(path: &Path) -> io::Result<(BufWriter<File>, u64)> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let size = file.metadata()?.len();
    Ok((BufWriter::new(file), size))
}
