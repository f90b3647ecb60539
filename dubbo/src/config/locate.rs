use std::path::{Path, PathBuf};

use dubbo_core::yaml::{Location, Problem, ProblemKind};

use super::{Environment, Format, format::EXTENSIONS};

/// The file to read when none is given: what `DUBBO_CONFIG_PATH` or `DUBBO_GO_CONFIG_PATH` names, else the first of
/// [`SEARCHED`] that is there.
pub(super) fn search(directory: &Path, environment: &Environment) -> Result<PathBuf, Problem> {
    for variable in ["DUBBO_CONFIG_PATH", "DUBBO_GO_CONFIG_PATH"] {
        if let Some(path) = environment.get(variable) {
            return Ok(directory.join(path));
        }
    }
    let found = SEARCHED
        .iter()
        .map(|path| directory.join(path))
        .find(|path| path.is_file());
    found.ok_or_else(|| {
        let directory = match directory.to_str() {
            Some("") => "the current directory".to_owned(),
            _ => format!("`{}`", directory.display()),
        };
        let message = format!(
            "no configuration: DUBBO_CONFIG_PATH and DUBBO_GO_CONFIG_PATH are not set, and {directory} has none of {}",
            SEARCHED.join(", ")
        );
        Problem::new(ProblemKind::Unreadable, Location::named("dubbo"), "", message)
    })
}

/// The text of a file of a format that is read.
pub(super) fn read(path: &Path) -> Result<String, Problem> {
    let problem = |message: String| {
        let at = Location::named(path.display().to_string());
        Problem::new(ProblemKind::Unreadable, at, "", message)
    };
    if Format::of_file(path).is_none() {
        let extension = path.extension().unwrap_or_default().display();
        let known: Vec<_> = EXTENSIONS.iter().map(|(known, _)| *known).collect();
        let known = known.join(", ");
        let message = format!(
            "files ending in `.{extension}` are not read; what is read ends in one of {known}"
        );
        return Err(problem(message));
    }
    let bytes = std::fs::read(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid]
            .split(|byte| *byte == b'\n')
            .count();
        problem(format!("line {line} is not UTF-8"))
    })
}

/// The file of a profile: `conf/dubbo-prod.yaml` for `conf/dubbo.yaml`, or with the other ending of YAML.
pub(super) fn profile(base: &Path, profile: &str) -> Result<PathBuf, NoProfile> {
    if profile.contains(['/', '\\']) {
        return Err(NoProfile {
            message: format!("`{profile}` is a path, not the name of a profile"),
            expected: None,
        });
    }
    let stem = base.file_stem().unwrap_or_default().to_string_lossy();
    let named = |extension: &str| base.with_file_name(format!("{stem}-{profile}{extension}"));
    let extension = base
        .extension()
        .map(|extension| format!(".{}", extension.to_string_lossy()));
    let extension = extension.unwrap_or_default();
    let other = match extension.as_str() {
        ".yaml" => ".yml",
        ".yml" => ".yaml",
        same => same,
    };
    let mut candidates = [named(&extension), named(other)].into_iter();
    candidates.find(|path| path.is_file()).ok_or_else(|| {
        let expected = named(&extension);
        NoProfile {
            message: format!("there is no file `{}`", expected.display()),
            expected: Some(expected),
        }
    })
}

/// Why a profile cannot be read, and where it would be.
pub(super) struct NoProfile {
    pub(super) message: String,
    pub(super) expected: Option<PathBuf>,
}

/// Where a file is looked for, in order, below the current directory.
const SEARCHED: [&str; 6] = [
    "dubbo.yaml",
    "dubbo.yml",
    "conf/dubbogo.yaml",
    "conf/dubbogo.yml",
    "../conf/dubbogo.yaml",
    "../conf/dubbogo.yml",
];
