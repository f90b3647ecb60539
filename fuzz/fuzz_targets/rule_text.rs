//! Rules of every kind as texts: no input panics; each is a rule, or it is said why not.

#![no_main]

use dubbo_cluster::router::{ConfiguredRule, Request, dry_run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for kind in [
        "affinity-router",
        "condition-router",
        "tag-router",
        "MESHAPPRULE",
    ] {
        if let Err(error) = ConfiguredRule::new(format!("app.{kind}"), text).check() {
            assert!(!error.to_string().is_empty());
        }
    }
    let provider = "tri://10.0.0.1:1/a.B?dubbo.tag=t".parse().expect("a URL");
    let request = Request::new("a.B", "find").attachment("dubbo.tag", "t|u");
    if let Ok(run) = dry_run(text, &[provider], &request) {
        assert!(!run.to_string().is_empty());
    }
});
