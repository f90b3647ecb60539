//! What a document says beside its services, and where pages show it.

use std::collections::BTreeMap;

/// How documents are made and shown (`docs/spec/config.md` §1.9, `triple.openapi`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The path that the pages are below, with its leading slash: `/dubbo/openapi`.
    pub path: String,
    /// `info.title`: `Dubbo-rust OpenAPI`.
    pub title: String,
    /// `info.description`: `Dubbo-rust OpenAPI`.
    pub description: String,
    /// `info.version`: `1.0.0`.
    pub version: String,
    /// The media types of requests: `application/json`.
    pub consumes: Vec<String>,
    /// The media types of answers: `application/json`.
    pub produces: Vec<String>,
    /// The HTTP statuses that every method is said to answer with: 200, 400, 500. Those from 200 to 299 have the method's
    /// result, the others a description.
    pub statuses: Vec<String>,
    /// `swagger-ui.cdn`: where the files of Swagger UI come from.
    pub swagger_ui: String,
    /// `redoc.cdn`: where the file of Redoc comes from.
    pub redoc: String,
    /// `swagger-ui.settings.*`: what the page tells Swagger UI, by the rest of the key. A value that is JSON is one;
    /// another is a text.
    pub swagger_ui_settings: BTreeMap<String, String>,
}

impl Settings {
    /// The first part of the keys of [`swagger_ui_settings`](Self::swagger_ui_settings).
    pub const SWAGGER_UI_SETTINGS: &'static str = "swagger-ui.settings.";

    /// Takes one of the `settings` of the pages.
    ///
    /// # Errors
    ///
    /// No page has a setting of that name.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), UnknownSetting> {
        let address = || value.trim_end_matches('/').to_owned();
        match (key, key.strip_prefix(Self::SWAGGER_UI_SETTINGS)) {
            (SWAGGER_UI_CDN, _) => self.swagger_ui = address(),
            (REDOC_CDN, _) => self.redoc = address(),
            (_, Some(name)) if !name.is_empty() => {
                let settings = &mut self.swagger_ui_settings;
                settings.insert(name.to_owned(), value.to_owned());
            }
            _ => return Err(UnknownSetting(key.to_owned())),
        }
        Ok(())
    }
}

impl Default for Settings {
    fn default() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Self {
            path: PATH.to_owned(),
            title: TITLE.to_owned(),
            description: TITLE.to_owned(),
            version: "1.0.0".to_owned(),
            consumes: texts(&[JSON]),
            produces: texts(&[JSON]),
            statuses: texts(&["200", "400", "500"]),
            swagger_ui: "https://unpkg.com/swagger-ui-dist@5.18.2".to_owned(),
            redoc: "https://cdn.redoc.ly/redoc/latest/bundles".to_owned(),
            swagger_ui_settings: BTreeMap::new(),
        }
    }
}

/// A setting that no page has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no setting of the pages; there are `{SWAGGER_UI_CDN}`, `{SWAGGER_UI_SETTINGS}*` and `{REDOC_CDN}`", SWAGGER_UI_SETTINGS = Settings::SWAGGER_UI_SETTINGS)]
pub struct UnknownSetting(String);

const JSON: &str = "application/json";
const PATH: &str = "/dubbo/openapi";
const TITLE: &str = "Dubbo-rust OpenAPI";

const SWAGGER_UI_CDN: &str = "swagger-ui.cdn";
const REDOC_CDN: &str = "redoc.cdn";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_three_kinds_of_settings() {
        let mut settings = Settings::default();
        for (key, value) in [
            ("swagger-ui.cdn", "https://cdn.example/ui/"),
            ("redoc.cdn", "https://cdn.example/redoc"),
            ("swagger-ui.settings.docExpansion", "none"),
        ] {
            assert_eq!(settings.set(key, value), Ok(()), "{key}");
        }
        assert_eq!(settings.swagger_ui, "https://cdn.example/ui");
        assert_eq!(settings.redoc, "https://cdn.example/redoc");
        assert_eq!(settings.swagger_ui_settings["docExpansion"], "none");
        for key in ["swagger-ui", "swagger-ui.settings.", "redoc", ""] {
            let error = settings.set(key, "x").expect_err(key);
            assert!(error.to_string().contains("redoc.cdn"), "{error}");
        }
    }
}
