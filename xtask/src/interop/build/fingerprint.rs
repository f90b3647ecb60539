//! Telling builds apart.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// A number that changes with the files below `folders`, and with `circumstances` such as the compiler's version.
pub(super) fn of(folders: &[&Path], circumstances: &[&str]) -> Result<u64, Failure> {
    let mut hash = Fnv::new();
    for circumstance in circumstances {
        hash.add(circumstance.as_bytes());
    }
    for folder in folders {
        for path in &files(folder)? {
            let name = path.strip_prefix(folder).unwrap_or(path);
            hash.add(name.to_string_lossy().as_bytes());
            hash.add(&fs::read(path).map_err(|e| cannot(path, &e))?);
        }
    }
    Ok(hash.0)
}

/// All files below `folder`, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| cannot(&folder, &e))? {
            let path = entry.map_err(|e| cannot(&folder, &e))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn cannot(path: &Path, e: &std::io::Error) -> Failure {
    Failure::new(
        format!("cannot read {}: {e}", path.display()),
        "restore the file, or look at its rights",
    )
}

/// FNV-1a, which unlike the standard library's hasher is the same in every version of it.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds `bytes` and where they end.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&bytes.len().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_knows_where_its_parts_end() {
        let of = |parts: &[&str]| of(&[], parts).expect("it reads no files");
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
        assert_eq!(of(&["a"]), of(&["a"]));
    }
}
