//! A document: what it says of each service and each method.

use std::{collections::BTreeMap, sync::Arc};

use dubbo_core::service::{CallKind, MethodDescriptor};

use super::{
    Documented, Format, Settings, Version,
    schema::{Schemas, ServiceFile, Universe, any_of, source_name},
    tree::{Map, Node},
    yaml,
};

/// An OpenAPI document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document(Node);

impl Document {
    /// What `services` answer to.
    pub(super) fn of(settings: &Settings, services: &[&Described], version: Version) -> Self {
        let descriptors = services.iter();
        let descriptors = descriptors.map(|service| &*service.documented.descriptor);
        let mut schemas = Schemas::new(version, descriptors);
        let (mut tags, mut paths) = (Vec::new(), Map::default());
        for (interface, variants) in by_interface(services) {
            tags.push(tag(interface, &variants));
            for name in methods(&variants) {
                let operation = operation(settings, &mut schemas, interface, name, &variants);
                let path = Map::default().with("post", operation);
                paths = paths.with(format!("/{interface}/{name}"), path);
            }
        }
        let info = Map::default()
            .with("title", &*settings.title)
            .with_any("description", &*settings.description)
            .with("version", &*settings.version);
        let components: Map = schemas.into_components().into_iter().collect();
        let components = Map::default().with_any("schemas", components);
        let document = Map::default()
            .with("openapi", version.as_str())
            .with("info", info)
            .with_any("tags", tags)
            .with("paths", paths)
            .with_any("components", components);
        Self(document.into())
    }

    /// The document as text.
    pub fn write(&self, format: Format) -> String {
        match format {
            Format::Json => json(serde_json::to_string(&self.0)),
            Format::PrettyJson => json(serde_json::to_string_pretty(&self.0)),
            Format::Yaml => yaml::write(&self.0),
        }
    }
}

fn json(written: serde_json::Result<String>) -> String {
    written.expect("invariant: texts, numbers and maps keyed by text are JSON")
}

/// A service, and where its messages are described.
///
/// One of those of its interface: they differ in group and version.
#[derive(Debug, Clone)]
pub(super) struct Described {
    pub(super) documented: Documented,
    universe: Option<Arc<Universe>>,
}

/// Reads what the file descriptors of `services` say.
pub(super) fn describe(services: Vec<Documented>) -> Vec<Described> {
    let sets = services.iter();
    let sets = sets.filter_map(|service| service.descriptor.file_descriptor_set());
    let mut universes = Universe::of(sets).into_iter();
    services
        .into_iter()
        .map(|documented| {
            let set = documented.descriptor.file_descriptor_set();
            let universe = set.and_then(|_| universes.next()).and_then(|read| {
                read.inspect_err(|error| {
                    let service = &documented.key;
                    tracing::warn!(%service, %error, "its file descriptors cannot be read: OpenAPI shows no messages");
                })
                .ok()
            });
            Described {
                documented,
                universe,
            }
        })
        .collect()
}

impl Described {
    /// Its methods called `name` that plain HTTP has a form for.
    fn unary(&self, name: &str) -> impl Iterator<Item = &MethodDescriptor> {
        let methods = self.documented.descriptor.methods().iter();
        methods.filter(move |method| method.name == name && method.kind == CallKind::Unary)
    }

    fn file(&self) -> Option<ServiceFile<'_>> {
        let interface = self.documented.descriptor.interface();
        self.universe.as_ref()?.service(interface)
    }

    /// What `method` takes; nothing when it takes nothing.
    fn request(&self, schemas: &mut Schemas, method: &MethodDescriptor) -> Option<Map> {
        let Some(java) = &method.java else {
            return Some(self.message(schemas, &method.input));
        };
        let mut arguments: Vec<_> = if let Some(declared) = java.declaration() {
            let parameters = declared.parameters.iter();
            parameters.map(|name| schemas.java(name)).collect()
        } else {
            let parameters = java.parameters().iter();
            let parameters = parameters.map(|name| source_name(name));
            parameters.map(|name| schemas.java(&name)).collect()
        };
        match arguments.len() {
            0 => None,
            // One argument stands for itself (`docs/spec/triple.md` §5.5).
            1 => arguments.pop(),
            _ => Some(schemas.tuple(arguments)),
        }
    }

    /// What `method` answers with; nothing when it answers with nothing.
    fn response(&self, schemas: &mut Schemas, method: &MethodDescriptor) -> Option<Map> {
        let Some(java) = &method.java else {
            return Some(self.message(schemas, &method.output));
        };
        let result = match java.declaration() {
            Some(declared) => declared.result.to_string(),
            None => source_name(&method.output),
        };
        (!matches!(&*result, "" | "void" | "java.lang.Void")).then(|| schemas.java(&result))
    }

    fn message(&self, schemas: &mut Schemas, name: &str) -> Map {
        match &self.universe {
            Some(universe) => schemas.proto(universe, name),
            None => Map::default().with("type", "object"),
        }
    }
}

fn by_interface<'d>(services: &[&'d Described]) -> BTreeMap<&'d str, Vec<&'d Described>> {
    let mut by_interface: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for service in services {
        let interface = service.documented.key.interface();
        by_interface.entry(interface).or_default().push(*service);
    }
    by_interface
}

/// The names of the methods that have a path, each once, in the order of the definition.
fn methods<'d>(variants: &[&'d Described]) -> Vec<&'d str> {
    let mut names = Vec::new();
    for variant in variants {
        for name in variant.documented.descriptor.method_names() {
            if !names.contains(&name) && variant.unary(name).next().is_some() {
                names.push(name);
            }
        }
    }
    names
}

fn tag(interface: &str, variants: &[&Described]) -> Map {
    let files = || variants.iter().filter_map(|variant| variant.file());
    let comment = files().find_map(|file| file.comment().map(str::to_owned));
    let streams = |takes_stream: bool| {
        let methods = variants
            .iter()
            .flat_map(|variant| variant.documented.descriptor.methods());
        let mut names = Vec::new();
        for method in methods.filter(|method| method.kind != CallKind::Unary) {
            let name = format!("`{}`", method.name);
            if method.kind.streams_requests() == takes_stream && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    };
    let mut text: Vec<String> = comment.into_iter().collect();
    for (takes_stream, about) in [
        (
            false,
            "Streams of answers, each an event of `text/event-stream` to a request in JSON",
        ),
        (
            true,
            "Streams of requests, which take a client of gRPC or Dubbo",
        ),
    ] {
        let names = streams(takes_stream);
        if !names.is_empty() {
            text.push(format!("{about}: {names}."));
        }
    }
    Map::default()
        .with("name", interface)
        .with_any("description", text.join("\n\n"))
}

fn operation(
    settings: &Settings,
    schemas: &mut Schemas,
    interface: &str,
    name: &str,
    variants: &[&Described],
) -> Map {
    let (mut requests, mut responses, mut takes_nothing) = (Vec::new(), Vec::new(), false);
    for variant in variants {
        for method in variant.unary(name) {
            match variant.request(schemas, method) {
                Some(request) => requests.push(request),
                None => takes_nothing = true,
            }
            responses.extend(variant.response(schemas, method));
        }
    }
    let request = (!requests.is_empty()).then(|| {
        Map::default()
            .with_some("required", (!takes_nothing).then_some(true))
            .with("content", content(&settings.consumes, &any_of(requests)))
    });
    let result = (!responses.is_empty()).then(|| content(&settings.produces, &any_of(responses)));
    let responses: Map = settings
        .statuses
        .iter()
        .map(|status| (status, response(status, result.as_ref())))
        .collect();
    let files = || variants.iter().filter_map(|variant| variant.file());
    let comment = files().find_map(|file| file.method_comment(name).map(str::to_owned));
    let deprecated = files().any(|file| file.is_deprecated(name));
    Map::default()
        .with("tags", vec![interface])
        .with_some("description", comment)
        .with("operationId", format!("{interface}.{name}"))
        .with_any("parameters", parameters(variants, name))
        .with_some("requestBody", request)
        .with("responses", responses)
        .with_some("deprecated", deprecated.then_some(true))
}

/// The headers that say which of the services of one interface is called.
fn parameters(variants: &[&Described], method: &str) -> Vec<Map> {
    let keys: Vec<_> = variants
        .iter()
        .filter(|variant| variant.unary(method).next().is_some())
        .map(|variant| &variant.documented.key)
        .collect();
    let groups = keys.iter().map(|key| key.group()).collect();
    let versions = keys.iter().map(|key| key.version()).collect();
    [
        header("tri-service-group", "The group of the service.", groups),
        header(
            "tri-service-version",
            "The version of the service.",
            versions,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A header with one of `values`; none is a service that is called without it.
fn header(name: &str, description: &str, values: Vec<Option<&str>>) -> Option<Map> {
    let required = values.iter().all(Option::is_some);
    let mut known: Vec<_> = values.into_iter().flatten().collect();
    known.sort_unstable();
    known.dedup();
    (!known.is_empty()).then(|| {
        Map::default()
            .with("name", name)
            .with("in", "header")
            .with("description", description)
            .with_some("required", required.then_some(true))
            .with(
                "schema",
                Map::default().with("type", "string").with("enum", known),
            )
    })
}

fn response(status: &str, result: Option<&Map>) -> Map {
    let result = result.filter(|_| status.starts_with('2'));
    Map::default()
        .with("description", reason(status))
        .with_some("content", result.cloned())
}

fn content(media_types: &[String], schema: &Map) -> Map {
    let media_types = media_types.iter();
    media_types
        .map(|media_type| (media_type, Map::default().with("schema", schema.clone())))
        .collect()
}

fn reason(status: &str) -> String {
    let known = REASONS.iter().find(|(known, _)| *known == status);
    known.map_or_else(
        || match status {
            "default" => "Any other status".to_owned(),
            status => format!("HTTP status {status}"),
        },
        |(_, reason)| (*reason).to_owned(),
    )
}

/// The statuses that stand for a code of gRPC (`docs/spec/triple.md` §5.3), and those of HTTP itself.
const REASONS: [(&str, &str); 14] = [
    ("200", "OK"),
    ("400", "Bad Request"),
    ("401", "Unauthorized"),
    ("403", "Forbidden"),
    ("404", "Not Found"),
    ("408", "Request Timeout"),
    ("409", "Conflict"),
    ("412", "Precondition Failed"),
    ("413", "Content Too Large"),
    ("415", "Unsupported Media Type"),
    ("429", "Too Many Requests"),
    ("500", "Internal Server Error"),
    ("503", "Service Unavailable"),
    ("504", "Gateway Timeout"),
];
