use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fmt,
    str::FromStr,
};

use dubbo_core::yaml::{Location, Node, Overlay, Path, Problem, ProblemKind, Problems, nearest};

/// The environment variables that a configuration may use.
///
/// - `DUBBO_APPLICATION_NAME` sets `dubbo.application.name`, and so on for every key that has one value or a list: the path
///   in capitals, with `_` for `.` and `-`. It is stronger than the files and weaker than code. Keys below an id with other
///   characters than `A-Za-z0-9-_` cannot be set this way, and an id must be in a file.
/// - `${NAME:default}` in a file names any variable.
///
/// An empty variable is the same as none. Nothing looks a variable up later: what is not in here is not set.
///
/// ```
/// use dubbo::config::Environment;
///
/// let environment = Environment::of_process();
/// let for_a_test = Environment::from_iter([("DUBBO_APPLICATION_NAME", "test")]);
/// ```
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// The variables of ours whose values are no text.
    unreadable: Vec<String>,
}

impl Environment {
    /// The variables that this process has now.
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// The value of a variable, unless it is absent or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// A variable that is read by itself and not as a key.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            let message = format!("expected {expected}, found `{value}`");
            Problem::new(ProblemKind::Type, at(name), "", message)
        })
    }

    /// What a variable sets for a key such as `dubbo.application.name`.
    pub(super) fn node(&self, key: &str) -> Option<Node> {
        let name = variable(key.split('.'))?;
        Some(Node::scalar(self.get(&name)?, at(&name)))
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            let Ok(name) = name.into().into_string() else {
                continue;
            };
            match value.into().into_string() {
                Ok(value) => drop(environment.variables.insert(name, value)),
                Err(_) if name.starts_with(PREFIX) => environment.unreadable.push(name),
                Err(_) => {}
            }
        }
        environment
    }
}

/// Without names and values: passwords are among them.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.len())
            .finish_non_exhaustive()
    }
}

/// The environment laid over a configuration, with a note of which variables were of use.
#[derive(Debug)]
pub(super) struct EnvironmentOverlay<'e> {
    environment: &'e Environment,
    /// The variables that could have set something, with the keys they could have set.
    asked: RefCell<BTreeMap<String, BTreeSet<String>>>,
    /// The variables that set something below a key that takes nothing.
    refused: RefCell<BTreeSet<String>>,
}

impl<'e> EnvironmentOverlay<'e> {
    pub(super) fn new(environment: &'e Environment) -> Self {
        Self {
            environment,
            asked: RefCell::default(),
            refused: RefCell::default(),
        }
    }

    /// Notes the variables that set nothing or more than one key.
    pub(super) fn report(self, problems: &mut Problems) {
        let asked = self.asked.into_inner();
        let refused = self.refused.into_inner();
        for name in &self.environment.unreadable {
            let message = "the value is not UTF-8";
            problems.error(Problem::new(ProblemKind::Type, at(name), "", message));
        }
        let set = self.environment.variables.iter();
        for (name, value) in
            set.filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty())
        {
            match asked.get(name) {
                Some(keys) if keys.len() > 1 => {
                    let keys: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
                    let message = format!("it could set {}", keys.join(" and "));
                    problems.error(Problem::new(ProblemKind::Conflict, at(name), "", message));
                }
                Some(_) => {}
                None if refused.contains(name) || KNOWN.contains(&name.as_str()) => {}
                None if is_service_link(name, value) => {}
                None => {
                    let message = match without_id(name, asked.values().flatten()) {
                        Some(section) => format!(
                            "it sets nothing: `{section}` has no such id; the id must be in the file first"
                        ),
                        None => "it sets nothing: no key has this name".to_owned(),
                    };
                    let problem = Problem::new(ProblemKind::UnknownKey, at(name), "", message);
                    let suggestion = nearest(name, asked.keys().map(String::as_str));
                    problems.warn(problem.suggest(suggestion));
                }
            }
        }
    }
}

impl Overlay for EnvironmentOverlay<'_> {
    fn value(&self, path: &Path) -> Option<Node> {
        let name = variable(path.segments())?;
        let mut asked = self.asked.borrow_mut();
        asked
            .entry(name.clone())
            .or_default()
            .insert(path.to_string());
        let value = self.environment.get(&name)?;
        Some(Node::scalar(value, at(&name)))
    }

    fn below(&self, path: &Path) -> Option<Location> {
        let prefix = format!("{}_", variable(path.segments())?);
        let mut below: Vec<_> = self
            .environment
            .variables
            .range(prefix.clone()..)
            .take_while(|(name, _)| name.starts_with(&prefix))
            .filter(|(name, value)| !value.is_empty() && !is_service_link(name, value))
            .map(|(name, _)| name.clone())
            .collect();
        let first = below.first().map(|name| at(name));
        self.refused.borrow_mut().extend(below.drain(..));
        first
    }
}

/// The variable that sets the key at this path, unless its keys have characters that variables do not.
fn variable<S: AsRef<str>>(segments: impl IntoIterator<Item = S>) -> Option<String> {
    let mut name = String::new();
    for segment in segments {
        let segment = segment.as_ref();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if segment.is_empty() || !segment.chars().all(fits) {
            return None;
        }
        if !name.is_empty() {
            name.push('_');
        }
        name.push_str(&segment.to_ascii_uppercase().replace('-', "_"));
    }
    name.starts_with(PREFIX).then_some(name)
}

/// The section of ids that a variable means, if none of the `keys` is below an id that it could mean.
fn without_id<'k>(name: &str, keys: impl Iterator<Item = &'k String>) -> Option<&'static str> {
    let within = |path: &str| {
        let prefix = variable(path.split('.'))?;
        name.strip_prefix(&prefix)?.strip_prefix('_')
    };
    let section = SECTIONS.into_iter().find(|path| within(path).is_some())?;
    let is_below_its_id = |key: &String| {
        let id = key
            .strip_prefix(section)
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(|rest| rest.split('.').next());
        id.is_some_and(|id| within(&format!("{section}.{id}")).is_some())
    };
    let mut keys = keys;
    (!keys.any(is_below_its_id)).then_some(section)
}

/// Whether Kubernetes made the variable, for a service of the cluster whose name happens to begin with `dubbo`.
fn is_service_link(name: &str, value: &str) -> bool {
    let is_port = |(_, rest): (&str, &str)| {
        let (number, rest) = rest.split_once('_').unwrap_or((rest, ""));
        number.parse::<u16>().is_ok()
            && ["TCP", "UDP", "SCTP"]
                .iter()
                .any(|protocol| rest.starts_with(protocol))
    };
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name.ends_with("_PORT") && value.contains("://")
        || name.split_once("_PORT_").is_some_and(is_port)
}

fn at(name: &str) -> Location {
    Location::named(format!("environment variable {name}"))
}

/// How the variables begin that are ours.
const PREFIX: &str = "DUBBO_";

/// Where the keys are ids.
const SECTIONS: [&str; 4] = [
    "dubbo.protocols",
    "dubbo.registries",
    "dubbo.provider.services",
    "dubbo.consumer.references",
];

/// The variables that are read elsewhere.
const KNOWN: [&str; 4] = [
    "DUBBO_CONFIG_PATH",
    "DUBBO_GO_CONFIG_PATH",
    "DUBBO_IP_TO_REGISTRY",
    "DUBBO_PORT_TO_REGISTRY",
];
