//! What fuzzing begins with: recorded traffic, cut to what each target reads, and the configurations of the examples.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{failure::Failure, process};

/// Writes the seeds of `target` into `corpus`, beside what was found before.
pub(super) fn plant(target: &str, corpus: &Path) -> Result<(), Failure> {
    let mut seeds = match target {
        "yaml" => configurations()?,
        _ => Vec::new(),
    };
    for record in records()? {
        for side in ["request", "response"] {
            if let Some(half) = record.get(side) {
                seeds.extend(of_half(target, half));
            }
        }
    }
    seeds.sort_unstable();
    seeds.dedup();
    for (number, seed) in seeds.iter().enumerate() {
        let file = corpus.join(format!("recorded-{number:04}"));
        fs::write(&file, seed).map_err(|error| {
            let text = format!("{} cannot be written: {error}", file.display());
            Failure::new(text, "make the target folder writable")
        })?;
    }
    Ok(())
}

/// What one direction of a recorded call has for `target`, in the form of its input.
fn of_half(target: &str, half: &Value) -> Vec<Vec<u8>> {
    let data = half.get("data_hex").and_then(Value::as_str);
    let data = data.map(unhex).filter(|data| data.len() < MAX_SEED);
    let message = || data.as_deref().and_then(|data| data.get(5..));
    let headers: Vec<(&str, &str)> = ["headers", "trailers"]
        .iter()
        .filter_map(|block| half.get(block)?.as_array())
        .flatten()
        .filter_map(|pair| Some((pair.get(0)?.as_str()?, pair.get(1)?.as_str()?)))
        .collect();
    let values = |wanted: &[&str]| -> Vec<Vec<u8>> {
        let found = headers.iter().filter(|(name, _)| wanted.contains(name));
        found.map(|(_, value)| value.as_bytes().to_vec()).collect()
    };
    let behind = |front: &[u8], bytes: Option<&[u8]>| -> Vec<Vec<u8>> {
        bytes
            .map(|bytes| [front, bytes].concat())
            .into_iter()
            .collect()
    };
    match target {
        "triple_accept_encoding" => values(&["accept-encoding", "grpc-accept-encoding"]),
        "triple_attachments" | "triple_web_answer" | "triple_web_trailers" => vec![lines(&headers)],
        "triple_content_type" => values(&["content-type", "accept"]),
        "triple_frame" => behind(&[1, 7, 0xff, 0xff], data.as_deref()),
        "triple_json_arguments" => behind(&[0], data.as_deref()),
        "triple_json_error" => values(&["grpc-message"])
            .into_iter()
            .map(|text| [&[2, 0, 0, 0][..], &text].concat())
            .collect(),
        // 404, in front.
        "triple_json_failure" => behind(&[0x94, 1], data.as_deref()),
        "triple_message" => values(&["grpc-message"]),
        "triple_origin" => values(&["origin", "access-control-allow-origin"])
            .into_iter()
            .map(|origin| [b"https://*.example.com\n", &origin[..]].concat())
            .collect(),
        "triple_query" => values(&[":path"])
            .into_iter()
            .filter_map(|path| {
                let at = path.iter().position(|byte| *byte == b'?')?;
                Some(path[at + 1..].to_vec())
            })
            .collect(),
        "triple_reflection"
            if values(&[":path"])
                .iter()
                .any(|path| path.ends_with(b"Info")) =>
        {
            behind(&[], data.as_deref())
        }
        "triple_timeout" => values(&["grpc-timeout", "triple-timeout-ms"]),
        "triple_web_text" => behind(&[3, 5], data.as_deref()),
        "triple_wrapper" => behind(&[], message()),
        _ => Vec::new(),
    }
}

fn lines(headers: &[(&str, &str)]) -> Vec<u8> {
    let lines = headers.iter();
    let lines = lines.map(|(name, value)| format!("{name}:{value}\n"));
    lines.collect::<String>().into_bytes()
}

/// The files of the examples.
fn configurations() -> Result<Vec<Vec<u8>>, Failure> {
    let mut all = Vec::new();
    for path in files(&process::root().join("examples"))? {
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            all.push(read(&path)?.into_bytes());
        }
    }
    Ok(all)
}

fn records() -> Result<Vec<Value>, Failure> {
    let golden = process::root().join("dubbo-test/golden");
    let mut records = Vec::new();
    for peer in ["go", "java"] {
        for path in files(&golden.join(peer))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with("triple-") {
                continue;
            }
            for line in read(&path)?.lines() {
                let record = serde_json::from_str(line).map_err(|error| {
                    let text = format!("{} has a line that is no record: {error}", path.display());
                    Failure::new(text, "restore the file")
                })?;
                records.push(record);
            }
        }
    }
    Ok(records)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: std::io::Error| {
        let text = format!("{} cannot be read: {error}", folder.display());
        Failure::new(text, "restore the folder")
    };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<Result<_, _>>().map_err(unreadable)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        let text = format!("{} cannot be read: {error}", path.display());
        Failure::new(text, "restore the file")
    })
}

fn unhex(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    pairs
        .filter_map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// Longer inputs only slow it down.
const MAX_SEED: usize = 1 << 14;
