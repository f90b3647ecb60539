//! Which routers stand in a chain.

use dubbo_core::{
    cluster::Router,
    extension::{ExtensionError, Extensions},
    url::Url,
};

/// The routers that stand in every chain. One without a rule costs a call next to nothing.
pub fn defaults() -> &'static [&'static str] {
    &[
        "mesh",
        "affinity",
        "tag",
        "script",
        "condition-service",
        "condition-provider-app",
        "condition-app",
    ]
}

/// The names that the consumer's parameter `router`, a list with commas, makes of the defaults: `mine` adds one, `-tag`
/// takes one out, `-default` takes all of them out. What comes later counts.
pub(super) fn chosen(
    extensions: &Extensions,
    consumer: &Url,
) -> Result<Vec<&'static str>, ExtensionError> {
    let mut chosen = defaults().to_vec();
    let names = consumer.param(PARAM).unwrap_or_default().split(',');
    for name in names.map(str::trim).filter(|name| !name.is_empty()) {
        let (name, is_wanted) = match name.strip_prefix('-') {
            Some(name) => (name.trim(), false),
            None => (name, true),
        };
        let names = if name.eq_ignore_ascii_case(ALL_DEFAULTS) {
            defaults().to_vec()
        } else {
            vec![extensions.canonical::<dyn Router>(name)?]
        };
        chosen.retain(|chosen| !names.contains(chosen));
        if is_wanted {
            chosen.extend(names);
        }
    }
    Ok(chosen)
}

/// Dubbo Java's parameter of a reference.
const PARAM: &str = "router";

const ALL_DEFAULTS: &str = "default";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_core::{cluster::Candidates, invocation::Invocation};

    use super::*;
    use crate::testing::consumer;

    struct Mine;

    impl Router for Mine {
        fn route(&self, _: &mut Candidates, _: &Url, _: &Invocation) {}
    }

    #[test]
    fn a_list_adds_to_the_defaults_and_takes_from_them() {
        let mut extensions = Extensions::linked().expect("no duplicates");
        extensions.register::<dyn Router>("Mine", |_cx| Ok(Arc::new(Mine)));
        let all = defaults().join(" ");
        let without_tag = all.replace(" tag", "");
        for (param, want) in [
            ("", all.clone()),
            ("default", all.clone()),
            ("mine", format!("{all} Mine")),
            (" -tag , mine,", format!("{without_tag} Mine")),
            ("-default", String::new()),
            ("-DEFAULT,Tag", "tag".to_owned()),
            ("mine,-mine", all.clone()),
            (
                "-service,-provider-app,-app,-mesh,-affinity,-script",
                "tag".to_owned(),
            ),
        ] {
            let consumer = consumer().with_param(PARAM, param);
            let chosen = chosen(&extensions, &consumer).expect(param);
            assert_eq!(chosen.join(" "), want, "{param}");
        }
        for param in ["other", "-other"] {
            let consumer = consumer().with_param(PARAM, param);
            let error = chosen(&extensions, &consumer).expect_err(param).to_string();
            assert!(
                error.starts_with("no router is called `other`; linked: ["),
                "{error}"
            );
        }
    }
}
