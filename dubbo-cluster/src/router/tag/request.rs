//! Where a call with a tag goes.

use dubbo_core::{cluster::Candidates, invocation::Invocation, url::Url};

use super::{super::listen::Listen, TAG, index::Index};

/// The tag of a call, if it has one.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Request<'a> {
    tag: Option<&'a str>,
    /// Whether nobody is better than somebody without the tag.
    is_forced: bool,
}

impl<'a> Request<'a> {
    pub(in super::super) fn of(consumer: &'a Url, invocation: &'a Invocation) -> Self {
        let said = |key| {
            let by_call = invocation.attachments.get(key);
            let by_call = by_call.filter(|value| !value.is_empty());
            by_call.or_else(|| consumer.param(key).filter(|value| !value.is_empty()))
        };
        Self {
            tag: said(TAG),
            is_forced: said(FORCE).is_some_and(|force| force.eq_ignore_ascii_case("true")),
        }
    }

    /// Keeps those of `candidates` that such a call goes to. `index` is of their list.
    pub(in super::super) fn apply(
        self,
        index: &Index,
        candidates: &mut Candidates,
        listen: &mut impl Listen,
    ) {
        let Some(tag) = self.tag else {
            if keep_untagged(index, candidates) {
                let what = || "the call has no tag and goes to those without one".to_owned();
                listen.step(what, candidates);
            }
            return;
        };
        let mut left = candidates.narrowed(|_| false);
        let mut force = self.is_forced;
        let tagged = index.tagged(tag, self.is_forced);
        if let Some((_, tagged)) = tagged {
            left = candidates.clone();
            left.intersect(&tagged.places);
            force |= tagged.force;
        }
        if !left.is_empty() || force {
            *candidates = left;
            let what = || {
                let forced = if self.is_forced { ", by force" } else { "" };
                match tagged {
                    Some((level, tagged)) if tagged.is_of_rule => {
                        let forced = if force { ", by force" } else { "" };
                        format!(
                            "the call has the tag `{tag}`{forced}; a rule says who has `{level}`"
                        )
                    }
                    _ => format!("the call has the tag `{tag}`{forced}"),
                }
            };
            listen.step(what, candidates);
            return;
        }
        keep_untagged(index, candidates);
        let what = || {
            format!(
                "the call has the tag `{tag}`, which nobody here has: it goes to those without one"
            )
        };
        listen.step(what, candidates);
    }
}

/// Keeps those without a tag; whether anybody has one.
fn keep_untagged(index: &Index, candidates: &mut Candidates) -> bool {
    let untagged = index.untagged();
    if let Some(places) = untagged {
        candidates.intersect(places);
    }
    untagged.is_some()
}

/// A call with this set goes to nobody rather than to somebody without its tag.
const FORCE: &str = "dubbo.force.tag";
