//! The settings, and what is done with them.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use crate::{Error, generate, proto::Protos};

/// Compiles proto files to Rust. [`configure`](crate::configure) makes one.
#[derive(Debug, Clone)]
#[must_use = "`compile` does the work"]
pub struct Builder {
    pub(crate) core_path: String,
    pub(crate) extern_paths: Vec<(String, String)>,
    pub(crate) field_attributes: Vec<(String, String)>,
    pub(crate) include_file: Option<String>,
    pub(crate) json: bool,
    pub(crate) out_dir: Option<PathBuf>,
    pub(crate) type_attributes: Vec<(String, String)>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            core_path: "::dubbo::codegen".to_owned(),
            extern_paths: Vec::new(),
            field_attributes: Vec::new(),
            include_file: None,
            json: true,
            out_dir: None,
            type_attributes: Vec::new(),
        }
    }

    /// Whether messages get the protobuf JSON mapping. Default: true.
    ///
    /// Without it a service answers calls with JSON bodies with an error; the code is smaller, and messages leave room
    /// for `serde` implementations of yours.
    pub fn json(mut self, json: bool) -> Self {
        self.json = json;
        self
    }

    /// The module that generated code finds everything in. Default: `::dubbo::codegen`.
    ///
    /// A crate that calls `dubbo` by another name says so here.
    pub fn core_path(mut self, path: impl Into<String>) -> Self {
        self.core_path = path.into();
        self
    }

    /// The folder that [`compile`](Self::compile) writes to. Default: cargo's `OUT_DIR`.
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Also writes a file of this name that includes all others, in modules nested like their packages. Default: none.
    ///
    /// With messages of several packages this is the way: they find each other by the paths of these modules.
    pub fn include_file(mut self, name: impl Into<String>) -> Self {
        self.include_file = Some(name.into());
        self
    }

    /// Uses `rust_path` for the type or package `proto_path`, such as `.google.type.Date`, and generates nothing for it.
    ///
    /// The longest path wins. The type has to implement `prost::Message`, and with JSON also serde's traits.
    pub fn extern_path(
        mut self,
        proto_path: impl Into<String>,
        rust_path: impl Into<String>,
    ) -> Self {
        let path = (proto_path.into(), rust_path.into());
        self.extern_paths.push(path);
        self
    }

    /// Adds an attribute, such as `#[derive(Eq)]`, to the messages, oneofs and enums that match `path`.
    ///
    /// `.` matches everything, `.package` a package, `.package.Message` a message and what is in it; a path without
    /// the leading dot matches the end of a name.
    pub fn type_attribute(mut self, path: impl Into<String>, attribute: impl Into<String>) -> Self {
        self.type_attributes.push((path.into(), attribute.into()));
        self
    }

    /// Adds an attribute to the fields that match `path`, such as `.package.Message.field`; see
    /// [`type_attribute`](Self::type_attribute).
    pub fn field_attribute(
        mut self,
        path: impl Into<String>,
        attribute: impl Into<String>,
    ) -> Self {
        self.field_attributes.push((path.into(), attribute.into()));
        self
    }

    /// Compiles `protos` and what they import into one Rust file for each package, and tells cargo which files to watch.
    ///
    /// A proto file is named by its path, or by its path from one of the folders `includes`. Files that are up to date
    /// are not touched.
    ///
    /// # Errors
    ///
    /// [`Error`] says what is wrong and where.
    pub fn compile(
        &self,
        protos: &[impl AsRef<Path>],
        includes: &[impl AsRef<Path>],
    ) -> Result<(), Error> {
        let protos = Protos::load(protos, includes)?;
        watch(&protos);
        let folder = match &self.out_dir {
            Some(folder) => folder.clone(),
            None => env::var_os("OUT_DIR").ok_or(Error::NoOutDir)?.into(),
        };
        for (name, text) in generate::files(self, &protos)? {
            write_if_changed(&folder.join(name), &text)?;
        }
        Ok(())
    }

    /// What [`compile`](Self::compile) would write: the text of each file by its name.
    ///
    /// # Errors
    ///
    /// As for [`compile`](Self::compile), but for those of writing.
    pub fn generate(
        &self,
        protos: &[impl AsRef<Path>],
        includes: &[impl AsRef<Path>],
    ) -> Result<BTreeMap<String, String>, Error> {
        generate::files(self, &Protos::load(protos, includes)?)
    }

    pub(crate) fn core(&self) -> Result<syn::Path, Error> {
        syn::parse_str(&self.core_path).map_err(|error| Error::Setting {
            setting: "core_path",
            value: self.core_path.clone(),
            reason: format!("this is no Rust path: {error}"),
        })
    }
}

#[expect(
    clippy::print_stdout,
    reason = "this is how a build script talks to cargo"
)]
fn watch(protos: &Protos) {
    for path in protos.paths() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}

fn write_if_changed(file: &Path, text: &str) -> Result<(), Error> {
    if fs::read(file).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    fs::write(file, text).map_err(|source| Error::Io {
        file: file.to_owned(),
        source,
    })
}
