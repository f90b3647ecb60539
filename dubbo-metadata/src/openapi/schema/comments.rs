//! Comments of proto files, where a descriptor has kept them.

use std::{collections::HashMap, sync::Arc};

use prost_types::FileDescriptorProto;

/// The comments of a file, seen from one of its parts.
#[derive(Debug, Clone)]
pub(super) struct Comments {
    all: Arc<HashMap<Vec<i32>, String>>,
    here: Vec<i32>,
}

impl Comments {
    /// Those of `file`, seen from the file.
    pub(super) fn of(file: &FileDescriptorProto) -> Self {
        let info = file.source_code_info.as_ref();
        let locations = info.into_iter().flat_map(|info| &info.location);
        let all = locations.filter_map(|location| {
            let text = [location.leading_comments(), location.trailing_comments()]
                .into_iter()
                .map(tidy)
                .find(|text| !text.is_empty())?;
            Some((location.path.clone(), text))
        });
        Self {
            all: Arc::new(all.collect()),
            here: Vec::new(),
        }
    }

    /// The same, seen from the part at `path` from here.
    pub(super) fn below(&self, path: &[i32]) -> Self {
        Self {
            all: Arc::clone(&self.all),
            here: self.path(path),
        }
    }

    /// The comment on this part.
    pub(super) fn own(&self) -> Option<&str> {
        self.at(&[])
    }

    /// The comment on the part at `path` from here.
    pub(super) fn at(&self, path: &[i32]) -> Option<&str> {
        self.all.get(&self.path(path)).map(String::as_str)
    }

    fn path(&self, further: &[i32]) -> Vec<i32> {
        [&self.here, further].concat()
    }
}

/// The lines of a comment without the space that stands before each.
fn tidy(comment: &str) -> String {
    let lines = comment.lines().map(str::trim);
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
