//! Types of proto files that have their Rust types elsewhere.

use std::collections::HashMap;

use prost_types::FileDescriptorProto;

use crate::{Error, proto::top_level_names};

/// Full proto names, with the leading dot, and the Rust paths that stand for them. The longest prefix wins.
#[derive(Debug, Clone)]
pub(crate) struct ExternPaths(Vec<(String, String)>);

impl ExternPaths {
    /// The paths that the user gave, and the well-known types below `core`.
    pub(crate) fn new(given: &[(String, String)], core: &str) -> Result<Self, Error> {
        for (index, (proto, rust)) in given.iter().enumerate() {
            let reason = if !proto.starts_with('.') || proto[1..].split('.').any(str::is_empty) {
                "a full proto name has a dot before every part, such as `.google.protobuf.Any`"
            } else if given[..index].iter().any(|(other, _)| other == proto) {
                "it was given before"
            } else if syn::parse_str::<syn::Type>(rust).is_err() {
                "what shall stand for it is no Rust path"
            } else {
                continue;
            };
            return Err(Error::Setting {
                setting: "extern_path",
                value: format!("{proto}, {rust}"),
                reason: reason.to_owned(),
            });
        }
        let mut paths = given.to_vec();
        if !paths.iter().any(|(proto, _)| proto == WELL_KNOWN) {
            paths.push((WELL_KNOWN.to_owned(), format!("{core}::pbjson_types")));
        }
        Ok(Self(paths))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(proto, rust)| (&**proto, &**rust))
    }

    /// Whether the type called `proto`, with the leading dot, lives elsewhere.
    pub(crate) fn contains(&self, proto: &str) -> bool {
        self.find(proto).is_some()
    }

    /// Whether `proto` is one of the well-known types, with the Rust type that they have by themselves.
    pub(crate) fn is_well_known(&self, proto: &str) -> bool {
        let found = self.iter().filter(|(prefix, _)| is_prefix(prefix, proto));
        let found = found.max_by_key(|(prefix, _)| prefix.len());
        found.is_some_and(|(prefix, rust)| prefix == WELL_KNOWN && rust.ends_with("::pbjson_types"))
    }

    /// The uses of types of `google.protobuf` that are not among the well-known ones: nothing here stands for them.
    pub(crate) fn unknown(&self, files: &[FileDescriptorProto]) -> Vec<String> {
        let foreign: HashMap<String, &str> = files
            .iter()
            .filter(|file| file.package().starts_with("google.protobuf"))
            .filter(|file| !WELL_KNOWN_FILES.contains(&file.name()))
            .flat_map(|file| {
                let name = move |name| (format!(".{}.{name}", file.package()), file.name());
                top_level_names(file).map(name)
            })
            .collect();
        let mut problems = Vec::new();
        for file in files
            .iter()
            .filter(|file| !file.package().starts_with("google.protobuf"))
        {
            for used in used_types(file) {
                let top = foreign.iter().find(|(top, _)| is_prefix(top, used));
                if let Some((_, defined)) = top
                    && self.find(used) == Some(WELL_KNOWN)
                {
                    problems.push(format!(
                        "{}: `{}` of {defined} is used, and no Rust type stands for it; name one with `extern_path`",
                        file.name(),
                        &used[1..]
                    ));
                }
            }
        }
        problems.sort();
        problems.dedup();
        problems
    }

    fn find(&self, proto: &str) -> Option<&str> {
        self.iter()
            .map(|(prefix, _)| prefix)
            .filter(|prefix| is_prefix(prefix, proto))
            .max_by_key(|prefix| prefix.len())
    }
}

fn is_prefix(prefix: &str, name: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn used_types(file: &FileDescriptorProto) -> Vec<&str> {
    let mut used = Vec::new();
    for method in file.service.iter().flat_map(|service| &service.method) {
        used.extend([method.input_type(), method.output_type()]);
    }
    let mut messages: Vec<_> = file.message_type.iter().collect();
    while let Some(message) = messages.pop() {
        used.extend(
            message
                .field
                .iter()
                .filter_map(|field| field.type_name.as_deref()),
        );
        messages.extend(&message.nested_type);
    }
    used
}

const WELL_KNOWN: &str = ".google.protobuf";

/// The files whose types pbjson-types has.
const WELL_KNOWN_FILES: [&str; 10] = [
    "google/protobuf/any.proto",
    "google/protobuf/api.proto",
    "google/protobuf/duration.proto",
    "google/protobuf/empty.proto",
    "google/protobuf/field_mask.proto",
    "google/protobuf/source_context.proto",
    "google/protobuf/struct.proto",
    "google/protobuf/timestamp.proto",
    "google/protobuf/type.proto",
    "google/protobuf/wrappers.proto",
];
