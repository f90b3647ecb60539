//! All that is said about trying again: the section `dubbo.retry`, or the rule `<application>.resend`.

use std::{collections::BTreeMap, sync::Arc};

use dubbo_core::yaml::{Problem, Problems, Reader, parse};

use super::{Match, Mode, PolicyOptions};
use crate::resend::{budget::BudgetOptions, dead_letter::DeadLetterOptions, pool::PoolOptions};

/// All that is said about trying again (`docs/spec/cluster.md` §7.2).
///
/// ```
/// use dubbo_cluster::resend::policy::PolicyDocument;
///
/// let document = PolicyDocument::parse("shop.resend", "
/// policies:
///   payment:
///     match: { service: com.x.Pay, methods: ['query*'] }
///     max-attempts: 4
/// ");
/// let document = document.expect("no mistakes");
/// assert_eq!(document.policies["payment"].options.max_attempts, Some(4));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct PolicyDocument {
    /// `mode`: the rules of calls that no policy is for.
    pub mode: Mode,
    /// `budget`: the name of the budget that calls of mode `compat` take their retries from; none by default.
    pub budget: Option<Arc<str>>,
    /// `policies`, by name.
    pub policies: BTreeMap<Arc<str>, NamedPolicy>,
    /// `budgets`, by name. `default` need not be among them.
    pub budgets: BTreeMap<Arc<str>, BudgetOptions>,
    /// `pools`, by name. `default` and `gray` need not be among them.
    pub pools: BTreeMap<Arc<str>, PoolOptions>,
    /// `dead-letter`: where calls are kept that are given up. It is read once, when the instance is built.
    pub dead_letter: Option<DeadLetterOptions>,
}

/// One policy: for which calls, and what it says.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct NamedPolicy {
    /// `match`: the calls that it is for.
    pub matching: Match,
    /// What it says.
    pub options: PolicyOptions,
}

impl PolicyDocument {
    /// Reads a text of its own; `source` is what messages call it.
    ///
    /// # Errors
    ///
    /// All mistakes, in their order.
    pub fn parse(source: &str, text: &str) -> Result<Self, Vec<Problem>> {
        let mut problems = Problems::default();
        let document = parse(source, text, &mut problems);
        let mut reader = Reader::new(problems);
        let read = reader.read("", document.as_ref(), Self::read);
        let (errors, warnings) = reader.finish().0.into_parts();
        for warning in warnings {
            tracing::warn!(%warning, "a rule about trying again");
        }
        if errors.is_empty() {
            Ok(read)
        } else {
            Err(errors)
        }
    }
}
