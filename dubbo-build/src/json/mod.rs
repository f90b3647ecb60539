//! The JSON mapping of the messages: `serde` implementations from pbjson-build.
//!
//! They are written for a crate that depends on `serde` and `pbjson` and has no module or message of an unlucky name.
//! [`Absolute`] makes every path absolute, [`Null`] lets `null` stand for an absent field, and [`Exact`] has values in the form
//! of the protobuf JSON mapping where pbjson-build leaves it.

mod absolute;
mod exact;
mod null;

use std::collections::BTreeMap;

use prost_build::Module;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto};
use syn::visit_mut::VisitMut;

use self::{
    absolute::Absolute,
    exact::{Exact, Kinds},
    null::Null,
};
use crate::{Error, extern_paths::ExternPaths, proto::top_level_names};

/// Every proto file in the form that pbjson-build takes.
pub(crate) struct Mapping<'a> {
    /// Those without a package have got one: pbjson-build cannot do without.
    files: Vec<FileDescriptorProto>,
    nameless: Nameless,
    kinds: Kinds,
    elsewhere: &'a ExternPaths,
    core: &'a syn::Path,
}

impl<'a> Mapping<'a> {
    pub(crate) fn new(
        files: &[FileDescriptorProto],
        elsewhere: &'a ExternPaths,
        core: &'a syn::Path,
    ) -> Self {
        let nameless = Nameless::of(files);
        let mut files = files.to_vec();
        for file in &mut files {
            nameless.name(file);
        }
        Self {
            kinds: Kinds::of(&files, elsewhere),
            files,
            nameless,
            elsewhere,
            core,
        }
    }

    /// The implementations for the types of `module`.
    pub(crate) fn items(&self, module: &Module) -> Result<Vec<syn::Item>, Error> {
        let types = self.types_of(module);
        let mut builder = pbjson_build::Builder::new();
        builder.preserve_proto_field_names().exclude(
            self.elsewhere
                .iter()
                .map(|(proto, _)| self.nameless.full_name(proto)),
        );
        for file in &self.files {
            builder.register_file_descriptor(file.clone());
        }
        for (proto, rust) in self.paths_from(module) {
            builder.extern_path(proto, rust);
        }
        let failed = |reason: String| Error::Output {
            file: module.to_file_name_or("_"),
            reason: format!("its JSON mapping: {reason}"),
        };
        let written = builder
            .generate(&types, |_| Ok(Vec::new()))
            .map_err(|error| failed(error.to_string()))?;
        let text: Vec<u8> = written.into_iter().flat_map(|(_, text)| text).collect();
        let text = String::from_utf8_lossy(&text);
        let mut file = syn::parse_file(&text).map_err(|error| failed(error.to_string()))?;
        Absolute::new(self.core).visit_file_mut(&mut file);
        Null.visit_file_mut(&mut file);
        Exact::new(self.core, &self.kinds).visit_file_mut(&mut file);
        Ok(file.items)
    }

    /// The top-level types of `module`, with the leading dot.
    fn types_of(&self, module: &Module) -> Vec<String> {
        let here = self.files.iter().filter(|file| module_of(file) == *module);
        here.flat_map(|file| {
            top_level_names(file).map(|name| format!(".{}.{name}", file.package()))
        })
        .collect()
    }

    /// How code in `module` finds the types of each package: by paths that begin with `self` or `super`, which no name
    /// in the module can take over.
    fn paths_from(&self, module: &Module) -> BTreeMap<String, String> {
        let mut paths = BTreeMap::new();
        for file in &self.files {
            let package = format!(".{}", file.package());
            let there = module_of(file);
            let base = relative(module, &there);
            for message in &file.message_type {
                oneofs_with_a_suffix(message, &package, &base, &mut paths);
            }
            paths.insert(package, base);
        }
        for (proto, rust) in self.elsewhere.iter() {
            paths.insert(self.nameless.full_name(proto), rust.to_owned());
        }
        paths
    }
}

fn module_of(file: &FileDescriptorProto) -> Module {
    match file.package() {
        NO_PACKAGE => Module::from_protobuf_package_name(""),
        package => Module::from_protobuf_package_name(package),
    }
}

fn relative(from: &Module, to: &Module) -> String {
    let shared = from
        .parts()
        .zip(to.parts())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.len() - shared;
    let start = if up == 0 {
        vec!["self"]
    } else {
        vec!["super"; up]
    };
    let path: Vec<_> = start.into_iter().chain(to.parts().skip(shared)).collect();
    path.join("::")
}

/// Where a oneof and a nested type have one Rust name, prost adds a suffix to the oneof, and pbjson-build does not know.
fn oneofs_with_a_suffix(
    message: &DescriptorProto,
    proto_scope: &str,
    rust_scope: &str,
    paths: &mut BTreeMap<String, String>,
) {
    use heck::ToUpperCamelCase;

    let proto = format!("{proto_scope}.{}", message.name());
    let module = Module::from_protobuf_package_name(message.name());
    let rust = format!("{rust_scope}::{module}");
    let nested = message.nested_type.iter().map(DescriptorProto::name);
    let nested: Vec<_> = nested
        .chain(message.enum_type.iter().map(EnumDescriptorProto::name))
        .map(ToUpperCamelCase::to_upper_camel_case)
        .collect();
    for oneof in &message.oneof_decl {
        let name = oneof.name().to_upper_camel_case();
        if nested.contains(&name) {
            paths.insert(
                format!("{proto}.{}", oneof.name()),
                format!("{rust}::{name}OneOf"),
            );
        }
    }
    for inner in &message.nested_type {
        oneofs_with_a_suffix(inner, &proto, &rust, paths);
    }
}

/// The types that are in no package and in no other type.
struct Nameless(Vec<String>);

impl Nameless {
    fn of(files: &[FileDescriptorProto]) -> Self {
        let files = files.iter().filter(|file| file.package().is_empty());
        let names = files.flat_map(top_level_names).map(str::to_owned);
        Self(names.collect())
    }

    /// The name of a type, with the leading dot, as pbjson-build knows it.
    fn full_name(&self, proto: &str) -> String {
        let top = proto.split('.').nth(1);
        if top.is_some_and(|top| self.0.iter().any(|name| name == top)) {
            format!(".{NO_PACKAGE}{proto}")
        } else {
            proto.to_owned()
        }
    }

    fn name(&self, file: &mut FileDescriptorProto) {
        if file.package().is_empty() {
            file.package = Some(NO_PACKAGE.to_owned());
        }
        for message in &mut file.message_type {
            self.name_in_fields(message);
        }
    }

    fn name_in_fields(&self, message: &mut DescriptorProto) {
        for of in message
            .field
            .iter_mut()
            .filter_map(|field| field.type_name.as_mut())
        {
            *of = self.full_name(of);
        }
        for nested in &mut message.nested_type {
            self.name_in_fields(nested);
        }
    }
}

/// No proto file can have a package of this name.
const NO_PACKAGE: &str = "no package";
