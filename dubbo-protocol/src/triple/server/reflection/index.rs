//! What is known of the services of a server, and where each of their names is defined.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use bytes::Bytes;
use dubbo_core::service::ServiceDescriptor;
use prost::{DecodeError, Message as _};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    OneofDescriptorProto, ServiceDescriptorProto,
};

/// The services, and the files, symbols and extensions of the sets of files that they came with.
///
/// Files are those bytes that the sets hold: nothing of them is lost, such as options that nobody here knows. Each set
/// is a world of its own: a file has the imports of its set, whatever other sets call so.
#[derive(Debug, Default)]
pub(in crate::triple::server) struct Index {
    services: Vec<String>,
    files: Vec<File>,
    by_name: HashMap<String, FileId>,
    by_symbol: HashMap<String, FileId>,
    /// By the message that is extended, and by number.
    extensions: HashMap<String, BTreeMap<i32, FileId>>,
}

/// A file of an [`Index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::triple::server) struct FileId(usize);

#[derive(Debug)]
struct File {
    encoded: Bytes,
    imports: Vec<FileId>,
}

impl Index {
    /// The index of `services`, which come in the order of their interfaces. Of two files that define the same name the
    /// first one counts, except for a service and its methods: they are what its own set says.
    pub(in crate::triple::server) fn of<'a>(
        services: impl IntoIterator<Item = &'a ServiceDescriptor>,
    ) -> Self {
        let mut index = Self::default();
        // Services of one package share their set.
        let mut sets: HashMap<*const u8, Vec<(FileId, FileDescriptorProto)>> = HashMap::new();
        for service in services {
            let interface = service.interface();
            let is_new = index.services.last().is_none_or(|last| last != interface);
            if is_new {
                index.services.push(interface.to_owned());
            }
            let Some(encoded) = service.file_descriptor_set() else {
                continue;
            };
            let set = sets.entry(encoded.as_ptr()).or_insert_with(|| {
                index.add_set(encoded).unwrap_or_else(|error| {
                    tracing::warn!(%error, interface, "its files cannot be read, so reflection does not know them");
                    Vec::new()
                })
            });
            if is_new {
                index.claim(interface, set);
            }
        }
        index
    }

    /// The names of the services, each once, in their order.
    pub(in crate::triple::server) fn services(&self) -> &[String] {
        &self.services
    }

    pub(in crate::triple::server) fn file_named(&self, name: &str) -> Option<FileId> {
        self.by_name.get(name).copied()
    }

    /// Where a service, method, message, field, oneof, enum, enum value or extension of this full name is defined.
    pub(in crate::triple::server) fn file_of_symbol(&self, symbol: &str) -> Option<FileId> {
        self.by_symbol.get(symbol).copied()
    }

    /// Where the extension of `message` with this number is defined.
    pub(in crate::triple::server) fn file_of_extension(
        &self,
        message: &str,
        number: i32,
    ) -> Option<FileId> {
        self.extensions.get(message)?.get(&number).copied()
    }

    /// The numbers of the extensions of `message`, in order; none when there is no such symbol.
    pub(in crate::triple::server) fn extensions_of(&self, message: &str) -> Option<Vec<i32>> {
        match self.extensions.get(message) {
            Some(numbers) => Some(numbers.keys().copied().collect()),
            None => self.by_symbol.get(message).map(|_| Vec::new()),
        }
    }

    /// `file`, then what it imports, and what that imports, each once.
    pub(in crate::triple::server) fn with_imports(
        &self,
        file: FileId,
    ) -> impl Iterator<Item = &Bytes> {
        let mut seen = HashSet::from([file]);
        let mut next = VecDeque::from([file]);
        std::iter::from_fn(move || {
            let file = &self.files[next.pop_front()?.0];
            next.extend(file.imports.iter().filter(|import| seen.insert(**import)));
            Some(&file.encoded)
        })
    }

    /// Adds the files of a `google.protobuf.FileDescriptorSet`, and gives them decoded.
    fn add_set(
        &mut self,
        encoded: &'static [u8],
    ) -> Result<Vec<(FileId, FileDescriptorProto)>, DecodeError> {
        let set = FileSet::decode(Bytes::from_static(encoded))?;
        let files = set.file.into_iter().map(|encoded| {
            let file = FileDescriptorProto::decode(encoded.clone())?;
            Ok((encoded, file))
        });
        let files = files.collect::<Result<Vec<_>, DecodeError>>()?;
        let first = self.files.len();
        let names = files.iter().enumerate();
        let ids: HashMap<String, FileId> = names
            .map(|(at, (_, file))| (file.name().to_owned(), FileId(first + at)))
            .collect();
        let mut added = Vec::with_capacity(files.len());
        for (encoded, file) in files {
            let id = FileId(self.files.len());
            let imports = file.dependency.iter();
            self.files.push(File {
                encoded,
                imports: imports.filter_map(|name| ids.get(name).copied()).collect(),
            });
            self.by_name.entry(file.name().to_owned()).or_insert(id);
            Definitions { index: self, id }.of_file(&file);
            added.push((id, file));
        }
        Ok(added)
    }

    /// Has `interface` and its methods be those of `set`, where it is defined there.
    fn claim(&mut self, interface: &str, set: &[(FileId, FileDescriptorProto)]) {
        for (id, file) in set {
            let service = file
                .service
                .iter()
                .find(|service| join(file.package(), service.name()) == interface);
            if let Some(service) = service {
                let names = names_of_service(file.package(), service);
                self.by_symbol.extend(names.map(|name| (name, *id)));
            }
        }
    }
}

/// `google.protobuf.FileDescriptorSet`, with its files left as they are.
#[derive(Clone, PartialEq, prost::Message)]
struct FileSet {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    file: Vec<Bytes>,
}

/// Enters what a file defines into an index.
struct Definitions<'a> {
    index: &'a mut Index,
    id: FileId,
}

impl Definitions<'_> {
    fn of_file(mut self, file: &FileDescriptorProto) {
        let scope = file.package();
        self.messages(scope, &file.message_type);
        self.enums(scope, &file.enum_type);
        self.extensions(scope, &file.extension);
        for service in &file.service {
            names_of_service(scope, service).for_each(|name| self.symbol(name));
        }
    }

    fn messages(&mut self, scope: &str, messages: &[DescriptorProto]) {
        for message in messages {
            let name = join(scope, message.name());
            let fields = message.field.iter().map(FieldDescriptorProto::name);
            let oneofs = message.oneof_decl.iter().map(OneofDescriptorProto::name);
            for member in fields.chain(oneofs) {
                self.symbol(join(&name, member));
            }
            self.messages(&name, &message.nested_type);
            self.enums(&name, &message.enum_type);
            self.extensions(&name, &message.extension);
            self.symbol(name);
        }
    }

    /// The values of an enum are named beside it, not within.
    fn enums(&mut self, scope: &str, enums: &[EnumDescriptorProto]) {
        for declared in enums {
            self.symbol(join(scope, declared.name()));
            for value in &declared.value {
                self.symbol(join(scope, value.name()));
            }
        }
    }

    fn extensions(&mut self, scope: &str, extensions: &[FieldDescriptorProto]) {
        for extension in extensions {
            self.symbol(join(scope, extension.name()));
            let extended = extension.extendee();
            let extended = extended.strip_prefix('.').unwrap_or(extended).to_owned();
            let numbers = self.index.extensions.entry(extended).or_default();
            numbers.entry(extension.number()).or_insert(self.id);
        }
    }

    fn symbol(&mut self, name: String) {
        self.index.by_symbol.entry(name).or_insert(self.id);
    }
}

fn names_of_service(scope: &str, service: &ServiceDescriptorProto) -> impl Iterator<Item = String> {
    let name = join(scope, service.name());
    let methods: Vec<_> = service
        .method
        .iter()
        .map(|method| join(&name, method.name()))
        .collect();
    methods.into_iter().chain([name])
}

fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() {
        name.to_owned()
    } else {
        format!("{scope}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use dubbo_core::service::{CallKind, MethodDescriptor};
    use prost_types::{
        EnumValueDescriptorProto, FileDescriptorSet, MethodDescriptorProto, OneofDescriptorProto,
    };

    use super::*;

    fn named<T: Default>(name: &str, set: impl FnOnce(&mut T, Option<String>)) -> T {
        let mut thing = T::default();
        set(&mut thing, Some(name.to_owned()));
        thing
    }

    fn message(name: &str) -> DescriptorProto {
        named(name, |it: &mut DescriptorProto, name| it.name = name)
    }

    fn field(name: &str) -> FieldDescriptorProto {
        named(name, |it: &mut FieldDescriptorProto, name| it.name = name)
    }

    fn extension(name: &str, extendee: &str, number: i32) -> FieldDescriptorProto {
        FieldDescriptorProto {
            extendee: Some(extendee.to_owned()),
            number: Some(number),
            ..field(name)
        }
    }

    fn color() -> EnumDescriptorProto {
        EnumDescriptorProto {
            value: vec![named("RED", |it: &mut EnumValueDescriptorProto, name| {
                it.name = name;
            })],
            ..named("Color", |it: &mut EnumDescriptorProto, name| it.name = name)
        }
    }

    fn service(name: &str, method: &str) -> ServiceDescriptorProto {
        ServiceDescriptorProto {
            method: vec![named(method, |it: &mut MethodDescriptorProto, name| {
                it.name = name;
            })],
            ..named(name, |it: &mut ServiceDescriptorProto, name| it.name = name)
        }
    }

    fn file(name: &str, package: &str, imports: &[&str]) -> FileDescriptorProto {
        FileDescriptorProto {
            name: Some(name.to_owned()),
            package: (!package.is_empty()).then(|| package.to_owned()),
            dependency: imports.iter().map(|&import| import.to_owned()).collect(),
            ..FileDescriptorProto::default()
        }
    }

    fn set(files: Vec<FileDescriptorProto>) -> &'static [u8] {
        FileDescriptorSet { file: files }.encode_to_vec().leak()
    }

    fn descriptor(interface: &str, set: Option<&'static [u8]>) -> ServiceDescriptor {
        let methods = vec![MethodDescriptor::new("Do", CallKind::Unary)];
        let descriptor = ServiceDescriptor::new(interface.to_owned(), methods);
        match set {
            Some(set) => descriptor.with_file_descriptor_set(set),
            None => descriptor,
        }
    }

    /// The names of the files that are told of one.
    fn told(index: &Index, file: Option<FileId>) -> Vec<String> {
        let files = file.into_iter().flat_map(|file| index.with_imports(file));
        files
            .map(|encoded| {
                let file = FileDescriptorProto::decode(encoded.clone()).expect("as it was");
                format!("{}#{}", file.name(), file.syntax())
            })
            .collect()
    }

    /// A set whose files are marked with `mark`, with a service that imports a message.
    fn world(mark: &str, interface: &str) -> &'static [u8] {
        let (package, name) = interface.rsplit_once('.').expect("a package");
        let mut common = file("common.proto", "common", &[]);
        common.syntax = Some(mark.to_owned());
        common.message_type = vec![message("Shared")];
        let mut main = file(&format!("{name}.proto"), package, &["common.proto"]);
        main.syntax = Some(mark.to_owned());
        main.service = vec![service(name, "Do")];
        set(vec![common, main])
    }

    #[test]
    fn every_kind_of_name_has_its_file() {
        let mut inner = message("Inner");
        inner.field = vec![field("deep")];
        let mut outer = message("Outer");
        outer.field = vec![field("plain")];
        outer.oneof_decl = vec![named("choice", |it: &mut OneofDescriptorProto, name| {
            it.name = name;
        })];
        outer.nested_type = vec![inner];
        outer.enum_type = vec![color()];
        outer.extension = vec![extension("nested_ext", ".a.b.Outer", 100)];
        let mut full = file("full.proto", "a.b", &[]);
        full.message_type = vec![outer];
        full.enum_type = vec![color()];
        full.extension = vec![extension("ext", ".a.b.Outer", 101)];
        full.service = vec![service("Svc", "Do")];
        let mut bare = file("bare.proto", "", &[]);
        bare.message_type = vec![message("Bare")];
        let set = set(vec![full, bare]);
        let index = Index::of([&descriptor("a.b.Svc", Some(set))]);
        for symbol in [
            "a.b.Svc",
            "a.b.Svc.Do",
            "a.b.Outer",
            "a.b.Outer.plain",
            "a.b.Outer.choice",
            "a.b.Outer.Inner",
            "a.b.Outer.Inner.deep",
            "a.b.Outer.Color",
            "a.b.Outer.RED",
            "a.b.Outer.nested_ext",
            "a.b.Color",
            "a.b.RED",
            "a.b.ext",
        ] {
            let file = index.file_of_symbol(symbol);
            assert_eq!(told(&index, file), ["full.proto#"], "{symbol}");
        }
        assert_eq!(told(&index, index.file_of_symbol("Bare")), ["bare.proto#"]);
        for unknown in ["", "a.b", "Svc", "a.b.Color.RED", "a.b.Svc.Undo", "Bare."] {
            assert_eq!(index.file_of_symbol(unknown), None, "{unknown}");
        }
        assert_eq!(index.extensions_of("a.b.Outer"), Some(vec![100, 101]));
        assert_eq!(index.extensions_of("Bare"), Some(vec![]));
        assert_eq!(index.extensions_of("Nobody"), None);
        let by_number = |number| told(&index, index.file_of_extension("a.b.Outer", number));
        assert_eq!(by_number(100), ["full.proto#"]);
        assert_eq!(by_number(102), [""; 0]);
    }

    #[test]
    fn a_file_comes_before_its_imports_and_each_once() {
        let set = set(vec![
            file("base.proto", "", &[]),
            file("left.proto", "", &["base.proto"]),
            file("right.proto", "", &["base.proto", "nowhere.proto"]),
            file("top.proto", "", &["left.proto", "right.proto"]),
            // No compiler lets it pass.
            file("ring.proto", "", &["ring.proto", "base.proto"]),
        ]);
        let index = Index::of([&descriptor("a.B", Some(set))]);
        for (name, want) in [
            ("base.proto", &["base.proto#"][..]),
            (
                "top.proto",
                &["top.proto#", "left.proto#", "right.proto#", "base.proto#"],
            ),
            ("ring.proto", &["ring.proto#", "base.proto#"]),
            ("nowhere.proto", &[]),
        ] {
            assert_eq!(told(&index, index.file_named(name)), want, "{name}");
        }
    }

    #[test]
    fn a_service_is_what_its_own_set_says_whatever_others_call_so() {
        let (one, other) = (world("1", "x.A"), world("2", "x.B"));
        let index = Index::of([
            &descriptor("x.A", Some(one)),
            &descriptor("x.B", Some(other)),
        ]);
        let symbol = |name| told(&index, index.file_of_symbol(name));
        assert_eq!(symbol("x.A"), ["A.proto#1", "common.proto#1"]);
        assert_eq!(symbol("x.B.Do"), ["B.proto#2", "common.proto#2"]);
        assert_eq!(symbol("common.Shared"), ["common.proto#1"]);
        assert_eq!(
            told(&index, index.file_named("common.proto")),
            ["common.proto#1"]
        );

        // An older form of the service, which the other one's set happens to have.
        let mut older = file("B.proto", "x", &[]);
        older.syntax = Some("1".to_owned());
        older.service = vec![service("B", "Do")];
        let one = set(vec![older]);
        let index = Index::of([
            &descriptor("x.A", Some(one)),
            &descriptor("x.B", Some(other)),
        ]);
        let of_b = told(&index, index.file_of_symbol("x.B"));
        assert_eq!(of_b, ["B.proto#2", "common.proto#2"]);
    }

    #[test]
    fn services_are_named_once_with_files_or_without() {
        let set = world("1", "x.A");
        let index = Index::of([
            &descriptor("java.Users", None),
            &descriptor("x.A", Some(set)),
            &descriptor("x.A", Some(set)),
            &descriptor("x.Broken", Some(b"\x0a\xff")),
        ]);
        assert_eq!(index.services(), ["java.Users", "x.A", "x.Broken"]);
        assert_eq!(index.files.len(), 2);
        assert_eq!(index.file_of_symbol("java.Users"), None);
        assert_eq!(index.file_of_symbol("x.Broken"), None);
    }
}
