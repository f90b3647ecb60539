//! What consoles keep for consumers besides routes, as texts: migration, overrides, policies of trying again and switches. No
//! input panics; each is read, or it is said why not.

#![no_main]

use dubbo_cluster::{
    configurator::Configurators,
    migration::Rule,
    resend::{Switches, policy::PolicyDocument},
    rules::key::Subject,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Rule::parse("app.migration", text) {
        assert!(!error.to_string().is_empty());
    }
    let service = "a.B".parse().expect("a key");
    for subject in [Subject::Application("app"), Subject::Service(&service)] {
        if let Err(error) = Configurators::parse(subject, text) {
            assert!(!error.to_string().is_empty());
        }
    }
    if let Err(problems) = PolicyDocument::parse("app.resend", text) {
        assert!(!problems.is_empty());
        assert!(
            problems
                .iter()
                .all(|problem| !problem.to_string().is_empty())
        );
    }
    if let Err(error) = Switches::parse("app.switches", text) {
        assert!(!error.to_string().is_empty());
    }
});
