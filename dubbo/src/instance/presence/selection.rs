//! Which services are meant, in which registries.

use dubbo_cluster::migration::Path;
use dubbo_core::service::ServiceKey;
use regex::{Regex, RegexBuilder};

/// Which services are meant, where they stand in registries: by default all of them everywhere.
///
/// ```
/// use dubbo::{Selection, migration::Path};
///
/// // The services of one package, by their interfaces alone, in the registry that the configuration calls `east`.
/// let selected = Selection::all().services("shop\\..*")?.by(Path::Interface).at("east");
/// # Ok::<_, dubbo::BadPattern>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Selection {
    services: Option<Regex>,
    path: Option<Path>,
    registry: Option<String>,
}

/// A pattern that is no regular expression.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{pattern}` is no pattern of services: {source}")]
pub struct BadPattern {
    pattern: String,
    source: regex::Error,
}

impl Selection {
    /// Every service in every registry.
    pub fn all() -> Self {
        Self::default()
    }

    /// The services whose keys, `group/interface:version`, or whose interfaces fit the regular expression `pattern` from
    /// their first letter to their last, as in Dubbo Java.
    ///
    /// # Errors
    ///
    /// `pattern` is no regular expression, or a very large one.
    pub fn services(mut self, pattern: &str) -> Result<Self, BadPattern> {
        let whole = RegexBuilder::new(&format!("^(?:{pattern})$"))
            .size_limit(MOST_BYTES)
            .build();
        self.services = Some(whole.map_err(|source| BadPattern {
            pattern: pattern.to_owned(),
            source,
        })?);
        Ok(self)
    }

    /// Only as they stand in registries by their interfaces, or with the application.
    pub fn by(mut self, path: Path) -> Self {
        self.path = Some(path);
        self
    }

    /// Only in the registry that the configuration calls `id`.
    pub fn at(mut self, id: impl Into<String>) -> Self {
        self.registry = Some(id.into());
        self
    }

    pub(super) fn fits(&self, service: &ServiceKey, registry: &str, path: Path) -> bool {
        let is_of_registry = self.registry.as_deref().is_none_or(|id| id == registry);
        let is_by_path = self.path.is_none_or(|wanted| wanted == path);
        is_of_registry
            && is_by_path
            && self.services.as_ref().is_none_or(|pattern| {
                pattern.is_match(&service.to_string()) || pattern.is_match(service.interface())
            })
    }
}

/// What a compiled pattern may take.
const MOST_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_the_whole_key_or_the_whole_interface() {
        let service: ServiceKey = "g/shop.Users:1.0".parse().expect("a key");
        for (pattern, want) in [
            (".*", true),
            ("shop.Users", true),
            ("g/shop.Users:1.0", true),
            ("g/.*", true),
            ("shop", false),
            ("Users", false),
            ("a|shop.Users", true),
            (".*Users|b", true),
        ] {
            let selected = Selection::all().services(pattern).expect(pattern);
            assert_eq!(
                selected.fits(&service, "r", Path::Interface),
                want,
                "{pattern}"
            );
        }
        let error = Selection::all().services("(").expect_err("no pattern");
        assert!(
            error
                .to_string()
                .starts_with("`(` is no pattern of services"),
            "{error}"
        );
        Selection::all()
            .services(&format!("(?:{}){{1000}}", "x{100}"))
            .expect_err("too large");
    }

    #[test]
    fn a_registry_and_a_way_narrow_it() {
        let service: ServiceKey = "shop.Users".parse().expect("a key");
        let selected = Selection::all().by(Path::Application).at("east");
        assert!(selected.fits(&service, "east", Path::Application));
        assert!(!selected.fits(&service, "east", Path::Interface));
        assert!(!selected.fits(&service, "west", Path::Application));
    }
}
