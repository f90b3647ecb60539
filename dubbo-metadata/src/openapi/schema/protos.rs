//! What the file descriptors of services say, ready to be looked up by name.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use prost::{DecodeError, Message as _};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    MethodDescriptorProto, MethodOptions, ServiceDescriptorProto,
};

use super::comments::Comments;

/// Files that know each other: no two of them have one name.
///
/// Services of one program may come from several generated packages, each with the files that it imports; those that say
/// the same are one.
#[derive(Debug, Default)]
pub(in super::super) struct Universe {
    files: BTreeMap<String, FileDescriptorProto>,
    messages: HashMap<String, Found<DescriptorProto>>,
    enums: HashMap<String, Found<EnumDescriptorProto>>,
    services: HashMap<String, Found<ServiceDescriptorProto>>,
}

/// A descriptor, and what was written above it and its parts.
#[derive(Debug)]
pub(super) struct Found<T> {
    pub(super) descriptor: T,
    pub(super) comments: Comments,
}

/// What a proto file says about a service.
#[derive(Debug)]
pub(in super::super) struct ServiceFile<'u>(&'u Found<ServiceDescriptorProto>);

impl Universe {
    /// Sorts encoded `google.protobuf.FileDescriptorSet`s into as few universes as possible: which one each is in.
    ///
    /// # Errors
    ///
    /// For each that cannot be read.
    pub(in super::super) fn of<'s>(
        sets: impl IntoIterator<Item = &'s [u8]>,
    ) -> Vec<Result<Arc<Self>, DecodeError>> {
        let mut universes: Vec<Self> = Vec::new();
        let places: Vec<_> = sets
            .into_iter()
            .map(|encoded| {
                let set = FileDescriptorSet::decode(encoded)?;
                let place = universes.iter().position(|universe| universe.agrees(&set));
                let place = place.unwrap_or_else(|| {
                    universes.push(Self::default());
                    universes.len() - 1
                });
                for file in set.file {
                    universes[place].add(file);
                }
                Ok(place)
            })
            .collect();
        let universes: Vec<_> = universes.into_iter().map(Arc::new).collect();
        places
            .into_iter()
            .map(|place: Result<usize, DecodeError>| place.map(|at| Arc::clone(&universes[at])))
            .collect()
    }

    /// What the service called `name` says.
    pub(in super::super) fn service(&self, name: &str) -> Option<ServiceFile<'_>> {
        self.services.get(name).map(ServiceFile)
    }

    pub(super) fn message(&self, name: &str) -> Option<&Found<DescriptorProto>> {
        self.messages.get(name)
    }

    pub(super) fn enumeration(&self, name: &str) -> Option<&Found<EnumDescriptorProto>> {
        self.enums.get(name)
    }

    fn agrees(&self, set: &FileDescriptorSet) -> bool {
        set.file.iter().all(|file| {
            let known = self.files.get(file.name());
            known.is_none_or(|known| known == file)
        })
    }

    fn add(&mut self, file: FileDescriptorProto) {
        if self.files.contains_key(file.name()) {
            return;
        }
        let comments = Comments::of(&file);
        let package = file.package();
        for (index, message) in (0..).zip(&file.message_type) {
            self.add_message(package, message, &comments.below(&[MESSAGES, index]));
        }
        for (index, descriptor) in (0..).zip(&file.enum_type) {
            self.add_enum(package, descriptor, comments.below(&[ENUMS, index]));
        }
        for (index, service) in (0..).zip(&file.service) {
            let found = Found {
                descriptor: service.clone(),
                comments: comments.below(&[SERVICES, index]),
            };
            self.services.insert(within(package, service.name()), found);
        }
        self.files.insert(file.name().to_owned(), file);
    }

    fn add_message(&mut self, scope: &str, message: &DescriptorProto, comments: &Comments) {
        let name = within(scope, message.name());
        for (index, nested) in (0..).zip(&message.nested_type) {
            self.add_message(&name, nested, &comments.below(&[NESTED_MESSAGES, index]));
        }
        for (index, descriptor) in (0..).zip(&message.enum_type) {
            self.add_enum(&name, descriptor, comments.below(&[NESTED_ENUMS, index]));
        }
        let found = Found {
            descriptor: message.clone(),
            comments: comments.clone(),
        };
        self.messages.insert(name, found);
    }

    fn add_enum(&mut self, scope: &str, descriptor: &EnumDescriptorProto, comments: Comments) {
        let found = Found {
            descriptor: descriptor.clone(),
            comments,
        };
        self.enums.insert(within(scope, descriptor.name()), found);
    }
}

impl ServiceFile<'_> {
    /// What was written above it.
    pub(in super::super) fn comment(&self) -> Option<&str> {
        self.0.comments.own()
    }

    /// What was written above a method.
    pub(in super::super) fn method_comment(&self, method: &str) -> Option<&str> {
        let (index, _) = self.method(method)?;
        self.0.comments.at(&[METHODS, index])
    }

    /// Whether a method is said to be out of date.
    pub(in super::super) fn is_deprecated(&self, method: &str) -> bool {
        self.method(method).is_some_and(|(_, method)| {
            let options = method.options.as_ref();
            options.is_some_and(MethodOptions::deprecated)
        })
    }

    fn method(&self, name: &str) -> Option<(i32, &MethodDescriptorProto)> {
        let mut methods = (0..).zip(&self.0.descriptor.method);
        methods.find(|(_, method)| method.name() == name)
    }
}

fn within(scope: &str, name: &str) -> String {
    if scope.is_empty() {
        name.to_owned()
    } else {
        format!("{scope}.{name}")
    }
}

/// Numbers of fields of `FileDescriptorProto`, `DescriptorProto` and `ServiceDescriptorProto`.
const MESSAGES: i32 = 4;
const ENUMS: i32 = 5;
const SERVICES: i32 = 6;
const NESTED_MESSAGES: i32 = 3;
const NESTED_ENUMS: i32 = 4;
const METHODS: i32 = 2;
