//! Generated code means the same wherever it stands. That it compiles beside `tests/proto/unlucky` is most of the test.

use std::{fs, path::Path};

use syn::visit::{self, Visit};

/// A user's crate has `dubbo` only: a path to any other crate would not resolve there. Here it would, because the tests
/// depend on most of them.
#[test]
fn paths_begin_at_the_core_path_or_the_standard_library() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated");
    // Modules called `serde` are seen from there.
    let has_a_module_like_a_crate = ["std.rs", "unlucky.rs"];
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("the folder is committed") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(entry.path()).expect("a readable file");
        let mut crates = Crates::default();
        crates.visit_file(&syn::parse_file(&text).expect("Rust"));
        for first in &crates.absolute {
            let known = ["core", "dubbo_core", "std"].contains(&first.as_str());
            assert!(known, "{name}: ::{first}");
        }
        if !has_a_module_like_a_crate.contains(&name.as_str()) {
            for first in &crates.relative {
                let is_crate = ["pbjson", "prost", "serde", "std"].contains(&first.as_str());
                assert!(!is_crate, "{name}: {first}");
            }
        }
        files += 1;
    }
    assert!(files > 5, "{files}");
}

/// The first segments of paths.
#[derive(Default)]
struct Crates {
    absolute: Vec<String>,
    relative: Vec<String>,
}

impl<'a> Visit<'a> for Crates {
    fn visit_path(&mut self, path: &'a syn::Path) {
        if let Some(first) = path.segments.first() {
            let first = first.ident.to_string();
            if path.leading_colon.is_some() {
                self.absolute.push(first);
            } else if path.segments.len() > 1 {
                self.relative.push(first);
            }
        }
        visit::visit_path(self, path);
    }
}
