use dubbo_cluster::resend::PolicyDocument;
use dubbo_core::yaml::Section;

/// Reads `dubbo.retry`, if it is there: the same document as the rule `<application>.resend`, by the same reader
/// (`docs/spec/cluster.md` §7.2).
pub(super) fn read(s: &mut Section<'_, '_>) -> Option<PolicyDocument> {
    let is_there = s.node("retry").is_some();
    is_there.then(|| s.section("retry", PolicyDocument::read))
}
