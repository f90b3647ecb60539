//! Conditions: no text panics, and one that can be read can be tried.

#![no_main]

use dubbo_cluster::router::{Request, RuleKind, dry_run_as};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let providers = ["tri://10.0.0.1:1/a.B?region=hz&n=7", "tri://10.0.0.2:2/a.B"];
    let providers = providers.map(|url| url.parse().expect("a URL"));
    let request = Request::new("a.B", "find")
        .consumer("region", "hz")
        .argument("7");
    match dry_run_as(RuleKind::Condition, text, &providers, &request) {
        Ok(run) => assert_eq!(run.providers.len(), 2),
        Err(error) => assert!(!error.problems.is_empty()),
    }
});
