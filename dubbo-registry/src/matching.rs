//! Who sees whom: which of the registered URLs a consumer asks for.
//!
//! `docs/spec/registry.md` §1.4, Java's rules. The protocol is not looked at: a consumer that wants another one than a
//! provider speaks should be told so, and not see an empty list.

use dubbo_core::{service::lists, url::Url};

/// What a registered URL is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// An override rule.
    Configurators,
    /// A consumer.
    Consumers,
    /// A provider.
    Providers,
    /// A routing rule.
    Routers,
}

impl Category {
    /// The category of `url`: its parameter `category`, else what its protocol says, else providers.
    ///
    /// # Errors
    ///
    /// The parameter names none.
    pub fn of(url: &Url) -> Result<Self, UnknownCategory> {
        let Some(name) = non_empty(url, "category") else {
            return Ok(match url.protocol() {
                "consumer" => Self::Consumers,
                "override" | "absent" => Self::Configurators,
                "route" | "condition" | "script" => Self::Routers,
                _ => Self::Providers,
            });
        };
        ALL.into_iter()
            .find(|category| category.name() == name)
            .ok_or_else(|| UnknownCategory(name.to_owned()))
    }

    /// Its name, as `category=` writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configurators => "configurators",
            Self::Consumers => "consumers",
            Self::Providers => "providers",
            Self::Routers => "routers",
        }
    }

    /// Whether `consumer` asks for it: its `category` lists it or is `*`; without one it asks for all.
    pub fn is_wanted_by(self, consumer: &Url) -> bool {
        non_empty(consumer, "category").is_none_or(|list| lists(list, self.name()))
    }
}

/// A `category` that no registry has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("category `{0}` is none of configurators, consumers, providers, routers")]
pub struct UnknownCategory(String);

/// Whether `consumer` is to see `registered`: it [wants](dubbo_core::service::ServiceKey::wants) the interface, group and
/// version, and `registered` is not switched off. [`Category::is_wanted_by`] is another question.
pub fn matches(consumer: &Url, registered: &Url) -> bool {
    is_enabled(consumer, registered) && consumer.service_key().wants(&registered.service_key())
}

/// The half of [`matches`] that is about being switched off.
pub(crate) fn is_enabled(consumer: &Url, registered: &Url) -> bool {
    non_empty(registered, "enabled").is_none_or(|enabled| enabled == "true")
        || consumer.param("enabled") == Some(ANY)
}

fn non_empty<'a>(url: &'a Url, key: &str) -> Option<&'a str> {
    url.param(key).filter(|value| !value.is_empty())
}

const ANY: &str = "*";

const ALL: [Category; 4] = [
    Category::Configurators,
    Category::Consumers,
    Category::Providers,
    Category::Routers,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().expect(text)
    }

    #[test]
    fn the_category_is_written_or_follows_from_the_protocol() {
        for (text, want) in [
            ("tri://h/a.B", Ok(Category::Providers)),
            ("tri://h/a.B?category=", Ok(Category::Providers)),
            ("consumer://h/a.B", Ok(Category::Consumers)),
            (
                "consumer://h/a.B?category=providers",
                Ok(Category::Providers),
            ),
            ("override://h/a.B", Ok(Category::Configurators)),
            ("route://h/a.B", Ok(Category::Routers)),
            (
                "tri://h/a.B?category=x",
                Err(UnknownCategory("x".to_owned())),
            ),
        ] {
            assert_eq!(Category::of(&url(text)), want, "{text}");
        }
    }

    #[test]
    fn a_consumer_without_a_category_asks_for_all() {
        for (query, want) in [
            ("", &ALL[..]),
            ("category=*", &ALL),
            (
                "category=providers,%20routers",
                &[Category::Providers, Category::Routers],
            ),
            ("category=consumers", &[Category::Consumers]),
        ] {
            let consumer = url(&format!("consumer://h/a.B?{query}"));
            let wanted: Vec<_> = ALL
                .into_iter()
                .filter(|c| c.is_wanted_by(&consumer))
                .collect();
            assert_eq!(wanted, want, "{query}");
        }
    }

    #[test]
    fn interface_group_version_and_enabled_decide() {
        for (consumer, provider, want) in [
            ("a.B", "a.B", true),
            ("a.B", "a.C", false),
            ("*", "a.C?group=g", false),
            ("*?group=*", "a.C?group=g", true),
            ("a.B?group=g", "a.B", false),
            ("a.B", "a.B?group=g", false),
            ("a.B?group=", "a.B?group=", true),
            ("a.B?group=*", "a.B", true),
            ("a.B?group=f,%20g", "a.B?group=g", true),
            ("a.B?group=f,g", "a.B", false),
            ("a.B?version=*", "a.B?version=1", true),
            ("a.B?version=1", "a.B?version=1.0", false),
            ("a.B?version=1", "a.B?version=*", false),
            ("a.B", "a.B?enabled=false", false),
            ("a.B", "a.B?enabled=", true),
            ("a.B?enabled=*", "a.B?enabled=false", true),
            ("p?interface=a.B", "q?interface=a.B", true),
        ] {
            let consumer = url(&format!("consumer://h/{consumer}"));
            let provider = url(&format!("tri://h/{provider}"));
            assert_eq!(
                matches(&consumer, &provider),
                want,
                "{consumer} and {provider}"
            );
        }
    }
}
