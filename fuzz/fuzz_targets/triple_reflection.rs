//! Questions of reflection: no input panics, each that can be read has one answer, of the files only what there is, and a
//! stream is not told twice what it did not ask for twice.

#![no_main]

use dubbo_protocol::fuzzing::{messages, reflected};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (requests, _) = messages(bytes.len(), None, bytes, usize::MAX);
    let requests: Vec<&[u8]> = requests
        .iter()
        .map(|request| &request[..])
        .take(64)
        .collect();
    let requests = &requests[..];
    let answers = reflected(requests);
    assert!(answers.len() <= requests.len());
    let asked: usize = requests.iter().map(|request| request.len()).sum();
    let told: usize = answers.iter().map(Vec::len).sum();
    // The question, its host and its name in words; and the files, of which each is small.
    assert!(told <= 8 * asked + FILES * requests.len().max(1));
    assert_eq!(reflected(requests), answers);
});

/// More than all files that are known there.
const FILES: usize = 1 << 14;
