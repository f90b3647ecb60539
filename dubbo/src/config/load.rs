use std::{
    fmt,
    path::{Path, PathBuf},
};

use dubbo_core::{
    extension::Extensions,
    yaml::{Location, Node, Places, Problem, ProblemKind, Problems, Reader, nearest, parse},
};

use super::{
    Config, ConfigErrors, Environment, check,
    env::EnvironmentOverlay,
    locate,
    merge::merge,
    placeholder::{self, text_of},
};

/// Where a configuration comes from.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    source: Source,
    environment: Environment,
    directory: PathBuf,
}

impl LoadOptions {
    /// Looks for a file: the one that `DUBBO_CONFIG_PATH` or `DUBBO_GO_CONFIG_PATH` names, else the first of `dubbo.yaml`,
    /// `conf/dubbogo.yaml` and `../conf/dubbogo.yaml` that is there; `.yml` will do, too.
    pub fn search() -> Self {
        Self::default()
    }

    /// This file: YAML or JSON, whatever of the two its ending says.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self {
            source: Source::Path(path.into()),
            ..Self::default()
        }
    }

    /// This text; `name` stands for the file in messages. A profile is looked for beside a file of this name.
    pub fn text(name: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self {
            source: Source::Text(name.into(), text.into()),
            ..Self::default()
        }
    }

    /// The variables that may override the files, by default none.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// The directory that relative paths start from, by default the current one.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }
}

#[derive(Clone, Default)]
enum Source {
    Path(PathBuf),
    #[default]
    Search,
    Text(PathBuf, String),
}

/// Without the text: passwords are in it.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Search => f.write_str("Search"),
            Self::Text(name, _) => f.debug_tuple("Text").field(name).finish(),
        }
    }
}

/// Reads a configuration that no code adds to: [`read`], then [`Draft::check`].
///
/// # Errors
///
/// All that is wrong with the configuration.
pub fn load(options: &LoadOptions, extensions: &Extensions) -> Result<Loaded, ConfigErrors> {
    read(options)?.check(extensions)
}

/// Reads the file, its profile and the environment over them. What is wrong in them is kept for [`Draft::check`], so that
/// one report names everything.
///
/// # Errors
///
/// There is nothing to go on with: no file, one that cannot be read, or one that is not YAML.
pub fn read(options: &LoadOptions) -> Result<Draft, ConfigErrors> {
    let mut problems = Problems::default();
    let mut files = Vec::new();
    match read_document(options, &mut files, &mut problems) {
        Some(document) => Ok(read_config(&document, options, files, problems)),
        None => Err(ConfigErrors::new(problems)),
    }
}

/// A configuration that was read and that code may still change, before it is checked as a whole.
///
/// The default is an empty one, for programs that are configured by code alone.
#[derive(Debug, Default)]
pub struct Draft {
    /// What was read. What could not be read is not set.
    pub config: Config,
    pub(crate) environment: Environment,
    files: Vec<PathBuf>,
    places: Places,
    problems: Problems,
}

impl Draft {
    /// Notes a problem of the section or value at `path`, to be reported with all others.
    pub(crate) fn note(
        &mut self,
        kind: ProblemKind,
        path: &str,
        message: impl Into<String>,
        fatal: bool,
    ) {
        let written = self.places.find(path, "").cloned();
        let at = written.unwrap_or_else(|| Location::named("code"));
        let problem = Problem::new(kind, at, path, message);
        if fatal {
            self.problems.error(problem);
        } else {
            self.problems.warn(problem);
        }
    }

    /// Notes a problem that has a place of its own, to be reported with all others.
    pub(crate) fn refuse(&mut self, problem: Problem) {
        self.problems.error(problem);
    }

    /// Takes the labels that are environment variables, and checks the configuration as a whole: every id and plugin that
    /// is named must exist, no two services may be the same, URLs must be URLs.
    ///
    /// # Errors
    ///
    /// All that is wrong, here and in the files.
    pub fn check(mut self, extensions: &Extensions) -> Result<Loaded, ConfigErrors> {
        let from_environment = self.config.env.labels(&self.environment);
        self.config.labels.extend(from_environment);
        let mut problems = self.problems;
        check::check(&self.config, &self.places, extensions, &mut problems);
        if self.config.strict == Some(false) {
            problems.demote(ProblemKind::UnknownKey);
        }
        if problems.has_errors() {
            return Err(ConfigErrors::new(problems));
        }
        Ok(Loaded {
            config: self.config,
            files: self.files,
            warnings: problems.into_parts().1,
        })
    }
}

/// A configuration that can be used.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// The files they come from, the weakest first.
    pub files: Vec<PathBuf>,
    /// What the author of the files should know; to be logged.
    pub warnings: Vec<Problem>,
}

/// The base file with the profile laid over it, or nothing if one of them is not there to be read.
fn read_document(
    options: &LoadOptions,
    files: &mut Vec<PathBuf>,
    problems: &mut Problems,
) -> Option<Node> {
    let (base, text) = match &options.source {
        Source::Path(path) => read_file(options.directory.join(path), files, problems)?,
        Source::Search => match locate::search(&options.directory, &options.environment) {
            Ok(path) => read_file(path, files, problems)?,
            Err(problem) => {
                problems.error(problem);
                return None;
            }
        },
        Source::Text(name, text) => (options.directory.join(name), text.clone()),
    };
    let mut document = parse_map(&base, &text, problems)?;
    let active = text_of(PROFILE, &document, &options.environment);
    if let Some(active) = active
        && let Some(profile) = active.as_text()
        && !["", "default"].contains(&profile)
    {
        match locate::profile(&base, profile) {
            Ok(path) => {
                let (path, text) = read_file(path, files, problems)?;
                merge(&mut document, &parse_map(&path, &text, problems)?);
            }
            Err(message) => {
                let at = active.at.clone();
                problems.warn(Problem::new(ProblemKind::Unreadable, at, PROFILE, message));
            }
        }
    }
    Some(document)
}

fn read_file(
    path: PathBuf,
    files: &mut Vec<PathBuf>,
    problems: &mut Problems,
) -> Option<(PathBuf, String)> {
    match locate::read(&path) {
        Ok(text) => {
            files.push(path.clone());
            Some((path, text))
        }
        Err(problem) => {
            problems.error(problem);
            None
        }
    }
}

fn parse_map(path: &Path, text: &str, problems: &mut Problems) -> Option<Node> {
    let document = parse(&path.display().to_string(), text, problems)?;
    if document.is_null() || document.as_map().is_some() {
        return Some(document);
    }
    let message = format!("expected the key `{ROOT}`, found {}", document.kind());
    problems.error(Problem::new(ProblemKind::Type, document.at, "", message));
    None
}

fn read_config(
    document: &Node,
    options: &LoadOptions,
    files: Vec<PathBuf>,
    mut problems: Problems,
) -> Draft {
    refuse_other_roots(document, &mut problems);
    let strict = text_of(STRICT, document, &options.environment);
    let is_off = |text: &str| ["0", "false"].contains(&text.to_ascii_lowercase().as_str());
    let strict = !strict.is_some_and(|strict| strict.as_text().is_some_and(is_off));
    let document = placeholder::resolve(document, &options.environment, strict, &mut problems);

    let overlay = EnvironmentOverlay::new(&options.environment);
    let mut reader = Reader::new(problems).overlay(&overlay);
    let root = document.as_map().and_then(|map| map.get(ROOT));
    let config = reader.read(ROOT, root.map(|entry| &entry.value), Config::read);
    let (mut problems, places) = reader.finish();
    overlay.report(&mut problems);
    Draft {
        config,
        environment: options.environment.clone(),
        files,
        places,
        problems,
    }
}

fn refuse_other_roots(document: &Node, problems: &mut Problems) {
    for entry in document.as_map().into_iter().flatten() {
        if &*entry.key == ROOT {
            continue;
        }
        let message = format!("unknown key; all settings stand below `{ROOT}`");
        let path = entry.key.as_ref();
        let problem = Problem::new(ProblemKind::UnknownKey, entry.at.clone(), path, message);
        problems.error(problem.suggest(nearest(path, [ROOT])));
    }
}

const PROFILE: &str = "dubbo.profiles.active";
const ROOT: &str = "dubbo";
const STRICT: &str = "dubbo.strict";
