use std::{fmt, path::PathBuf};

use dubbo_core::{
    extension::Extensions,
    yaml::{Location, Places, Problem, ProblemKind, Problems},
};

use super::{Config, ConfigErrors, Environment, Sources, Tree, check, locate, sources::Base};

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

/// Reads a configuration that no code adds to: [`read`], [`Draft::read_center`], then [`Draft::check`].
///
/// # Errors
///
/// All that is wrong with the configuration.
pub fn load(options: &LoadOptions, extensions: &Extensions) -> Result<Loaded, ConfigErrors> {
    let draft = read(options)?;
    let config = draft.config.clone();
    draft.read_center(&config, extensions)?.check(extensions)
}

/// Reads the file, its profile and the environment over them. What is wrong in them is kept for [`Draft::check`], so that
/// one report names everything.
///
/// # Errors
///
/// There is nothing to go on with: no file, one that cannot be read, or one that is not YAML.
pub fn read(options: &LoadOptions) -> Result<Draft, ConfigErrors> {
    let base = match &options.source {
        Source::Path(path) => Base::File(options.directory.join(path)),
        Source::Search => match locate::search(&options.directory, &options.environment) {
            Ok(path) => Base::File(path),
            Err(problem) => {
                let mut problems = Problems::default();
                problems.error(problem);
                return Err(ConfigErrors::new(problems));
            }
        },
        Source::Text(name, text) => Base::Text(options.directory.join(name), text.clone()),
    };
    Sources::new(base, options.environment.clone()).reread(None)
}

/// A configuration that was read and that code may still change, before it is checked as a whole.
///
/// The default is an empty one, for programs that are configured by code alone.
#[derive(Debug, Default)]
pub struct Draft {
    /// What was read. What could not be read is not set.
    pub config: Config,
    pub(crate) environment: Environment,
    pub(super) files: Vec<PathBuf>,
    pub(super) tree: Tree,
    pub(super) places: Places,
    pub(super) problems: Problems,
    pub(super) sources: Sources,
}

impl Draft {
    /// The draft of a program that is configured by code, with these variables for what code says to read besides.
    pub(crate) fn of_code(environment: Environment) -> Self {
        Self {
            environment: environment.clone(),
            sources: Sources::new(Base::Nothing, environment),
            ..Self::default()
        }
    }

    /// What it was read from.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// What the sources say, key by key.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

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
