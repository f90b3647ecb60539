//! Which calls a policy is for.

use dubbo_core::{service::ServiceKey, yaml::Section};

use super::Glob;

/// Which calls a policy is for: those that fit all that it says. Without a word it is for all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Match {
    /// `service`: the interface, or `group/interface:version`.
    pub service: Option<Glob>,
    /// `methods`: one of these.
    pub methods: Vec<Glob>,
    /// `tag`: the colour of the traffic, `dubbo.tag`. `*` is any, and none, too.
    pub tag: Option<Glob>,
}

/// How exactly a policy names the calls that it is for: the greater one counts. A method before a service before a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::resend) struct Exactness {
    method: Option<(bool, usize)>,
    service: Option<(bool, usize)>,
    tag: Option<(bool, usize)>,
}

impl Match {
    /// Reads `match`.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let methods = s.list("methods").unwrap_or_default();
        Self {
            service: s.string("service").map(|service| Glob::new(&service)),
            methods: methods.iter().map(|method| Glob::new(method)).collect(),
            tag: s.string("tag").map(|tag| Glob::new(&tag)),
        }
    }

    /// How exactly it names `method` of `service`, whatever the colour; `None` when it is for others.
    pub(in crate::resend) fn fits(&self, service: &ServiceKey, method: &str) -> Option<Exactness> {
        let fits =
            |glob: &&Glob| glob.matches(service.interface()) || glob.matches(&service.to_string());
        let of_service = match &self.service {
            Some(glob) => Some(glob).filter(fits)?.exactness().into(),
            None => None,
        };
        let of_method = if self.methods.is_empty() {
            None
        } else {
            let named = self.methods.iter().filter(|glob| glob.matches(method));
            Some(named.map(Glob::exactness).max()?)
        };
        Some(Exactness {
            method: of_method,
            service: of_service,
            tag: self.colour().map(Glob::exactness),
        })
    }

    /// The colours that it is for, unless it is for all and for none.
    pub(in crate::resend) fn colour(&self) -> Option<&Glob> {
        self.tag.as_ref().filter(|tag| !tag.is_any())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(service: &str, methods: &[&str], tag: &str) -> Match {
        let glob = |text: &str| (!text.is_empty()).then(|| Glob::new(text));
        Match {
            service: glob(service),
            methods: methods.iter().map(|method| Glob::new(method)).collect(),
            tag: glob(tag),
        }
    }

    #[test]
    fn the_more_exact_name_counts_methods_first() {
        let service: ServiceKey = "g/com.x.Pay:1.0".parse().expect("valid");
        let rising = [
            of("", &[], ""),
            of("", &[], "gray"),
            of("com.*", &[], ""),
            of("com.x.*", &[], "gray"),
            of("com.x.Pay", &[], ""),
            of("", &["q*"], ""),
            of("", &["query*"], ""),
            of("com.x.Pay", &["query*"], ""),
            of("", &["find", "queryAll"], ""),
            of("g/com.x.Pay:1.0", &["queryAll"], "*"),
            of("g/com.x.Pay:1.0", &["queryAll"], "gray"),
        ];
        let exactness = rising.each_ref().map(|it| it.fits(&service, "queryAll"));
        assert!(exactness.iter().all(Option::is_some), "{exactness:?}");
        assert!(exactness.is_sorted(), "{exactness:?}");
        for other in [
            of("com.x.Pa", &[], ""),
            of("com.x.Pay", &["find*"], ""),
            of("h/com.x.Pay:1.0", &[], ""),
        ] {
            assert_eq!(other.fits(&service, "queryAll"), None, "{other:?}");
        }
        assert_eq!(rising[9].colour(), None);
    }
}
