use std::time::Duration;

use dubbo_core::yaml::Section;
use dubbo_protocol::CorsSettings;

use super::settings;

settings! {
    /// `triple.cors` of a protocol: which pages of other origins may use its services from a browser, without gRPC or with
    /// gRPC-Web, and what is mounted beside them (`docs/spec/triple.md` §10.3).
    pub struct CorsConfig {
        /// `allow-origins`: where those pages are from: `https://shop.example.com`, `https://*.example.com` for what is
        /// below, a host alone for any scheme and port, or `*` for every page there is. Without any there is no CORS, and
        /// browsers keep all of them away.
        allow_origins: Option<Vec<String>>,
        /// `allow-methods`: the methods of HTTP that they may use, by default those that there are.
        allow_methods: Option<Vec<String>>,
        /// `allow-headers`: the headers that they may send, by default whichever they ask for.
        allow_headers: Option<Vec<String>>,
        /// `expose-headers`: the headers of answers that they may read, beside those that every page may and those with the
        /// outcome of a call of gRPC-Web.
        expose_headers: Option<Vec<String>>,
        /// `allow-credentials`, by default false: whether they may send cookies and the like. Not together with `*`.
        allow_credentials: Option<bool>,
        /// `max-age`, by default up to the browser: how long it may remember what they may do. A bare number counts seconds.
        max_age: Option<Duration>,
    }
}

impl CorsConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            allow_origins: s.list("allow-origins"),
            allow_methods: s.list("allow-methods"),
            allow_headers: s.list("allow-headers"),
            expose_headers: s.list("expose-headers"),
            allow_credentials: s.bool("allow-credentials"),
            max_age: s.duration_in_seconds("max-age"),
        }
    }

    /// All of it, the defaults applied.
    pub(crate) fn resolve(&self) -> CorsSettings {
        let list = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
        let mut settings = CorsSettings::new();
        settings.allow_origins = list(&self.allow_origins);
        settings.allow_methods = list(&self.allow_methods);
        settings.allow_headers = list(&self.allow_headers);
        settings.expose_headers = list(&self.expose_headers);
        settings.allow_credentials = self.allow_credentials.unwrap_or(false);
        settings.max_age = self.max_age.unwrap_or_default();
        settings
    }
}
