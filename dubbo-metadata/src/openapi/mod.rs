//! OpenAPI documents of what an application serves, and the pages that show them (`docs/spec/triple.md` §10.4).
//!
//! A document is made of the descriptors of services: for a service of a proto file they say everything, for a Java
//! interface its signatures and, as far as they are known, its classes. It has a `POST /{interface}/{method}` for each method
//! that is no stream; group and version are headers. Messages are described in the JSON that this project writes.
//!
//! | file | what |
//! |---|---|
//! | `service` | services, and which of them are wanted |
//! | `settings` | what is said beside them |
//! | `document` | the document, method by method |
//! | `schema` | its schemas |
//! | `tree`, `yaml` | how it is kept and written |
//! | `pages`, `ui` | what a server shows |
//!
//! ```
//! use std::sync::Arc;
//! use dubbo_core::service::{CallKind, MethodDescriptor, ServiceDescriptor};
//! use dubbo_metadata::openapi::{DEFAULT_GROUP, Documented, Filter, Format, OpenApi, Settings, Version};
//!
//! let greet = MethodDescriptor::java("greet", CallKind::Unary, ["java.lang.String"], "java.lang.String");
//! let service = Documented {
//!     key: "com.example.Greeter".parse()?,
//!     group: DEFAULT_GROUP.to_owned(),
//!     descriptor: Arc::new(ServiceDescriptor::new("com.example.Greeter", vec![greet])),
//! };
//! let api = OpenApi::new(Settings::default(), vec![service]);
//! let document = api.document(&Filter::default(), Version::V3_1_0).expect("a service fits");
//! assert!(document.write(Format::Yaml).contains("/com.example.Greeter/greet:"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod document;
mod pages;
mod schema;
mod service;
mod settings;
mod tree;
mod ui;
mod version;
mod yaml;

use self::document::Described;
pub use self::{
    document::Document,
    pages::{NOT_AVAILABLE, NoPages, OpenApiPages},
    service::{DEFAULT_GROUP, Documented, Filter},
    settings::{Settings, UnknownSetting},
    version::{Format, UnknownVersion, Version},
};

/// The documents of an application, or of one of its servers.
#[derive(Debug, Clone)]
pub struct OpenApi {
    settings: Settings,
    services: Vec<Described>,
}

impl OpenApi {
    /// Documents about `services`.
    pub fn new(settings: Settings, services: Vec<Documented>) -> Self {
        Self {
            settings,
            services: document::describe(services),
        }
    }

    /// How they are made.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The groups of documents: the default one, which may be empty, then the others in the order of their names.
    pub fn groups(&self) -> Vec<&str> {
        let services = self.services.iter();
        let groups = services.map(|service| &*service.documented.group);
        let mut groups: Vec<_> = groups.filter(|group| *group != DEFAULT_GROUP).collect();
        groups.sort_unstable();
        groups.dedup();
        groups.insert(0, DEFAULT_GROUP);
        groups
    }

    /// The document about the services that `filter` takes; `None` when it takes none.
    pub fn document(&self, filter: &Filter, version: Version) -> Option<Document> {
        let services = self.services.iter();
        let services = services.filter(|service| filter.takes(&service.documented));
        let services: Vec<_> = services.collect();
        (!services.is_empty()).then(|| Document::of(&self.settings, &services, version))
    }

    /// The document of a group; one that no service is in has nothing in it.
    pub fn document_of_group(&self, group: &str, version: Version) -> Document {
        let services = self.services.iter();
        let services = services.filter(|service| service.documented.group == group);
        Document::of(&self.settings, &services.collect::<Vec<_>>(), version)
    }
}

#[cfg(test)]
mod tests;
