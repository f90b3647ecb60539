use dubbo_core::yaml::Section;

use super::settings;

settings! {
    /// `triple.reflection` of a protocol: whether gRPC's clients can ask for the proto files of its services
    /// (`docs/spec/triple.md` §10.2).
    pub struct ReflectionConfig {
        /// `enable`, by default true: whether they can. It holds for the port, and so for every service on it.
        enable: Option<bool>,
    }
}

impl ReflectionConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            enable: s.bool("enable"),
        }
    }

    /// What is said, as parameters of a URL. It is nobody's business but the server's.
    pub(crate) fn params(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let enable = self.enable.map(|enable| enable.to_string());
        enable
            .into_iter()
            .map(|enable| (".reflection.enable", enable))
    }
}
