//! `dubbo new`: a provider and a consumer to begin with.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::{console::Console, fail::Failure};

/// Writes a new crate with a provider and a consumer that find each other by a registry
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of the crate, which is made
    folder: PathBuf,
    /// What the crate is called, by default as the folder
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    source: Source,
    /// The branch, tag or commit of the repository
    #[arg(long, value_name = "REV", requires = "git")]
    rev: Option<String>,
}

/// Where the framework is: it is not published.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// The folder of a clone of this project, which the crate depends on
    #[arg(long, value_name = "FOLDER")]
    path: Option<PathBuf>,
    /// The repository of this project, which the crate depends on
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

impl Args {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let name = self.name()?;
        let package = name.replace('-', "_");
        let [dubbo, build] = ["dubbo", "dubbo-build"].map(|member| self.dependency(member));
        let (dubbo, build) = (dubbo?, build?);
        self.make_folder()?;
        let mut written = Vec::new();
        for (path, template) in FILES {
            let text = template
                .replace("{{name}}", &name)
                .replace("{{package}}", &package)
                .replace("{{dubbo}}", &dubbo)
                .replace("{{dubbo-build}}", &build);
            let file = self.folder.join(path);
            write(&file, &text).map_err(|error| {
                Failure::usage(format!("cannot write {}: {error}", file.display()))
            })?;
            written.push(path);
        }
        let folder = self.folder.display().to_string();
        let text = format!(
            "wrote {folder}: {}\n\n  cd {folder}\n  cargo run --bin provider          # in one terminal\n  cargo run --bin \
             consumer -- Ada   # in another",
            written.join(", ")
        );
        console.show(
            || json!({"folder": folder, "name": name, "files": written}),
            text,
        )
    }

    /// A name that a crate, a module and a package of protobuf can have.
    fn name(&self) -> Result<String, Failure> {
        let of_folder = || {
            let name = self.folder.file_name()?.to_str()?;
            Some(name.to_owned())
        };
        let name = self.name.clone().or_else(of_folder).unwrap_or_default();
        let mut letters = name.chars();
        let begins_well = letters
            .next()
            .is_some_and(|first| first.is_ascii_lowercase());
        let goes_on_well =
            letters.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_".contains(it));
        if !begins_well || !goes_on_well || RESERVED.contains(&name.as_str()) {
            return Err(Failure::usage(format!("`{name}` is no name for a crate")).advise(
                "say `--name`: lower-case letters first, then digits, `-` and `_` too, and no word of Rust",
            ));
        }
        Ok(name)
    }

    /// What stands between the braces of the dependency on `member`.
    fn dependency(&self, member: &str) -> Result<String, Failure> {
        if let Some(path) = &self.source.path {
            let unusable = |why: String| {
                let path = path.display();
                Failure::usage(format!("{path} is no clone of this project: {why}"))
            };
            let folder = path.join(member);
            let folder = folder
                .canonicalize()
                .map_err(|e| unusable(format!("{member}: {e}")))?;
            if !folder.join("Cargo.toml").is_file() {
                return Err(unusable(format!("`{member}` has no Cargo.toml")));
            }
            let folder = folder
                .to_str()
                .ok_or_else(|| unusable("its path is not UTF-8".to_owned()))?;
            return Ok(format!("path = {}", quoted(folder)));
        }
        let url = self.source.git.as_deref().unwrap_or_default();
        let rev = self
            .rev
            .as_deref()
            .map(|rev| format!(", rev = {}", quoted(rev)));
        Ok(format!("git = {}{}", quoted(url), rev.unwrap_or_default()))
    }

    /// Nothing that is there is written over.
    fn make_folder(&self) -> Result<(), Failure> {
        let folder = self.folder.display();
        let made = fs::create_dir_all(&self.folder)
            .and_then(|()| Ok(fs::read_dir(&self.folder)?.next().is_none()));
        match made {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::usage(format!("{folder} is not empty"))
                .advise("name a folder that is not there yet")),
            Err(error) => Err(Failure::usage(format!("cannot make {folder}: {error}"))),
        }
    }
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, text)
}

/// A basic string of TOML, which JSON's are too.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// What becomes of which template.
const FILES: [(&str, &str); 9] = [
    ("Cargo.toml", include_str!("../template/manifest.toml")),
    ("README.md", include_str!("../template/README.md")),
    ("build.rs", include_str!("../template/build.rs")),
    ("consumer.yaml", include_str!("../template/consumer.yaml")),
    ("provider.yaml", include_str!("../template/provider.yaml")),
    (
        "proto/greeter.proto",
        include_str!("../template/greeter.proto"),
    ),
    (
        "src/bin/consumer.rs",
        include_str!("../template/consumer.rs"),
    ),
    (
        "src/bin/provider.rs",
        include_str!("../template/provider.rs"),
    ),
    ("src/lib.rs", include_str!("../template/lib.rs")),
];

/// Names that a crate cannot have, or that would hide what it needs.
const RESERVED: [&str; 44] = [
    "alloc", "as", "async", "await", "break", "const", "continue", "core", "crate", "dubbo", "dyn",
    "else", "enum", "extern", "false", "fn", "for", "if", "impl", "in", "let", "loop", "match",
    "mod", "move", "mut", "pub", "ref", "return", "self", "static", "std", "struct", "super",
    "test", "tokio", "trait", "true", "type", "unsafe", "use", "where", "while", "yield",
];
