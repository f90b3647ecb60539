//! What a configuration has become since a URL was made of it.

use std::sync::Arc;

use dubbo_core::url::Url;

/// Parameters that a configuration sets otherwise than when the URL of a reference or a service was made of it, and those
/// that it does not set any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amendment(Vec<(Arc<str>, Option<Arc<str>>)>);

impl Amendment {
    /// What makes `now` of `before`, as far as their parameters go and but for those called like one of `left_out`.
    pub fn between(before: &Url, now: &Url, left_out: &[&str]) -> Self {
        let set = now.params();
        let set = set.filter(|(key, value)| before.param(key) != Some(value));
        let set = set.map(|(key, value)| (key, Some(value)));
        let gone = before.params();
        let gone = gone.filter(|(key, _)| now.param(key).is_none());
        let gone = gone.map(|(key, _)| (key, None));
        let all = set.chain(gone).filter(|(key, _)| !left_out.contains(key));
        Self(
            all.map(|(key, value)| (key.into(), value.map(Into::into)))
                .collect(),
        )
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn apply(&self, url: &Url) -> Url {
        let changed = self.0.iter();
        changed.fold(url.clone(), |url, (key, value)| match value {
            Some(value) => url.with_param(Arc::clone(key), Arc::clone(value)),
            None => url.without_param(key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sets_what_is_said_otherwise_and_takes_away_what_is_not_said_any_more() {
        let url = |query: &str| -> Url {
            let text = format!("consumer://10.0.0.9/a.B?{query}");
            text.parse().expect("a URL")
        };
        let before = url("timeout=1&retries=2&timestamp=5&side=consumer");
        let now = url("timeout=9&sticky=true&timestamp=6&side=consumer");
        let amendment = Amendment::between(&before, &now, &["timestamp"]);
        assert_eq!(
            amendment.apply(&before),
            url("timeout=9&sticky=true&timestamp=5&side=consumer")
        );
        let amendment = Amendment::between(&before, &before, &[]);
        assert!(amendment.is_empty());
        assert_eq!(amendment, Amendment::default());
    }
}
