//! Which filters stand around a call: a configured list of names, turned into a chain.

use std::sync::Arc;

use dubbo_core::{
    extension::{ExtensionError, Extensions},
    filter::Filter,
    url::Url,
};

/// The filters that dubbo-go puts around every service. None of them exists here yet.
pub(super) const PROVIDER: &[&str] = &[];

/// The filters that dubbo-go puts around every reference. None of them exists here yet.
pub(super) const CONSUMER: &[&str] = &[];

/// The names that `configured` stands for (`docs/spec/config.md` §1.14, §1.16).
///
/// `default` is the built-in chain, `-name` takes a filter out. Without `default`, a provider's list replaces the
/// built-in chain, and a consumer's comes after it (`keep_builtin`).
pub(super) fn names(
    configured: Option<&[String]>,
    builtin: &[&str],
    keep_builtin: bool,
) -> Vec<String> {
    let builtin = || builtin.iter().map(|&name| name.to_owned());
    let Some(configured) = configured else {
        return builtin().collect();
    };
    let is_default = |name: &str| name.eq_ignore_ascii_case("default");
    let (removed, kept): (Vec<_>, Vec<_>) = configured
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
        .partition(|name| name.starts_with('-'));
    let mut chain = Vec::new();
    if keep_builtin && !kept.iter().any(|name| is_default(name)) {
        chain.extend(builtin());
    }
    for name in kept {
        if is_default(name) {
            chain.extend(builtin());
        } else {
            chain.push(name.to_owned());
        }
    }
    chain.retain(|name| {
        !removed
            .iter()
            .any(|gone| gone[1..].trim().eq_ignore_ascii_case(name))
    });
    chain
}

/// Makes the filters of these names for `url`.
pub(super) fn create(
    extensions: &Extensions,
    names: &[String],
    url: &Url,
) -> Result<Vec<Arc<dyn Filter>>, ExtensionError> {
    names
        .iter()
        .map(|name| extensions.create::<dyn Filter>(name, url))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_replaces_a_providers_chain_and_follows_a_consumers() {
        let builtin = ["echo", "tps"];
        for (configured, provider, consumer) in [
            (None, "echo tps", "echo tps"),
            (Some("audit"), "audit", "echo tps audit"),
            (Some("audit default"), "audit echo tps", "audit echo tps"),
            (Some("default audit -tps"), "echo audit", "echo audit"),
            (Some("-TPS"), "", "echo"),
            (Some("audits -audit"), "audits", "echo tps audits"),
            (Some(""), "", "echo tps"),
        ] {
            let list: Option<Vec<String>> =
                configured.map(|text: &str| text.split(' ').map(str::to_owned).collect());
            let chain = |keep| names(list.as_deref(), &builtin, keep).join(" ");
            assert_eq!(chain(false), provider, "provider {configured:?}");
            assert_eq!(chain(true), consumer, "consumer {configured:?}");
        }
    }
}
