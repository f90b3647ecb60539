//! The files of a cache: a folder that one process writes and all may read.

use std::{
    fs::{self, File, TryLockError},
    io::{self, BufWriter, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use dubbo_core::metadata::Mapping;

use super::{
    contents::{All, Key, MappingKey, Metadata},
    record::{self, Records},
};

/// The folder with the files. All of it is blocking work.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    /// Held as long as this process is the one that writes.
    lock: Option<File>,
    /// Whether the last attempt failed.
    is_failing: bool,
    metadata: Shelf,
    mappings: Shelf,
}

/// What the files have, the most recently used first.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) metadata: Vec<(Key, Arc<str>)>,
    pub(super) mappings: Vec<(MappingKey, Mapping)>,
    /// Whether there is something else in a file that is ours.
    pub(super) is_damaged: bool,
}

impl Files {
    /// The files in `folder`, of which as much is read as a cache with that much room can have written.
    pub(super) fn new(folder: &Path, room: usize) -> Self {
        let room = u64::try_from(room).unwrap_or(u64::MAX);
        let limit = room.saturating_mul(4).max(LEAST_LIMIT);
        let shelf = |name, title| Shelf {
            path: folder.join(name),
            title,
            limit,
            is_foreign: false,
        };
        Self {
            lock: None,
            is_failing: false,
            metadata: shelf("metadata.v1", b"dubbo-rust metadata 1\n"),
            mappings: shelf("mapping.v1", b"dubbo-rust mappings 1\n"),
            folder: folder.to_owned(),
        }
    }

    /// Does something that may fail. The first failure is a warning, and so is the first one after a success.
    pub(super) fn attempt(&mut self, work: impl FnOnce(&mut Self) -> Result<(), FileError>) {
        let done = work(self);
        if let Err(error) = &done
            && !self.is_failing
        {
            tracing::warn!(%error, "nothing of metadata is kept for the next start");
        }
        self.is_failing = done.is_err();
    }

    /// Becomes the one that writes, unless another process is; whether it became so just now.
    pub(super) fn lock(&mut self) -> Result<bool, FileError> {
        if self.lock.is_some() {
            return Ok(false);
        }
        let error = |source| FileError::new("make", &self.folder, source);
        fs::create_dir_all(&self.folder).map_err(error)?;
        let path = self.folder.join("lock");
        let error = |source| FileError::new("lock", &path, source);
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(error)?;
        match file.try_lock() {
            Ok(()) => {
                self.lock = Some(file);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => {
                tracing::debug!(file = %path.display(), "another process writes the cache of metadata");
                Ok(false)
            }
            Err(TryLockError::Error(source)) => Err(error(source)),
        }
    }

    /// Whether this process writes.
    pub(super) fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Lets another process write.
    pub(super) fn unlock(&mut self) {
        self.lock = None;
    }

    /// All that can be read. What cannot is told in the log.
    pub(super) fn read(&mut self) -> Found {
        let mut found = Found::default();
        let bytes = self.metadata.read();
        let records = self.metadata.records(&bytes);
        found.is_damaged |= records.damaged > 0;
        for [registry, application, revision, json] in records.sound {
            let key = Key {
                registry: registry.into(),
                application: application.into(),
                revision: revision.into(),
            };
            found.metadata.push((key, json.into()));
        }
        let bytes = self.mappings.read();
        let records = self.mappings.records(&bytes);
        found.is_damaged |= records.damaged > 0;
        for [registry, interface, names] in records.sound {
            let key = (registry.into(), interface.into());
            found.mappings.push((key, Mapping::parse(names)));
        }
        found
    }

    /// Writes all anew. Each file is the old one or the new one at any time, whatever happens meanwhile.
    pub(super) fn write(&self, all: &All) -> Result<(), FileError> {
        let metadata = all.metadata.iter();
        self.metadata.write(metadata, |(key, metadata), record| {
            let decoded;
            let json = match metadata {
                Metadata::Encoded(json) => &**json,
                Metadata::Decoded(info) => {
                    decoded = info.to_json();
                    str::from_utf8(&decoded).expect("invariant: JSON is UTF-8")
                }
            };
            let texts = [&*key.registry, &*key.application, &*key.revision, json];
            record::append(record, texts)
        })?;
        let mappings = all.mappings.iter();
        self.mappings.write(mappings, |(key, mapping), record| {
            let (registry, interface) = key;
            record::append(record, [&**registry, &**interface, &mapping.to_string()])
        })
    }
}

/// One of the files.
#[derive(Debug)]
struct Shelf {
    path: PathBuf,
    /// What it begins with.
    title: &'static [u8],
    /// How much of it is read at most.
    limit: u64,
    /// Whether it is of another kind or version. It is left alone then.
    is_foreign: bool,
}

impl Shelf {
    /// What is behind the title.
    fn read(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read =
            File::open(&self.path).and_then(|file| file.take(self.limit).read_to_end(&mut bytes));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(source) => {
                let error = FileError::new("read", &self.path, source);
                tracing::warn!(%error, "the cache of metadata begins without this file");
                return Vec::new();
            }
            Ok(_) => {}
        }
        let begins_so = self.title.starts_with(&bytes) || bytes.starts_with(self.title);
        self.is_foreign = !begins_so;
        if self.is_foreign {
            tracing::warn!(
                file = %self.path.display(),
                "a file of the cache of metadata is of another kind or version; it is left alone, and nothing is kept there"
            );
            return Vec::new();
        }
        // What was cut off within the title has no records.
        bytes.drain(..self.title.len().min(bytes.len()));
        bytes
    }

    fn records<'b, const TEXTS: usize>(&self, bytes: &'b [u8]) -> Records<'b, TEXTS> {
        let records = record::read(bytes);
        if records.damaged > 0 {
            tracing::warn!(
                file = %self.path.display(), places = records.damaged, sound = records.sound.len(),
                "a file of the cache of metadata is damaged; what is in these places is not used"
            );
        }
        records
    }

    fn write<T>(
        &self,
        records: impl Iterator<Item = T>,
        append: impl Fn(T, &mut Vec<u8>) -> bool,
    ) -> Result<(), FileError> {
        if self.is_foreign {
            return Ok(());
        }
        let aside = self.path.with_extension("v1.new");
        let written = (|| {
            let mut file = BufWriter::new(File::create(&aside)?);
            file.write_all(self.title)?;
            let mut record = Vec::new();
            for one in records {
                record.clear();
                // What is too long for a record is left out.
                if append(one, &mut record) {
                    file.write_all(&record)?;
                }
            }
            file.into_inner()?.sync_all()?;
            fs::rename(&aside, &self.path)
        })();
        written.map_err(|source| FileError::new("write", &self.path, source))
    }
}

/// Something that could not be done to a file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub(super) struct FileError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// How much of a file is read in any case: pinned metadata is written even if there is no room for it.
const LEAST_LIMIT: u64 = 16 << 20;
