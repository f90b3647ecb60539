//! A configuration's document in a config center: where it is, and how it is read once, before anything runs.

use std::{fmt, path::Path, sync::Arc, thread, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use dubbo_core::{
    config_center::ConfigCenter,
    extension::{BoxError, Extensions},
    url::Url,
    yaml::{Location, Node, Problem, ProblemKind, Problems, Value},
};

use super::{Config, ConfigErrors, Draft, Format, defaults};
use crate::instance::registry_url;

/// A document in a config center, laid over the files.
///
/// Prints as messages call it: `nacos://10.0.0.1:8848/DEFAULT_GROUP/order-center`.
#[derive(Clone)]
pub struct CenterDocument {
    url: Url,
    name: String,
    data_id: String,
    group: String,
    format: Format,
    is_base64: bool,
    text: Option<Arc<str>>,
}

impl CenterDocument {
    /// The document that a configuration names, if it names one and there is a plugin for its center.
    pub(super) fn of(config: &Config, extensions: &Extensions) -> Option<Self> {
        let center = &config.config_center;
        let data_id = center.data_id.as_ref().filter(|id| !id.is_empty())?;
        let registry = center.as_registry()?;
        let plugin = registry.plugin()?;
        if !extensions.contains::<dyn ConfigCenter>(plugin) {
            return None;
        }
        let is_nacos = plugin.eq_ignore_ascii_case("nacos");
        let group = if is_nacos { "DEFAULT_GROUP" } else { "dubbo" };
        let group = center.group.clone().unwrap_or_else(|| group.to_owned());
        let host = registry.hosts().first().copied().unwrap_or_default();
        let format = center.file_extension;
        let param = |key: &str| center.params.get(key).map(String::as_str);
        Some(Self {
            url: registry_url("config-center", &registry, &config.metadata),
            name: format!("{plugin}://{host}/{group}/{data_id}"),
            data_id: data_id.clone(),
            group,
            format: format
                .or_else(|| Format::of_extension(Path::new(data_id).extension()?.to_str()?))
                .unwrap_or_default(),
            is_base64: param(BASE64) == Some("true"),
            text: None,
        })
    }

    /// The center, as its plugin is to be made for it.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The key of the document in the center.
    pub fn data_id(&self) -> &str {
        &self.data_id
    }

    /// The group of the document in the center.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The text as it was when the configuration was first read; `None` if there was none, or it could not be had and is
    /// optional. It is as the center has it, so it may be in Base64.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The text proper of what the center has.
    pub(super) fn decoded(&self, text: &str) -> Result<String, Problem> {
        if !self.is_base64 {
            return Ok(text.to_owned());
        }
        let letters: String = text.split_ascii_whitespace().collect();
        let bytes = BASE64_STANDARD.decode(letters).map_err(BoxError::from);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(BoxError::from));
        text.map_err(|error| {
            let message =
                format!("not a text in Base64, which `params.{BASE64}` asks for: {error}");
            let at = Location::named(self.name.as_str());
            Problem::new(ProblemKind::Syntax, at, "", message)
        })
    }

    /// The layer without what has been decided before it could be read, of which it warns.
    pub(super) fn cleared(mut layer: Node, problems: &mut Problems) -> Node {
        let Value::Map(map) = &mut layer.value else {
            return layer;
        };
        let Some(root) = map.get_mut("dubbo") else {
            return layer;
        };
        if let Value::Map(sections) = &mut root.value {
            for key in ["config-center", "profiles"] {
                if let Some(entry) = sections.remove(key) {
                    let message = "has no effect in a document of a config center: it counts before that is read";
                    let path = format!("dubbo.{key}");
                    problems.warn(Problem::new(ProblemKind::NoEffect, entry.at, path, message));
                }
            }
        }
        layer
    }

    /// Reads the text, on a thread of its own: whoever builds an instance may be within a runtime or not.
    fn fetch(
        &self,
        extensions: &Extensions,
        timeout: Duration,
    ) -> Result<Option<Arc<str>>, BoxError> {
        let fetch = async {
            let center = extensions.create::<dyn ConfigCenter>(self.url.protocol(), &self.url)?;
            let text = tokio::time::timeout(timeout, center.get(&self.data_id, &self.group)).await;
            center.close().await;
            match text {
                Ok(text) => Ok::<_, BoxError>(text?),
                Err(_) => Err(format!("no answer within {timeout:?}").into()),
            }
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("config-center".to_owned());
            let thread = thread.spawn_scoped(scope, || {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                runtime.enable_all().build()?.block_on(fetch)
            })?;
            thread
                .join()
                .unwrap_or_else(|_| Err("its plugin panicked".into()))
        })
    }
}

impl fmt::Display for CenterDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Without the text and the credentials.
impl fmt::Debug for CenterDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CenterDocument").field(&self.name).finish()
    }
}

impl Draft {
    /// Lays the document of the config center over the files, if `config`, which is this draft's with what code adds, names
    /// one by `config-center.data-id`.
    ///
    /// Waits for the center, `config-center.timeout` at most. A document that cannot be had is a problem of the draft:
    /// an error, or with `config-center.params.optional: "true"` a warning.
    ///
    /// # Errors
    ///
    /// The document is not what its format says, or a file has become unreadable meanwhile.
    pub fn read_center(
        mut self,
        config: &Config,
        extensions: &Extensions,
    ) -> Result<Self, ConfigErrors> {
        let Some(mut document) = CenterDocument::of(config, extensions) else {
            return Ok(self);
        };
        let center = &config.config_center;
        let timeout = center.timeout.unwrap_or(defaults::CONFIG_CENTER_TIMEOUT);
        let why = match document.fetch(extensions, timeout) {
            Ok(Some(text)) => {
                document.text = Some(Arc::clone(&text));
                return self.sources.with_center(document).reread(Some(&text));
            }
            Ok(None) => "there is no such document".to_owned(),
            Err(error) => format!("it cannot be read: {error}"),
        };
        let is_optional = center.params.get(OPTIONAL).is_some_and(|it| it == "true");
        let advice = if is_optional {
            "; going on without it".to_owned()
        } else {
            format!("; set `params.{OPTIONAL}: \"true\"` to start without it")
        };
        let path = "dubbo.config-center.data-id";
        self.note(
            ProblemKind::Unreadable,
            path,
            format!("{document}: {why}{advice}"),
            !is_optional,
        );
        self.sources = self.sources.with_center(document);
        Ok(self)
    }
}

/// The parameter that says that the document is in Base64, as dubbo-go has it for ZooKeeper.
const BASE64: &str = "base64";

/// The parameter that lets a program start without the document.
const OPTIONAL: &str = "optional";

/// The parameters of a config center that are not its plugin's.
pub(super) const PARAMETERS: [&str; 2] = [BASE64, OPTIONAL];
