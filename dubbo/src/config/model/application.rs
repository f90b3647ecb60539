use dubbo_core::yaml::{ProblemKind, Section};

use super::settings;

settings! {
    /// `dubbo.application`: what this program is called (`docs/spec/config.md` §1.8).
    ///
    /// All of it is published with every service, in the URL parameters named below. What is not set is not published;
    /// dubbo-go publishes sample values such as `organization=dubbo-go` there.
    pub struct ApplicationConfig {
        /// `name`, by default `dubbo.io`: the name in registries, in `application`, and in what consumers see.
        name: Option<String>,
        /// `organization`, published as `organization`.
        organization: Option<String>,
        /// `module`, published as `module`.
        module: Option<String>,
        /// `owner`, published as `owner`.
        owner: Option<String>,
        /// `environment`, published as `environment`.
        environment: Option<String>,
        /// `group`: the group of every service and reference that sets none.
        group: Option<String>,
        /// `version`: the version of every service and reference that sets none.
        version: Option<String>,
        /// `tag`, published as `application.tag`: the tag of every service that sets none.
        tag: Option<String>,
    }
}

impl<T: Into<String>> From<T> for ApplicationConfig {
    /// The application of this name.
    fn from(name: T) -> Self {
        Self::new().name(name)
    }
}

impl ApplicationConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        s.unsupported("metadata-service-port");
        s.unsupported("metadata-service-protocol");
        if let Some(kind) = s.string("metadata-type")
            && kind != "local"
        {
            let message = format!("`{kind}` is not supported yet; `local` is");
            s.error("metadata-type", ProblemKind::Unsupported, message);
        }
        Self {
            name: s.string("name"),
            organization: s.string("organization"),
            module: s.string("module"),
            owner: s.string("owner"),
            environment: s.string("environment"),
            group: s.string("group"),
            version: s.string("version"),
            tag: s.string("tag"),
        }
    }
}
