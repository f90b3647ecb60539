//! `cargo xtask codegen`: the generated code that is committed, because our own crates have no build script.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as _,
    fs, io,
    path::Path,
};

use crate::{failure::Failure, process};

/// Writes the generated code anew; with `--check`, only says where it differs.
pub(crate) fn run(args: &[String]) -> Result<String, Failure> {
    match args {
        [] => write(),
        [arg] if arg == "--check" => check(),
        _ => Err(Failure::new(
            format!("unknown arguments: {}", args.join(" ")),
            "cargo xtask codegen [--check]",
        )),
    }
}

/// Generates everything in memory, and names each committed file that is not the same.
pub(crate) fn check() -> Result<String, Failure> {
    let mut problems = Vec::new();
    let mut files = 0;
    for set in SETS {
        let (wanted, found) = (set.generate()?, set.committed()?);
        files += wanted.len();
        problems.extend(
            differences(&wanted, &found).map(|problem| format!("{}/{problem}", set.folder)),
        );
    }
    Failure::unless_none(
        &problems,
        "run `cargo xtask codegen` and commit what it writes",
    )?;
    Ok(format!("{files} files are up to date"))
}

fn write() -> Result<String, Failure> {
    let mut written = 0;
    for set in SETS {
        let folder = process::root().join(set.folder);
        let wanted = set.generate()?;
        fs::create_dir_all(&folder).map_err(|e| unusable(&folder, &e))?;
        for name in set
            .committed()?
            .keys()
            .filter(|name| !wanted.contains_key(*name))
        {
            let file = folder.join(name);
            fs::remove_file(&file).map_err(|e| unusable(&file, &e))?;
        }
        for (name, text) in &wanted {
            let file = folder.join(name);
            fs::write(&file, text).map_err(|e| unusable(&file, &e))?;
        }
        written += wanted.len();
    }
    Ok(format!("{written} files written"))
}

/// Proto files that are generated together into a folder that holds nothing else.
struct Set {
    /// Named from the folder `proto`.
    protos: &'static [&'static str],
    folder: &'static str,
}

/// File names and texts.
type Files = BTreeMap<String, String>;

impl Set {
    fn generate(&self) -> Result<Files, Failure> {
        let include = process::root().join("proto");
        let protos: Vec<_> = self
            .protos
            .iter()
            .map(|proto| include.join(proto))
            .collect();
        dubbo_build::configure()
            // A crate below the facade cannot name it.
            .core_path("::dubbo_core::codegen")
            .generate(&protos, &[include])
            .map_err(|e| {
                let cause = e
                    .source()
                    .map_or_else(String::new, |cause| format!(": {cause}"));
                Failure::new(
                    format!("{} cannot be generated: {e}{cause}", self.folder),
                    "mend the proto files in `proto`, or dubbo-build",
                )
            })
    }

    /// What lies in the folder; nothing, if there is no such folder.
    fn committed(&self) -> Result<Files, Failure> {
        let folder = process::root().join(self.folder);
        let mut files = Files::new();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(files),
            Err(e) => return Err(unusable(&folder, &e)),
        };
        for entry in entries {
            let path = entry.map_err(|e| unusable(&folder, &e))?.path();
            let text = fs::read_to_string(&path).map_err(|e| unusable(&path, &e))?;
            let name = path.file_name().unwrap_or_default();
            files.insert(name.to_string_lossy().into_owned(), text);
        }
        Ok(files)
    }
}

/// One line for each file that is not as it should be.
fn differences(wanted: &Files, found: &Files) -> impl Iterator<Item = String> {
    let names: BTreeSet<_> = wanted.keys().chain(found.keys()).cloned().collect();
    names
        .into_iter()
        .filter_map(|name| match (wanted.get(&name), found.get(&name)) {
            (Some(wanted), Some(found)) if wanted != found => {
                let same = wanted
                    .lines()
                    .zip(found.lines())
                    .take_while(|(a, b)| a == b)
                    .count();
                Some(format!(
                    "{name}:{}: is not what dubbo-build generates",
                    same + 1
                ))
            }
            (Some(_), None) => Some(format!("{name}: is missing")),
            (None, Some(_)) => Some(format!("{name}: is not generated from anything")),
            _ => None,
        })
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        format!("{}: {error}", path.display()),
        "look at its permissions; only generated files belong there",
    )
}

const SETS: &[Set] = &[
    Set {
        protos: &[
            "grpc/health/v1/health.proto",
            "grpc/reflection/v1/reflection.proto",
            "grpc/reflection/v1alpha/reflection.proto",
        ],
        folder: "dubbo-protocol/src/generated",
    },
    Set {
        protos: &[
            "dubbo/rust/metadata/v1/admin.proto",
            "org/apache/dubbo/metadata/metadata_service_v2.proto",
        ],
        folder: "dubbo/src/generated",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_be_out_of_date_is_named() {
        let files = |list: &[(&str, &str)]| -> Files {
            list.iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect()
        };
        let wanted = files(&[("a.rs", "1\n2\n"), ("b.rs", "1\n2\n"), ("c.rs", "1\n")]);
        let found = files(&[("a.rs", "1\n2\n"), ("b.rs", "1\n3\n"), ("d.rs", "1\n")]);
        assert_eq!(
            differences(&wanted, &found).collect::<Vec<_>>(),
            [
                "b.rs:2: is not what dubbo-build generates",
                "c.rs: is missing",
                "d.rs: is not generated from anything",
            ]
        );
    }
}
