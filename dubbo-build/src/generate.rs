//! From proto files to the text of Rust files.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use prost_build::{Config, Module};
use prost_types::FileDescriptorProto;
use syn::{Attribute, Item, parse::Parser, visit_mut::VisitMut};

use crate::{
    Builder, Error,
    docs::CodeIsText,
    extern_paths::ExternPaths,
    include,
    json::Mapping,
    names,
    proto::Protos,
    service::{self, Services},
};

/// The generated files by name.
pub(crate) fn files(
    settings: &Builder,
    protos: &Protos,
) -> Result<BTreeMap<String, String>, Error> {
    let core = settings.core()?;
    let elsewhere = ExternPaths::new(&settings.extern_paths, &settings.core_path)?;
    names::check(&protos.files, &elsewhere, settings.json)?;

    let services = Services {
        core: core.clone(),
        elsewhere: elsewhere.clone(),
        json: settings.json,
    };
    let mut config = config(settings, &elsewhere);
    config.service_generator(Box::new(services));
    let requests = protos
        .files
        .iter()
        .map(|file| (module_of(file), file.clone()));
    let modules = config
        .generate(requests.collect())
        .map_err(|error| Error::Proto(error.to_string()))?;

    let mapping = Mapping::new(&protos.files, &elsewhere, &core);
    let mut files = BTreeMap::new();
    for (module, text) in &modules {
        let name = module.to_file_name_or("_");
        let mut file = syn::parse_file(text).map_err(|error| Error::Output {
            file: name.clone(),
            reason: error.to_string(),
        })?;
        if settings.json {
            file.items.extend(mapping.items(module)?);
        }
        file.items.extend(descriptors(protos, module));
        finish(&mut file);
        let sources = protos
            .files
            .iter()
            .filter(|file| module_of(file) == *module);
        let header = header(sources.map(FileDescriptorProto::name));
        files.insert(name, header + &prettyplease::unparse(&file));
    }
    if let Some(include_file) = &settings.include_file {
        let sources = protos
            .files
            .iter()
            .filter(|file| modules.contains_key(&module_of(file)));
        let header = header(sources.map(FileDescriptorProto::name));
        let modules: Vec<_> = modules.into_keys().collect();
        let text = include::modules(&modules, settings.out_dir.is_none());
        files.insert(include_file.clone(), header + &text);
    }
    Ok(files)
}

fn config(settings: &Builder, elsewhere: &ExternPaths) -> Config {
    let core = &settings.core_path;
    let mut config = Config::new();
    config
        // It would panic where we return an error.
        .format(false)
        .bytes(["."])
        .compile_well_known_types()
        .enable_type_names()
        .type_name_domain(["."], "type.googleapis.com")
        .prost_path(format!("{core}::prost"));
    for (proto, rust) in elsewhere.iter() {
        config.extern_path(proto, rust);
    }
    for (path, attribute) in &settings.type_attributes {
        config.type_attribute(path, attribute);
    }
    for (path, attribute) in &settings.field_attributes {
        config.field_attribute(path, attribute);
    }
    config
}

fn module_of(file: &FileDescriptorProto) -> Module {
    Module::from_protobuf_package_name(file.package())
}

/// The descriptors that the services of `module` point to, when it has any.
fn descriptors(protos: &Protos, module: &Module) -> Option<Item> {
    let with_services = protos
        .files
        .iter()
        .filter(|file| module_of(file) == *module && !file.service.is_empty());
    let names: HashSet<&str> = with_services.map(FileDescriptorProto::name).collect();
    if names.is_empty() {
        return None;
    }
    let item = service::file_descriptor_set(&protos.encoded_set(&names));
    Some(syn::parse2(item).expect("invariant: a constant is an item"))
}

/// What holds for the whole file cannot stand at its top, because the file is included: it stands at every item.
fn finish(file: &mut syn::File) {
    CodeIsText.visit_file_mut(file);
    let allow = Attribute::parse_outer
        .parse_str(ALLOW)
        .expect("invariant: the constant is an attribute");
    for attributes in file.items.iter_mut().filter_map(attributes) {
        let docs = attributes
            .iter()
            .take_while(|attribute| attribute.path().is_ident("doc"));
        let after_docs = docs.count();
        attributes.splice(after_docs..after_docs, allow.iter().cloned());
    }
}

/// The attributes of what prost, pbjson and the services are made of.
fn attributes(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    match item {
        Item::Const(item) => Some(&mut item.attrs),
        Item::Enum(item) => Some(&mut item.attrs),
        Item::Impl(item) => Some(&mut item.attrs),
        Item::Mod(item) => Some(&mut item.attrs),
        Item::Static(item) => Some(&mut item.attrs),
        Item::Struct(item) => Some(&mut item.attrs),
        Item::Trait(item) => Some(&mut item.attrs),
        _ => None,
    }
}

fn header<'a>(sources: impl Iterator<Item = &'a str>) -> String {
    let sources: BTreeSet<_> = sources.collect();
    let sources: Vec<_> = sources.into_iter().collect();
    format!(
        "// @generated by dubbo-build from {}. What is changed here is lost.\n\n",
        sources.join(", ")
    )
}

/// Generated code is not written to the reader's taste, and a program may leave a part of it unused.
const ALLOW: &str = "#[allow(clippy::all, clippy::nursery, clippy::pedantic, rustdoc::all)]\
                     #[allow(dead_code, missing_docs, unreachable_pub, unused_qualifications)]";
