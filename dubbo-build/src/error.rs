//! Why code could not be generated.

use std::{error::Error as _, fmt, io, path::PathBuf};

/// Why code could not be generated.
///
/// `Debug` prints what `Display` does, and the cause: cargo shows the error of a build script through `Debug`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A proto file that was asked for is nowhere to be found.
    #[error("{} was not found, neither from the working folder nor below {}", .file.display(), folders(.searched))]
    FileNotFound {
        /// The file as it was asked for.
        file: PathBuf,
        /// The include folders.
        searched: Vec<PathBuf>,
    },
    /// A proto file exists, and none of the include folders contains it.
    #[error(
        "{} lies below none of the include folders {}; a proto file is known by its path from one of them, so add its \
         folder to the includes", .file.display(), folders(.searched)
    )]
    FileNotIncluded {
        /// The file as it was asked for.
        file: PathBuf,
        /// The include folders.
        searched: Vec<PathBuf>,
    },
    /// An import cannot be resolved.
    #[error("{problem}; searched {}", folders(.searched))]
    ImportNotFound {
        /// `file:line:column: import '...' not found`.
        problem: String,
        /// The include folders.
        searched: Vec<PathBuf>,
    },
    /// A file cannot be written.
    #[error("{} cannot be written", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Names that are fine in a proto file and not in Rust, one line each.
    #[error("{}", .0.join("\n"))]
    Names(Vec<String>),
    /// There is no folder to write to.
    #[error("OUT_DIR is not set, as it is in a build script; name a folder with `out_dir`")]
    NoOutDir,
    /// The code that came out is no Rust: an attribute or path among the settings is not, or a tool has a bug.
    #[error(
        "what was generated for {file} is not Rust: {reason}; are the attributes and extern paths that were asked for?"
    )]
    Output {
        /// The generated file.
        file: String,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// The proto files are wrong: one line for each problem, `file:line:column: problem`.
    #[error("{0}")]
    Proto(String),
    /// A setting of the builder makes no sense.
    #[error("{setting}({value:?}): {reason}")]
    Setting {
        /// The method of the builder.
        setting: &'static str,
        /// What it was given.
        value: String,
        /// What is wrong with that.
        reason: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        self.source()
            .map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

fn folders(searched: &[PathBuf]) -> String {
    if searched.is_empty() {
        return "any include folder, since none was given".to_owned();
    }
    let named = searched.iter().map(|folder| {
        let missing = if folder.is_dir() {
            ""
        } else {
            " (no such folder)"
        };
        format!("{}{missing}", folder.display())
    });
    named.collect::<Vec<_>>().join(", ")
}
