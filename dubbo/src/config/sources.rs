use std::{
    fmt,
    path::{Path, PathBuf},
};

use dubbo_core::yaml::{Node, Places, Problem, ProblemKind, Problems, Reader, nearest};

use super::{
    Config, ConfigErrors, Draft, Environment, Format, Tree,
    center::CenterDocument,
    env::EnvironmentOverlay,
    locate,
    merge::merge,
    placeholder::{self, text_of},
};

/// What a configuration is read from, to read it again: files, the document of a config center, the environment. By
/// default nothing.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    base: Base,
    environment: Environment,
    files: Vec<PathBuf>,
    center: Option<CenterDocument>,
}

/// What everything else is laid over.
#[derive(Clone, Default)]
pub(super) enum Base {
    #[default]
    Nothing,
    File(PathBuf),
    /// The path it would have, and the text.
    Text(PathBuf, String),
}

impl Sources {
    pub(super) fn new(base: Base, environment: Environment) -> Self {
        Self {
            base,
            environment,
            ..Self::default()
        }
    }

    /// Reads everything again, as it is now: the files, and the text of the config center, which the caller has.
    /// Without a text, and where there is no [`center`](Self::center), that layer is left out.
    ///
    /// What code sets is not in the draft, and variables are what they were.
    ///
    /// # Errors
    ///
    /// There is nothing to go on with: a file that is not there any more or cannot be read, or a document that is not
    /// what its format says. All other problems are in the draft.
    pub fn reread(&self, center_text: Option<&str>) -> Result<Draft, ConfigErrors> {
        let mut reading = Reading {
            sources: Self {
                files: Vec::new(),
                ..self.clone()
            },
            read: Vec::new(),
            problems: Problems::default(),
        };
        match reading.layers(center_text) {
            Some(document) => Ok(reading.draft(&document)),
            None => Err(ConfigErrors::new(reading.problems)),
        }
    }

    /// The files whose changes count: the base, and the profile's, even one that is not there yet.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The document of a config center that is a layer of the configuration, if one is.
    pub fn center(&self) -> Option<&CenterDocument> {
        self.center.as_ref()
    }

    pub(super) fn with_center(&self, center: CenterDocument) -> Self {
        Self {
            center: Some(center),
            ..self.clone()
        }
    }
}

/// Without the text: passwords are in it.
impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(name, _) => f.debug_tuple("Text").field(name).finish(),
        }
    }
}

/// One pass over the sources.
struct Reading {
    sources: Sources,
    /// The files that were read.
    read: Vec<PathBuf>,
    problems: Problems,
}

impl Reading {
    /// All layers but the environment, the stronger over the weaker; nothing if one of them cannot be read.
    fn layers(&mut self, center_text: Option<&str>) -> Option<Node> {
        let (path, text) = match self.sources.base.clone() {
            Base::Nothing => (PathBuf::new(), String::new()),
            Base::File(path) => {
                self.sources.files.push(path.clone());
                let text = self.file(&path)?;
                (path, text)
            }
            Base::Text(path, text) => (path, text),
        };
        let format = Format::of_file(&path).unwrap_or_default();
        let mut document = self.map(&path.display().to_string(), format, &text)?;
        self.lay_profile(&path, &mut document)?;
        if let Some(text) = center_text
            && let Some(center) = self.sources.center.clone()
        {
            let text = center.decoded(text).map_err(|it| self.problems.error(it));
            let layer = self.map(&center.to_string(), center.format(), &text.ok()?)?;
            merge(
                &mut document,
                &CenterDocument::cleared(layer, &mut self.problems),
            );
        }
        Some(document)
    }

    fn lay_profile(&mut self, base: &Path, document: &mut Node) -> Option<()> {
        let active = text_of(PROFILE, document, &self.sources.environment);
        let Some(active) = active else {
            return Some(());
        };
        let profile = active.as_text().unwrap_or_default();
        if ["", "default"].contains(&profile) {
            return Some(());
        }
        match locate::profile(base, profile) {
            Ok(path) => {
                self.sources.files.push(path.clone());
                let text = self.file(&path)?;
                let format = Format::of_file(&path).unwrap_or_default();
                let over = self.map(&path.display().to_string(), format, &text)?;
                merge(document, &over);
            }
            Err(missing) => {
                self.sources.files.extend(missing.expected);
                let problem =
                    Problem::new(ProblemKind::Unreadable, active.at, PROFILE, missing.message);
                self.problems.warn(problem);
            }
        }
        Some(())
    }

    fn file(&mut self, path: &Path) -> Option<String> {
        match locate::read(path) {
            Ok(text) => {
                self.read.push(path.to_owned());
                Some(text)
            }
            Err(problem) => {
                self.problems.error(problem);
                None
            }
        }
    }

    fn map(&mut self, source: &str, format: Format, text: &str) -> Option<Node> {
        let document = format.parse(source, text, &mut self.problems)?;
        if document.is_null() || document.as_map().is_some() {
            return Some(document);
        }
        let message = format!("expected the key `{ROOT}`, found {}", document.kind());
        let problem = Problem::new(ProblemKind::Type, document.at, "", message);
        self.problems.error(problem);
        None
    }

    /// The settings that the layers make, with the environment over them.
    fn draft(mut self, document: &Node) -> Draft {
        let environment = &self.sources.environment;
        refuse_other_roots(document, &mut self.problems);
        let strict = text_of(STRICT, document, environment);
        let is_off = |text: &str| ["0", "false"].contains(&text.to_ascii_lowercase().as_str());
        let strict = !strict.is_some_and(|strict| strict.as_text().is_some_and(is_off));
        let document = placeholder::resolve(document, environment, strict, &mut self.problems);

        let overlay = EnvironmentOverlay::new(environment);
        let mut reader = Reader::new(self.problems).overlay(&overlay);
        let root = document.as_map().and_then(|map| map.get(ROOT));
        let config = reader.read(ROOT, root.map(|entry| &entry.value), Config::read);
        let (mut problems, places): (_, Places) = reader.finish();
        overlay.report(&mut problems);
        Draft {
            config,
            environment: environment.clone(),
            files: self.read,
            tree: Tree::of(&places),
            places,
            problems,
            sources: self.sources,
        }
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
