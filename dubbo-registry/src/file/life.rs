//! Who is alive: each client holds the lock of a file for as long as its program lives.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{tree, warnings};

/// Whether a client is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pulse {
    Alive,
    Dead,
    /// Its lock cannot be asked, which says why.
    Unknown(String),
}

/// The life of one client, which ends when this is dropped, or with the program.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) name: String,
    path: PathBuf,
    _lock: File,
}

impl Life {
    /// Begins one below `root`, and clears away the locks of those who are dead.
    pub(super) fn begin(root: &Path) -> io::Result<Self> {
        let folder = folder(root);
        tree::insist(|| Self::begin_in(&folder))
    }

    fn begin_in(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        bury(folder)?;
        let name = tree::unique();
        let path = folder.join(&name);
        // Locked before it has its name: nobody ever sees it without.
        let unfinished = tree::unfinished(folder);
        let lock = File::create_new(&unfinished)?;
        lock.lock()?;
        fs::rename(&unfinished, &path)?;
        Ok(Self {
            name,
            path,
            _lock: lock,
        })
    }

    /// Whether others still see that it is alive: somebody may have removed the directory.
    pub(super) fn is_seen(&self) -> bool {
        self.path.exists()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // The lock goes with the file handle, whether this works or not.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the client of this name is alive.
pub(super) fn pulse(root: &Path, name: &str) -> io::Result<Pulse> {
    pulse_of(&folder(root).join(name))
}

/// Clears away the locks that nobody holds. What cannot be cleared away is in nobody's way.
fn bury(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_unfinished = entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_unfinished && is_young(&path) {
            continue;
        }
        let why = match pulse_of(&path) {
            Ok(Pulse::Alive) => continue,
            Ok(Pulse::Dead) => match tree::or_none(fs::remove_file(&path)) {
                Ok(_) => continue,
                Err(error) => error.to_string(),
            },
            Ok(Pulse::Unknown(why)) => why,
            Err(error) => error.to_string(),
        };
        warnings::once(
            &path,
            "not cleared away, though no client that is alive holds it",
            &why,
        );
    }
    Ok(())
}

/// Whether `path` may still be on its way to its name.
fn is_young(path: &Path) -> bool {
    let written = fs::metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < Duration::from_secs(10)))
}

/// Whether somebody holds the lock of `path`. Who asks takes a shared lock for a moment, which no other who asks minds.
fn pulse_of(path: &Path) -> io::Result<Pulse> {
    let Some(metadata) = tree::or_none(fs::symlink_metadata(path))? else {
        return Ok(Pulse::Dead);
    };
    // To open a pipe may take for ever.
    if !metadata.is_file() {
        return Ok(Pulse::Unknown("it is no file".to_owned()));
    }
    let file = match tree::or_none(File::open(path)) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Pulse::Dead),
        // The folder may be looked into, or there were no metadata: it is this file alone.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(Pulse::Unknown(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Pulse::Dead),
        Err(TryLockError::WouldBlock) => Ok(Pulse::Alive),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn folder(root: &Path) -> PathBuf {
    root.join("clients")
}
