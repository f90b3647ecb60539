//! Rules that are scripts.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dubbo_core::{
    cluster::Candidates,
    invocation::Invocation,
    yaml::{ProblemKind, Section},
};

use super::{
    super::{
        chain::count_error,
        document::{self, Head, Mistakes},
        listen::Listen,
    },
    engine,
};
use crate::rules::RuleError;

/// A script that keeps some of the providers that it is given.
#[derive(Debug)]
pub(in super::super) struct Rule {
    is_on: bool,
    pub(super) script: String,
    /// Whether a failure has been told of: the next ones would say the same.
    has_failed: AtomicBool,
}

impl Rule {
    pub(in super::super) fn parse(key: &str, text: &str) -> Result<Self, RuleError> {
        document::rule(key, text, Self::read)
    }

    pub(in super::super) fn read(s: &mut Section<'_, '_>, _: &mut Mistakes) -> Self {
        let is_on = Head::read(s).enabled;
        if let Some(name) = s.string("type")
            && !LANGUAGES
                .iter()
                .any(|known| known.eq_ignore_ascii_case(&name))
        {
            let message = format!("`{name}` cannot be run; scripts are `javascript`");
            s.error("type", ProblemKind::Unsupported, message);
        }
        let script = s.string("script").unwrap_or_default();
        if script.trim().is_empty() {
            if is_on {
                s.error(
                    "script",
                    ProblemKind::Missing,
                    "a script rule needs a script",
                );
            }
        } else if let Err(error) = engine::check(&script) {
            s.error(
                "script",
                ProblemKind::Type,
                format!("it cannot be read: {error}"),
            );
        }
        Self {
            is_on,
            script,
            has_failed: AtomicBool::new(false),
        }
    }

    /// Keeps those of `candidates` that the script returns; all of them when it fails.
    pub(in super::super) fn apply(
        rule: &Arc<Self>,
        invocation: &Invocation,
        candidates: &mut Candidates,
        listen: &mut impl Listen,
    ) {
        if !rule.is_on {
            listen.step(|| "it is switched off".to_owned(), candidates);
            return;
        }
        match engine::run(rule, candidates, invocation) {
            Ok(places) => {
                candidates.intersect(&places);
                listen.step(|| "the script".to_owned(), candidates);
            }
            Err(error) => {
                count_error("script");
                if !rule.has_failed.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        service = %invocation.service, method = invocation.method.name(), %error,
                        "a script rule failed, which changes nothing; the next failures of this rule are only counted"
                    );
                }
                let what = || format!("the script failed, which changes nothing: {error}");
                listen.step(what, candidates);
            }
        }
    }
}

/// What `type` may be.
const LANGUAGES: [&str; 2] = ["javascript", "js"];
