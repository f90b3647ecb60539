//! What a configuration says about pages of other origins.

use std::time::Duration;

use dubbo_core::url::Url;
use http::{HeaderName, Method};

use super::origin::Pattern;

/// Which pages of other origins may use the services of a port, and how: the section `triple.cors` of a protocol
/// (`docs/spec/triple.md` §10.3). It travels in parameters of the URL that a port is opened with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorsSettings {
    /// `allow-origins`: where those pages are from. Without any there is no CORS, and browsers keep all of them away.
    pub allow_origins: Vec<String>,
    /// `allow-methods`: the methods of HTTP that they may use. By default those that the service has.
    pub allow_methods: Vec<String>,
    /// `allow-headers`: the headers that they may send. By default whichever they ask for.
    pub allow_headers: Vec<String>,
    /// `expose-headers`: the headers of answers that they may read beside the few that any page may.
    pub expose_headers: Vec<String>,
    /// `allow-credentials`: whether they may send cookies and the like.
    pub allow_credentials: bool,
    /// `max-age`: how long a browser may remember the answer to its question; zero leaves it to the browser.
    pub max_age: Duration,
}

/// A value of [`CorsSettings`] that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {reason}")]
#[non_exhaustive]
pub struct BadCorsSetting {
    /// The key, such as `allow-origins`.
    pub key: &'static str,
    /// The value, or that one of a list.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
}

impl CorsSettings {
    /// Nothing set: no CORS.
    pub fn new() -> Self {
        Self::default()
    }

    /// What of it cannot be used.
    pub fn check(&self) -> Vec<BadCorsSetting> {
        let mut bad = Vec::new();
        for origin in &self.allow_origins {
            if let Err(reason) = Pattern::read(origin) {
                bad.push(BadCorsSetting::new(ALLOW_ORIGINS, origin, reason));
            }
        }
        if self.allow_credentials && self.allow_origins.iter().any(|origin| origin == "*") {
            let reason = "cannot go together with `allow-credentials`, which would let every page act for its visitor; list \
                          the origins";
            bad.push(BadCorsSetting::new(ALLOW_ORIGINS, "*", reason));
        }
        for method in &self.allow_methods {
            if method == "*" || Method::from_bytes(method.as_bytes()).is_err() {
                let reason = "is no method of HTTP";
                bad.push(BadCorsSetting::new(ALLOW_METHODS, method, reason));
            }
        }
        for (key, names) in [
            (ALLOW_HEADERS, &self.allow_headers),
            (EXPOSE_HEADERS, &self.expose_headers),
        ] {
            for name in names {
                if name == "*" && self.allow_credentials {
                    let reason = "is an ordinary name to browsers together with `allow-credentials`; list the names";
                    bad.push(BadCorsSetting::new(key, name, reason));
                } else if name != "*" && HeaderName::from_bytes(name.as_bytes()).is_err() {
                    let reason = "is no name of a header";
                    bad.push(BadCorsSetting::new(key, name, reason));
                }
            }
        }
        bad
    }

    /// Whether anything but the origins is set, which has no effect without them.
    pub fn is_off_but_set(&self) -> bool {
        let off = Self {
            allow_origins: self.allow_origins.clone(),
            ..Self::default()
        };
        self.allow_origins.is_empty() && *self != off
    }

    /// The parameters that say so; none without origins.
    pub fn params(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let is_on = !self.allow_origins.is_empty();
        let texts = self.texts().into_iter();
        texts.filter(move |(_, text)| is_on && !text.is_empty())
    }

    /// What each parameter is; empty for the default.
    pub(super) fn texts(&self) -> [(&'static str, String); 6] {
        let seconds = self.max_age.as_secs();
        let yes = if self.allow_credentials { "true" } else { "" };
        [
            (PARAM_ORIGINS, self.allow_origins.join(",")),
            (PARAM_METHODS, self.allow_methods.join(",")),
            (PARAM_HEADERS, self.allow_headers.join(",")),
            (PARAM_EXPOSE, self.expose_headers.join(",")),
            (PARAM_CREDENTIALS, yes.to_owned()),
            (
                PARAM_MAX_AGE,
                Some(seconds.to_string())
                    .filter(|_| seconds > 0)
                    .unwrap_or_default(),
            ),
        ]
    }

    /// What the parameters of `url` say.
    ///
    /// # Errors
    ///
    /// A parameter with a bad value.
    pub(in crate::triple::server) fn of(url: &Url) -> Result<Self, String> {
        let list = |name| -> Vec<String> {
            let texts = url.param(name).unwrap_or_default().split(',');
            let texts = texts.map(str::trim).filter(|text| !text.is_empty());
            texts.map(str::to_owned).collect()
        };
        let number = |name| match url.param(name) {
            None => Ok(0),
            Some(text) => text
                .parse()
                .map_err(|_| format!("`{name}` is no number of seconds: {text:?}")),
        };
        Ok(Self {
            allow_origins: list(PARAM_ORIGINS),
            allow_methods: list(PARAM_METHODS),
            allow_headers: list(PARAM_HEADERS),
            expose_headers: list(PARAM_EXPOSE),
            allow_credentials: match url.param(PARAM_CREDENTIALS) {
                None | Some("false") => false,
                Some("true") => true,
                Some(other) => {
                    let text =
                        format!("`{PARAM_CREDENTIALS}` is neither `true` nor `false`: {other:?}");
                    return Err(text);
                }
            },
            max_age: Duration::from_secs(number(PARAM_MAX_AGE)?),
        })
    }
}

impl BadCorsSetting {
    fn new(key: &'static str, value: &str, reason: &str) -> Self {
        Self {
            key,
            value: value.to_owned(),
            reason: format!("`{value}` {reason}"),
        }
    }
}

const ALLOW_ORIGINS: &str = "allow-origins";
const ALLOW_METHODS: &str = "allow-methods";
const ALLOW_HEADERS: &str = "allow-headers";
const EXPOSE_HEADERS: &str = "expose-headers";

pub(super) const PARAM_ORIGINS: &str = ".cors.allow-origins";
const PARAM_METHODS: &str = ".cors.allow-methods";
const PARAM_HEADERS: &str = ".cors.allow-headers";
const PARAM_EXPOSE: &str = ".cors.expose-headers";
const PARAM_CREDENTIALS: &str = ".cors.allow-credentials";
const PARAM_MAX_AGE: &str = ".cors.max-age";

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn settings_travel_in_a_url() {
        let settings = CorsSettings {
            allow_origins: texts(&["https://a.test", "*.b.test:8080"]),
            allow_methods: texts(&["get", "POST"]),
            allow_headers: texts(&["x-a", "x-b"]),
            expose_headers: texts(&["x-c"]),
            allow_credentials: true,
            max_age: Duration::from_mins(10),
        };
        let url = Url::new("tri", "h").with_params(settings.params());
        assert_eq!(CorsSettings::of(&url), Ok(settings.clone()));
        let plain = Url::new("tri", "h");
        assert_eq!(CorsSettings::of(&plain), Ok(CorsSettings::new()));
        let off = CorsSettings {
            allow_origins: Vec::new(),
            ..settings
        };
        assert!(off.is_off_but_set() && off.params().next().is_none());
        assert!(!CorsSettings::new().is_off_but_set());
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let any = || CorsSettings {
            allow_origins: texts(&["*"]),
            ..CorsSettings::new()
        };
        for (settings, key, value) in [
            (
                CorsSettings {
                    allow_origins: texts(&["https://a.test", "https://*"]),
                    ..any()
                },
                ALLOW_ORIGINS,
                "https://*",
            ),
            (
                CorsSettings {
                    allow_credentials: true,
                    ..any()
                },
                ALLOW_ORIGINS,
                "*",
            ),
            (
                CorsSettings {
                    allow_methods: texts(&["*"]),
                    ..any()
                },
                ALLOW_METHODS,
                "*",
            ),
            (
                CorsSettings {
                    allow_headers: texts(&["*", "x y"]),
                    ..any()
                },
                ALLOW_HEADERS,
                "x y",
            ),
            (
                CorsSettings {
                    allow_origins: texts(&["https://a.test"]),
                    expose_headers: texts(&["*"]),
                    allow_credentials: true,
                    ..any()
                },
                EXPOSE_HEADERS,
                "*",
            ),
        ] {
            let bad = settings.check();
            let names: Vec<_> = bad.iter().map(|bad| (bad.key, &*bad.value)).collect();
            assert_eq!(names, [(key, value)], "{settings:?}");
        }
    }

    #[test]
    fn a_url_with_bad_parameters_says_which() {
        for (param, value) in [(PARAM_CREDENTIALS, "maybe"), (PARAM_MAX_AGE, "soon")] {
            let url = Url::new("tri", "h").with_param(param, value);
            let error = CorsSettings::of(&url).expect_err("refused");
            assert!(error.contains(param) && error.contains(value), "{error}");
        }
    }
}
