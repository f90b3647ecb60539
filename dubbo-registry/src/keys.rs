//! Parameters of a registry's URL that all kinds of registries have.

use std::time::Duration;

use dubbo_core::{
    extension::BoxError,
    url::{Key, Url},
};

/// Those that all kinds of registries read.
pub(crate) const PARAMETERS: &[&str] = &[EMPTY_PROTECTION.name, OUTAGE_GRACE.name, TTL.name];

/// Whether the last list stays when a registry says that nobody is left.
pub(crate) const EMPTY_PROTECTION: Key<bool> = Key {
    name: "enable-empty-protection",
    default: || false,
};

/// How often the registry of `url` wants what is shown and followed to be looked at unasked; `None` if it does not say.
///
/// # Errors
///
/// `ttl` cannot be read, or makes no sense: a registry that is asked all the time has no time for anything else.
pub(crate) fn ttl(url: &Url) -> Result<Option<Duration>, BoxError> {
    let ttl = url.get(&TTL)?;
    if let Some(ttl) = ttl.filter(|ttl| !(SHORTEST..=LONGEST).contains(ttl)) {
        let reason = format!(
            "parameter `{}` is {ttl:?}, where {SHORTEST:?} to {LONGEST:?} make sense: how often what is registered and \
             what is followed is compared with what it should be",
            TTL.name
        );
        return Err(reason.into());
    }
    Ok(ttl)
}

/// How long the registry of `url` wants those to be kept who are missing after an outage; `None` if it does not say.
///
/// # Errors
///
/// `outage-grace` cannot be read, or makes no sense.
pub(crate) fn outage_grace(url: &Url) -> Result<Option<Duration>, BoxError> {
    let grace = url.get(&OUTAGE_GRACE)?;
    if let Some(grace) = grace.filter(|grace| *grace > LONGEST) {
        let reason = format!(
            "parameter `{}` is {grace:?}, where 0 to {LONGEST:?} make sense: how long those who are missing after an \
             outage of the registry are kept",
            OUTAGE_GRACE.name
        );
        return Err(reason.into());
    }
    Ok(grace)
}

/// dubbo-go's name. It has 15 min by default, which is long for a provider to be missed.
const TTL: Key<Option<Duration>> = Key {
    name: "ttl",
    default: || None,
};

/// Ours. Dubbo has no word for it.
const OUTAGE_GRACE: Key<Option<Duration>> = Key {
    name: "outage-grace",
    default: || None,
};

const SHORTEST: Duration = Duration::from_secs(1);

const LONGEST: Duration = Duration::from_hours(24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_that_makes_no_sense_is_refused() {
        let grace = |text: &str| {
            let url: Url = text.parse().expect("valid");
            outage_grace(&url).map_err(|error| error.to_string())
        };
        assert_eq!(grace("memory://h"), Ok(None));
        assert_eq!(grace("memory://h?outage-grace=0"), Ok(Some(Duration::ZERO)));
        assert_eq!(
            grace("memory://h?outage-grace=45s"),
            Ok(Some(Duration::from_secs(45)))
        );
        let error = grace("memory://h?outage-grace=25h").expect_err("is refused");
        assert!(
            error.contains("`outage-grace` is 90000s, where 0 to"),
            "{error}"
        );
    }

    #[test]
    fn a_ttl_that_makes_no_sense_is_refused() {
        for (text, want) in [
            ("memory://h", Ok(None)),
            ("memory://h?ttl=1000", Ok(Some(1))),
            ("memory://h?ttl=15m", Ok(Some(900))),
            ("memory://h?ttl=24h", Ok(Some(86_400))),
            (
                "memory://h?ttl=0",
                Err(
                    "parameter `ttl` is 0ns, where 1s to 86400s make sense: how often what is registered and what is followed is compared with what it should be",
                ),
            ),
            ("memory://h?ttl=999", Err("parameter `ttl` is 999ms, where")),
            (
                "memory://h?ttl=25h",
                Err("parameter `ttl` is 90000s, where"),
            ),
            ("memory://h?ttl=soon", Err("ttl")),
        ] {
            let url: Url = text.parse().expect("valid");
            match (ttl(&url), want) {
                (Ok(found), Ok(want)) => assert_eq!(found, want.map(Duration::from_secs), "{text}"),
                (Err(error), Err(want)) => {
                    let error = error.to_string();
                    assert!(error.contains(want), "{text}: {error}");
                }
                (found, want) => panic!("{text}: {found:?} instead of {want:?}"),
            }
        }
    }
}
