//! Texts in files, of which one writer at a time compares and writes.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use dubbo_core::metadata::{CasOutcome, Ticket};

use super::tree;
use crate::{
    backend::{Text, TextKey},
    plain,
};

/// The text under `key`.
pub(super) fn get(root: &Path, key: &TextKey) -> io::Result<Option<Text>> {
    let content = tree::read(&path(root, key))?;
    Ok(content.map(|content| Text {
        // A text that is again what it was is the same to those who compare.
        ticket: Ticket(Some(content.clone())),
        content: content.into(),
    }))
}

/// Writes the text under `key`, if there is what `ticket` was given out for; without one, whatever there is.
pub(super) fn put(
    root: &Path,
    key: &TextKey,
    text: &str,
    ticket: Option<&Ticket>,
) -> io::Result<CasOutcome> {
    let _turn = turn(root)?;
    let path = path(root, key);
    if let Some(Ticket(expected)) = ticket
        && tree::read(&path)? != *expected
    {
        return Ok(CasOutcome::Conflict);
    }
    tree::write(&path, text)?;
    Ok(CasOutcome::Written)
}

/// Takes the text under `key` away.
pub(super) fn remove(root: &Path, key: &TextKey) -> io::Result<()> {
    let _turn = turn(root)?;
    tree::remove(root, &path(root, key))
}

/// The names of the keys of `group`.
pub(super) fn names(root: &Path, group: &str) -> io::Result<Vec<Arc<str>>> {
    let names = tree::names(&folder(root, group))?;
    let names = names.iter().filter_map(|name| plain::unescape(name));
    Ok(names.map(Into::into).collect())
}

/// Where the text under `key` is.
pub(super) fn path(root: &Path, key: &TextKey) -> PathBuf {
    folder(root, &key.group).join(plain::escape(&key.name))
}

/// The parts of a group are escaped already.
fn folder(root: &Path, group: &str) -> PathBuf {
    root.join("texts").join(group)
}

/// Waits for the turn to write, which ends when the file is dropped, or with the program.
fn turn(root: &Path) -> io::Result<File> {
    fs::create_dir_all(root)?;
    let path = root.join(".writer");
    tree::check_kind(&path)?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    lock.lock()?;
    Ok(lock)
}
