//! Names that differ in a proto file and not in Rust.
//!
//! Rust wants `snake_case` functions and `CamelCase` types, and one service becomes three types. What falls together is
//! found here, with the names of the proto file; the compiler would find it too, somewhere in generated code.

use std::collections::HashMap;

use heck::{ToSnakeCase, ToUpperCamelCase};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    MessageOptions, ServiceDescriptorProto,
};

use crate::{Error, extern_paths::ExternPaths};

/// Names every problem of `files`, leaving out what is elsewhere.
pub(crate) fn check(
    files: &[FileDescriptorProto],
    elsewhere: &ExternPaths,
    json: bool,
) -> Result<(), Error> {
    let mut names = Names {
        json,
        taken: HashMap::new(),
        problems: elsewhere.unknown(files),
    };
    for file in files {
        names.file(file, elsewhere);
    }
    if names.problems.is_empty() {
        Ok(())
    } else {
        Err(Error::Names(names.problems))
    }
}

struct Names {
    json: bool,
    /// By scope and Rust name: what has it.
    taken: HashMap<(String, String), String>,
    problems: Vec<String>,
}

impl Names {
    fn file(&mut self, file: &FileDescriptorProto, elsewhere: &ExternPaths) {
        let package = file.package();
        let dot = if package.is_empty() { "" } else { "." };
        let scope = format!("{dot}{package}");
        let is_here = |name: &str| !elsewhere.contains(&format!("{scope}.{name}"));
        let mut any = !file.service.is_empty();
        for message in file.message_type.iter().filter(|item| is_here(item.name())) {
            self.message(&scope, message);
            any = true;
        }
        for item in file.enum_type.iter().filter(|item| is_here(item.name())) {
            self.enumeration(&scope, item);
            any = true;
        }
        for service in &file.service {
            self.service(&scope, service);
        }
        if any {
            self.package(package);
        }
    }

    /// A package is a module in the module of the package above it.
    fn package(&mut self, package: &str) {
        let mut scope = String::new();
        for part in package.split('.').filter(|part| !part.is_empty()) {
            let name = part.to_snake_case();
            let full = format!("{scope}.{part}");
            self.claim(&scope, name, || format!("package `{}`", &full[1..]));
            scope = full;
        }
    }

    fn message(&mut self, scope: &str, message: &DescriptorProto) {
        let full = format!("{scope}.{}", message.name());
        let shown = &full[1..];
        self.claim_camel(scope, message.name(), || format!("message `{shown}`"));
        let is_map = |nested: &DescriptorProto| {
            nested
                .options
                .as_ref()
                .is_some_and(MessageOptions::map_entry)
        };
        let has_module = !message.enum_type.is_empty()
            || message.field.iter().any(in_oneof)
            || !message.nested_type.iter().all(is_map);
        if has_module {
            self.claim(scope, message.name().to_snake_case(), || {
                format!("the module of message `{shown}`")
            });
        }
        let members = format!("{full} members");
        let variants = format!("{full} variants");
        for field in &message.field {
            let what = || format!("field `{shown}.{}`", field.name());
            self.claim(&members, field.name().to_snake_case(), what);
            // The fields of a oneof are the variants of an enum; the JSON mapping makes variants of all fields.
            if self.json || in_oneof(field) {
                self.claim_camel(&variants, field.name(), what);
            }
        }
        for (index, oneof) in message.oneof_decl.iter().enumerate() {
            let is_real = message
                .field
                .iter()
                .any(|field| in_oneof(field) && usize::try_from(field.oneof_index()) == Ok(index));
            if is_real {
                let what = || format!("oneof `{shown}.{}`", oneof.name());
                self.claim(&members, oneof.name().to_snake_case(), what);
            }
        }
        for nested in message.nested_type.iter().filter(|nested| !is_map(nested)) {
            self.message(&full, nested);
        }
        for item in &message.enum_type {
            self.enumeration(&full, item);
        }
    }

    fn enumeration(&mut self, scope: &str, item: &EnumDescriptorProto) {
        let full = format!("{scope}.{}", item.name());
        let shown = &full[1..];
        self.claim_camel(scope, item.name(), || format!("enum `{shown}`"));
        let prefix = item.name().to_upper_camel_case();
        let mut numbers = Vec::new();
        for value in &item.value {
            // An alias gets no variant of its own.
            if numbers.contains(&value.number()) {
                continue;
            }
            numbers.push(value.number());
            let camel = value.name().to_upper_camel_case();
            let variant = match camel.strip_prefix(&prefix) {
                Some(rest) if rest.starts_with(char::is_uppercase) => rest.to_owned(),
                _ => camel,
            };
            self.claim(&full, variant, || {
                format!("value `{}` of enum `{shown}`", value.name())
            });
        }
    }

    fn service(&mut self, scope: &str, service: &ServiceDescriptorProto) {
        let full = format!("{scope}.{}", service.name());
        let shown = &full[1..];
        let name = service.name();
        self.claim_camel(scope, name, || format!("service `{shown}`"));
        for part in ["Client", "Server"] {
            let rust = format!("{}{part}", name.to_upper_camel_case());
            self.claim(scope, rust, || format!("the `{part}` of service `{shown}`"));
        }
        for method in &service.method {
            self.claim(&full, method.name().to_snake_case(), || {
                format!("rpc `{shown}.{}`", method.name())
            });
        }
    }

    fn claim_camel(&mut self, scope: &str, name: &str, what: impl Fn() -> String) {
        self.claim(scope, name.to_upper_camel_case(), what);
    }

    fn claim(&mut self, scope: &str, name: String, what: impl Fn() -> String) {
        let what = what();
        if name.is_empty() {
            let problem = format!("{what} has neither letter nor digit, so it has no name in Rust");
            self.problems.push(problem);
        } else if self.json && name.starts_with(|first: char| first.is_ascii_digit()) {
            self.problems.push(format!(
                "{what} has a digit before its first letter, which the JSON mapping cannot express; rename it, or \
                 switch the mapping off with `json(false)`"
            ));
        } else if let Some(other) = self.taken.get(&(scope.to_owned(), name.clone())) {
            if *other != what {
                self.problems.push(format!(
                    "{other} and {what} both become `{name}` in Rust; rename one of them"
                ));
            }
        } else {
            self.taken.insert((scope.to_owned(), name), what);
        }
    }
}

/// An `optional` field of proto3 has a oneof that exists in the descriptor only.
fn in_oneof(field: &FieldDescriptorProto) -> bool {
    field.oneof_index.is_some() && !field.proto3_optional()
}
