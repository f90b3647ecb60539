//! Reading and writing files below a directory, so that nobody ever sees half of one.

use std::{
    ffi::OsString,
    fmt,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

/// Writes `content` to `path`, whose folders are made, in one step.
pub(super) fn write(path: &Path, content: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    insist(|| write_in(folder, path, content))
}

/// Does `work` in a folder that it makes, again if the folder vanishes meanwhile: whoever takes the last file out of one
/// removes it, perhaps just now.
pub(super) fn insist<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match work() {
            Err(error) if has_vanished(&error) && attempts < ATTEMPTS => {}
            result => return result,
        }
    }
}

/// What `path` has in it; `None` if it is not there. What is wrong with this file alone is
/// [`InvalidData`](io::ErrorKind::InvalidData).
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    let invalid = |reason: &dyn fmt::Display| {
        let reason = format!("{} {reason}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, reason)
    };
    if !check_kind(path)? {
        return Ok(None);
    }
    let file = match or_none(File::open(path)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(invalid(&format_args!("cannot be read: {error}")));
        }
        file => file?,
    };
    let Some(file) = file else {
        return Ok(None);
    };
    let mut content = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST {
        return Err(invalid(&format_args!("is larger than {LARGEST} bytes")));
    }
    let content = String::from_utf8(content);
    content
        .map(Some)
        .map_err(|error| invalid(&format_args!("is no text: {error}")))
}

/// Whether `path` is there. To open what is no file may take for ever: that is an error.
pub(super) fn check_kind(path: &Path) -> io::Result<bool> {
    let metadata = or_none(fs::metadata(path))?;
    if metadata.as_ref().is_some_and(|found| !found.is_file()) {
        let reason = format!("{} is no file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(metadata.is_some())
}

/// Takes `path` away, and the folders above it up to `root` that are empty then.
pub(super) fn remove(root: &Path, path: &Path) -> io::Result<()> {
    or_none(fs::remove_file(path))?;
    let folders = path.ancestors().skip(1);
    for folder in folders.take_while(|folder| *folder != root) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// The names in `folder`, without those that are being written; none if it is not there.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let Some(entries) = or_none(fs::read_dir(folder))? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in entries {
        // Names that are no UTF-8 are not ours.
        if let Ok(name) = entry?.file_name().into_string()
            && !name.starts_with('.')
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// A name in `folder` for a file that is not finished, which nobody else uses.
pub(super) fn unfinished(folder: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(unique());
    folder.join(name)
}

/// A name that no program on this machine has used.
pub(super) fn unique() -> String {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    format!("{}-{:x}-{number}", process::id(), since.as_nanos())
}

/// `None` for what is not there.
pub(super) fn or_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_in(folder: &Path, path: &Path, content: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let unfinished = unfinished(folder);
    let moved = File::create_new(&unfinished)
        .and_then(|mut file| file.write_all(content.as_bytes()))
        .and_then(|()| fs::rename(&unfinished, path));
    if moved.is_err() {
        // The first failure is the one to tell.
        let _ = fs::remove_file(&unfinished);
    }
    moved
}

/// Whether a folder was removed while it was made or written into. Making one says that it exists when it did just now.
fn has_vanished(error: &io::Error) -> bool {
    [io::ErrorKind::AlreadyExists, io::ErrorKind::NotFound].contains(&error.kind())
}

/// Distinguishes what one program writes in one moment.
static LAST: AtomicU64 = AtomicU64::new(0);

/// How often a folder may vanish while something is written into it.
const ATTEMPTS: u32 = 20;

/// What is larger is not ours.
pub(super) const LARGEST: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_and_removers_of_one_folder_do_not_disturb_each_other() {
        let root = std::env::temp_dir().join(unique());
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let root = &root;
                scope.spawn(move || {
                    let path = root.join("a/b").join(writer.to_string());
                    for round in 0..200 {
                        write(&path, &round.to_string()).expect("writes");
                        let found = read(&path).expect("reads");
                        assert_eq!(found, Some(round.to_string()));
                        remove(root, &path).expect("removes");
                    }
                });
            }
        });
        assert_eq!(names(&root).expect("reads"), [""; 0], "nothing is left");
        let _ = fs::remove_dir_all(&root);
    }

    #[test]
    fn what_is_not_there_is_none_and_what_is_no_text_is_an_error() {
        let root = std::env::temp_dir().join(unique());
        let path = root.join("x");
        assert_eq!(read(&path).expect("no error"), None);
        assert_eq!(names(&root).expect("no error"), [""; 0]);
        remove(&root, &path).expect("no error");
        fs::create_dir_all(&root).expect("is made");
        fs::write(&path, b"\xff").expect("is written");
        assert_eq!(
            read(&path).expect_err("no text").kind(),
            io::ErrorKind::InvalidData
        );
        fs::remove_dir_all(&root).expect("is removed");
    }
}
