use std::collections::BTreeMap;

use dubbo_core::yaml::Section;
use dubbo_metadata::openapi::Settings;

use super::settings;

settings! {
    /// `triple.openapi` of a protocol: documents of its services, and pages that show them, on its port
    /// (`docs/spec/triple.md` §10.4).
    pub struct OpenApiConfig {
        /// `enabled`, by default false: whether there are any, and whether the metadata service gives them. While there
        /// are none, their address says so.
        enabled: Option<bool>,
        /// `path`, by default `/dubbo/openapi`: what the pages are below.
        path: Option<String>,
        /// `info-title`, by default `Dubbo-rust OpenAPI`.
        info_title: Option<String>,
        /// `info-description`, by default `Dubbo-rust OpenAPI`.
        info_description: Option<String>,
        /// `info-version`, by default `1.0.0`: the version of what is described.
        info_version: Option<String>,
        /// `default-consumes-media-types`, by default `application/json`: those of requests, of every method.
        default_consumes_media_types: Option<Vec<String>>,
        /// `default-produces-media-types`, by default `application/json`: those of answers, of every method.
        default_produces_media_types: Option<Vec<String>>,
        /// `default-http-status-codes`, by default 200, 400 and 500: what every method is said to answer with; `default` is
        /// any other.
        default_http_status_codes: Option<Vec<String>>,
        /// `settings`: where the pages get their programs from, `swagger-ui.cdn` and `redoc.cdn`, and what Swagger UI is
        /// told, `swagger-ui.settings.<its setting>`.
        settings[setting]: BTreeMap<String, String>,
    }
}

impl OpenApiConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            enabled: s.bool("enabled"),
            path: s.string("path"),
            info_title: s.string("info-title"),
            info_description: s.string("info-description"),
            info_version: s.string("info-version"),
            default_consumes_media_types: s.list("default-consumes-media-types"),
            default_produces_media_types: s.list("default-produces-media-types"),
            default_http_status_codes: s.list("default-http-status-codes"),
            settings: s.texts("settings"),
        }
    }

    /// All of it, the defaults applied.
    ///
    /// # Errors
    ///
    /// Each value that cannot be used.
    pub(crate) fn resolve(&self) -> Result<Settings, Vec<BadValue>> {
        let mut settings = Settings::default();
        let mut bad = Vec::new();
        if let Some(path) = &self.path {
            match clean(path) {
                Some(path) => settings.path = path,
                None => bad.push(BadValue::new("path", path, "is no path of a page")),
            }
        }
        for (field, value) in [
            (&mut settings.title, &self.info_title),
            (&mut settings.description, &self.info_description),
            (&mut settings.version, &self.info_version),
        ] {
            if let Some(value) = value {
                field.clone_from(value);
            }
        }
        for (key, field, list, check, what) in [
            (
                "default-consumes-media-types",
                &mut settings.consumes,
                &self.default_consumes_media_types,
                is_media_type as fn(&str) -> bool,
                "is no media type",
            ),
            (
                "default-produces-media-types",
                &mut settings.produces,
                &self.default_produces_media_types,
                is_media_type,
                "is no media type",
            ),
            (
                "default-http-status-codes",
                &mut settings.statuses,
                &self.default_http_status_codes,
                is_status,
                "is no HTTP status: a number from 100 to 599, or `default`",
            ),
        ] {
            // An empty list is none, as in dubbo-go.
            let Some(list) = list.as_ref().filter(|list| !list.is_empty()) else {
                continue;
            };
            let wrong = list.iter().filter(|item| !check(item));
            bad.extend(wrong.map(|item| BadValue::new(key, item, what)));
            field.clone_from(list);
        }
        for (key, value) in &self.settings {
            if let Err(error) = settings.set(key, value) {
                bad.push(BadValue {
                    key: format!("settings.{key}"),
                    value: value.clone(),
                    message: error.to_string(),
                });
            }
        }
        if bad.is_empty() {
            Ok(settings)
        } else {
            Err(bad)
        }
    }
}

/// A value that cannot be used.
pub(crate) struct BadValue {
    /// Below `openapi`.
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) message: String,
}

impl BadValue {
    fn new(key: &str, value: &str, what: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
            message: format!("`{value}` {what}"),
        }
    }
}

/// `path` with one slash before each of its parts; `None` when it has none, or one that would not arrive as it is.
fn clean(path: &str) -> Option<String> {
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_sound = |part: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        part.bytes().all(plain) && part.bytes().any(|byte| byte != b'.')
    };
    let all = !parts.is_empty() && parts.iter().all(is_sound);
    all.then(|| format!("/{}", parts.join("/")))
}

fn is_media_type(text: &str) -> bool {
    let kind = text.split(';').next().unwrap_or_default().trim();
    let token = |part: &str| {
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&byte);
        !part.is_empty() && part.bytes().all(sound)
    };
    kind.split_once('/')
        .is_some_and(|(kind, sub)| token(kind) && token(sub))
}

fn is_status(text: &str) -> bool {
    text == "default" || (text.len() == 3 && matches!(text.parse(), Ok(100..=599_u16)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_set_is_the_defaults() {
        let settings = OpenApiConfig::new().resolve().ok().expect("sound");
        assert_eq!(settings, Settings::default());
        let empty = OpenApiConfig::new()
            .default_http_status_codes([""; 0])
            .default_consumes_media_types([""; 0]);
        assert_eq!(empty.resolve().ok(), Some(Settings::default()));
    }

    #[test]
    fn every_key_has_its_effect() {
        let config = OpenApiConfig::new()
            .path("docs//api/")
            .info_title("Shop")
            .info_description("Orders")
            .info_version("2.1")
            .default_consumes_media_types(["application/json", "text/json; charset=utf-8"])
            .default_produces_media_types(["application/vnd.shop+json"])
            .default_http_status_codes(["200", "404", "default"])
            .setting("redoc.cdn", "https://cdn.example")
            .setting("swagger-ui.cdn", "https://ui.example")
            .setting("swagger-ui.settings.filter", "true");
        let settings = config.resolve().ok().expect("sound");
        assert_eq!(settings.path, "/docs/api");
        assert_eq!(settings.title, "Shop");
        assert_eq!(settings.description, "Orders");
        assert_eq!(settings.version, "2.1");
        assert_eq!(
            settings.consumes,
            ["application/json", "text/json; charset=utf-8"]
        );
        assert_eq!(settings.produces, ["application/vnd.shop+json"]);
        assert_eq!(settings.statuses, ["200", "404", "default"]);
        assert_eq!(settings.redoc, "https://cdn.example");
        assert_eq!(settings.swagger_ui, "https://ui.example");
        assert_eq!(settings.swagger_ui_settings["filter"], "true");
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (config, key) in [
            (OpenApiConfig::new().path("/"), "path"),
            (OpenApiConfig::new().path("/a/../b"), "path"),
            (OpenApiConfig::new().path("/a b"), "path"),
            (OpenApiConfig::new().path("/a?b"), "path"),
            (
                OpenApiConfig::new().default_http_status_codes(["20"]),
                "default-http-status-codes",
            ),
            (
                OpenApiConfig::new().default_http_status_codes(["600"]),
                "default-http-status-codes",
            ),
            (
                OpenApiConfig::new().default_http_status_codes(["+20"]),
                "default-http-status-codes",
            ),
            (
                OpenApiConfig::new().default_produces_media_types(["json"]),
                "default-produces-media-types",
            ),
            (
                OpenApiConfig::new().default_consumes_media_types(["a/"]),
                "default-consumes-media-types",
            ),
            (
                OpenApiConfig::new().setting("swagger.cdn", "x"),
                "settings.swagger.cdn",
            ),
        ] {
            let bad = config.resolve().expect_err(key);
            let keys: Vec<_> = bad.iter().map(|bad| bad.key.as_str()).collect();
            assert_eq!(keys, [key], "{config:?}");
        }
    }
}
