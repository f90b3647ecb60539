//! Script rules where there is no engine to run them.

use std::sync::Arc;

use dubbo_core::{
    cluster::Candidates,
    invocation::Invocation,
    yaml::{ProblemKind, Section},
};

use super::super::{document::Mistakes, listen::Listen};
use crate::rules::RuleError;

/// There is none.
#[derive(Debug)]
pub(in super::super) enum Rule {}

impl Rule {
    /// Refuses every text: who says a rule shall hear that it has no effect.
    pub(in super::super) fn parse(_key: &str, _text: &str) -> Result<Self, RuleError> {
        Err(RuleError::new(WHY))
    }

    /// Refuses a script where it stands.
    pub(in super::super) fn read(s: &mut Section<'_, '_>, _: &mut Mistakes) {
        s.string("type");
        s.error("script", ProblemKind::Unsupported, WHY);
    }

    pub(in super::super) fn apply(
        rule: &Arc<Self>,
        _invocation: &Invocation,
        _candidates: &mut Candidates,
        _listen: &mut impl Listen,
    ) {
        match **rule {}
    }
}

const WHY: &str = "scripts are not built in: add the feature `script` to the dependency `dubbo`";
