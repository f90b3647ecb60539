//! Configuration files: no input panics, and there is a tree or there are problems.

#![no_main]

use dubbo_core::yaml::{self, Problems};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut problems = Problems::default();
    let tree = yaml::parse("fuzz.yaml", text, &mut problems);
    assert!(tree.is_some() || problems.has_errors());
    let (errors, warnings) = problems.into_parts();
    for problem in errors.iter().chain(&warnings) {
        assert!(!problem.to_string().is_empty());
    }
});
