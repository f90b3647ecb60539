//! Reading proto files, without `protoc`.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use miette::{Diagnostic, LabeledSpan, SourceCode};
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto};
use protox::{
    Compiler,
    prost::encoding,
    prost_reflect::{DynamicMessage, FileDescriptor, ReflectMessage},
};

use crate::Error;

/// The proto files that were asked for, and what they import.
pub(crate) struct Protos {
    compiler: Compiler,
    /// In an order in which a file comes after what it imports.
    pub(crate) files: Vec<FileDescriptorProto>,
}

impl Protos {
    pub(crate) fn load<P: AsRef<Path>, I: AsRef<Path>>(
        protos: &[P],
        includes: &[I],
    ) -> Result<Self, Error> {
        let failed = |file: &Path, error| failure(file, includes, &error);
        let mut compiler = Compiler::new(includes).map_err(|error| failed(Path::new(""), error))?;
        compiler.include_imports(true).include_source_info(true);
        for proto in protos {
            let proto = proto.as_ref();
            compiler
                .open_file(proto)
                .map_err(|error| failed(proto, error))?;
        }
        let files = compiler.file_descriptor_set().file;
        Ok(Self { compiler, files })
    }

    /// The files on disk that were read.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.compiler.files().filter_map(|file| file.path())
    }

    /// The encoded `google.protobuf.FileDescriptorSet` of the files called `names` and all that they import, with the
    /// options that extensions define and without the comments.
    pub(crate) fn encoded_set(&self, names: &HashSet<&str>) -> Vec<u8> {
        let pool = self.compiler.descriptor_pool();
        let mut wanted = HashSet::new();
        let mut next: Vec<FileDescriptor> = pool
            .files()
            .filter(|file| names.contains(file.name()))
            .collect();
        while let Some(file) = next.pop() {
            if wanted.insert(file.name().to_owned()) {
                next.extend(file.dependencies());
            }
        }
        let mut encoded = Vec::new();
        for file in pool.files().filter(|file| wanted.contains(file.name())) {
            encoding::bytes::encode(FILES, &without_comments(&file), &mut encoded);
        }
        encoded
    }
}

/// The names of the messages and enums that are not within a message.
pub(crate) fn top_level_names(file: &FileDescriptorProto) -> impl Iterator<Item = &str> {
    let messages = file.message_type.iter().map(DescriptorProto::name);
    messages.chain(file.enum_type.iter().map(EnumDescriptorProto::name))
}

fn without_comments(file: &FileDescriptor) -> Vec<u8> {
    let encoded = file.encode_to_vec();
    let descriptor = FileDescriptorProto::default().descriptor();
    let mut message = DynamicMessage::decode(descriptor, encoded.as_slice())
        .expect("invariant: what the pool encodes is a FileDescriptorProto");
    message.clear_field_by_name("source_code_info");
    protox::prost::Message::encode_to_vec(&message)
}

fn failure<I: AsRef<Path>>(file: &Path, includes: &[I], error: &protox::Error) -> Error {
    let searched: Vec<PathBuf> = includes
        .iter()
        .map(|include| include.as_ref().to_owned())
        .collect();
    let file = file.to_owned();
    match (error.is_file_not_found(), error.file()) {
        (true, Some(_)) => Error::ImportNotFound {
            problem: problems(error, &searched),
            searched,
        },
        (true, None) if file.exists() => Error::FileNotIncluded { file, searched },
        (true, None) => Error::FileNotFound { file, searched },
        (false, _) => Error::Proto(problems(error, &searched)),
    }
}

/// One line for each problem, `file:line:column: problem`.
fn problems(error: &protox::Error, includes: &[PathBuf]) -> String {
    let source = error.source_code();
    // The cause of an unreadable file is in the debug form alone.
    let first = located(error, source, includes).unwrap_or_else(|| format!("{error:?}"));
    let others = error.related().into_iter().flatten().map(|other| {
        let source = other.source_code().or(source);
        located(other, source, includes).unwrap_or_else(|| other.to_string())
    });
    let mut lines: Vec<String> = std::iter::once(first).chain(others).collect();
    lines.dedup();
    lines.join("\n")
}

/// The problem with its place and the other places that have to do with it.
fn located(
    problem: &dyn Diagnostic,
    source: Option<&dyn SourceCode>,
    includes: &[PathBuf],
) -> Option<String> {
    let source = source?;
    let labels: Vec<LabeledSpan> = problem.labels()?.collect();
    let main = MAIN_LABELS
        .iter()
        .find_map(|text| labels.iter().position(|label| label.label() == Some(*text)))
        .unwrap_or(0);
    let place = |label: &LabeledSpan| {
        let found = source.read_span(label.inner(), 0, 0).ok()?;
        let position = format!("{}:{}", found.line() + 1, found.column() + 1);
        Some((found.name()?.to_owned(), position))
    };
    let (name, position) = place(labels.get(main)?)?;
    let others = labels
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != main);
    let mut notes: Vec<String> = others
        .filter_map(|(_, label)| Some(format!("{}: {}", label.label()?, place(label)?.1)))
        .collect();
    notes.extend(problem.help().map(|help| help.to_string()));
    let mut text = problem.to_string();
    if text.ends_with("found 'edition'") {
        notes.push("editions are not read; write `syntax = \"proto3\";`".to_owned());
    }
    if !notes.is_empty() {
        text = format!("{text} ({})", notes.join("; "));
    }
    let file = on_disk(&name, includes);
    Some(format!("{}:{position}: {text}", file.display()))
}

/// The path of the file that is known as `name`, so that an editor finds it.
fn on_disk(name: &str, includes: &[PathBuf]) -> PathBuf {
    let mut places = includes.iter().map(|include| include.join(name));
    places
        .find(|path| path.is_file())
        .unwrap_or_else(|| name.into())
}

/// Where there are several labels, the first of these is where the problem is.
const MAIN_LABELS: [&str; 3] = ["found here", "defined again here", "defined here"];

/// `FileDescriptorSet.file`.
const FILES: u32 = 1;
