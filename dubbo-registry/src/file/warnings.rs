//! Warnings of what is wrong in a directory, which is looked at several times a second: each is given once.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

/// Says that `path` is left as it is, and why; whether it was the first time in this program.
pub(super) fn once(path: &Path, what: &'static str, why: &dyn fmt::Display) -> bool {
    let is_new = GIVEN.lock().insert((path.to_owned(), what));
    if is_new {
        tracing::warn!(path = %path.display(), %why, "{what}");
    }
    is_new
}

static GIVEN: Mutex<BTreeSet<(PathBuf, &'static str)>> = Mutex::new(BTreeSet::new());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_given_once_for_each_file_and_trouble() {
        for (path, what, want) in [
            ("warnings/a", "left out", true),
            ("warnings/a", "left out", false),
            ("warnings/b", "left out", true),
            ("warnings/a", "left alone", true),
            ("warnings/a", "left out", false),
        ] {
            let is_new = once(Path::new(path), what, &"a reason");
            assert_eq!(is_new, want, "{path}: {what}");
        }
    }
}
