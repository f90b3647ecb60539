//! Configs: what is written, what reads see of it, and who is told (`docs/spec/nacos-2.5.1.md` §7).

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use super::{
    answer::Refusal,
    delays::Delays,
    key::{ConfigKey, ConnectionId},
    service_info::unix_millis,
};

/// The content of a config and what is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Never blank.
    pub content: String,
    /// Of the content's UTF-8 bytes, in lower-case hexadecimal digits.
    pub md5: String,
    /// `text` unless a type was given that Nacos knows.
    pub content_type: String,
    pub(super) encrypted_data_key: String,
    pub(super) modified: u128,
}

impl Config {
    pub(super) fn new(content: &str, content_type: &str, encrypted_data_key: &str) -> Self {
        let known = TYPES.contains(&content_type);
        Self {
            content: content.to_owned(),
            md5: format!("{:x}", md5::compute(content)),
            content_type: if known { content_type } else { "text" }.to_owned(),
            encrypted_data_key: encrypted_data_key.to_owned(),
            modified: unix_millis(),
        }
    }
}

/// All configs.
#[derive(Debug, Default)]
pub(super) struct Configs {
    /// What the data base has: compare-and-set looks here.
    stored: BTreeMap<ConfigKey, Config>,
    /// What reads are answered from.
    dumped: BTreeMap<ConfigKey, Config>,
    dumps: BTreeMap<ConfigKey, Instant>,
    listeners: BTreeMap<ConfigKey, BTreeSet<ConnectionId>>,
}

impl Configs {
    /// With a non-blank `cas_md5`, only if that is the MD5 of what is stored, or nothing is.
    pub(super) fn publish(
        &mut self,
        key: &ConfigKey,
        config: Config,
        cas_md5: &str,
        now: Instant,
        delays: Delays,
    ) -> Result<(), Refusal> {
        let old = self.stored.get(key);
        if !cas_md5.trim().is_empty() && old.is_some_and(|old| old.md5 != cas_md5) {
            let text = "Cas publish fail, server md5 may have changed.";
            return Err(Refusal::typed(500, text));
        }
        self.stored.insert(key.clone(), config);
        self.dump(key, now, delays);
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &ConfigKey, now: Instant, delays: Delays) {
        if self.stored.remove(key).is_some() {
            self.dump(key, now, delays);
        }
    }

    /// What a reader sees.
    pub(super) fn read(&self, key: &ConfigKey) -> Option<&Config> {
        self.dumped.get(key)
    }

    /// What was written last.
    pub(super) fn stored(&self, key: &ConfigKey) -> Option<&Config> {
        self.stored.get(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &ConfigKey> {
        self.stored.keys()
    }

    /// Whether readers see something else than what has this `md5`: `""` if nothing.
    pub(super) fn listen(&mut self, connection: ConnectionId, key: &ConfigKey, md5: &str) -> bool {
        let listeners = self.listeners.entry(key.clone()).or_default();
        listeners.insert(connection);
        self.read(key).map_or("", |config| &config.md5) != md5
    }

    pub(super) fn unlisten(&mut self, connection: ConnectionId, key: &ConfigKey) {
        if let Some(listeners) = self.listeners.get_mut(key) {
            listeners.remove(&connection);
        }
    }

    pub(super) fn listeners(&self, key: &ConfigKey) -> impl Iterator<Item = ConnectionId> {
        self.listeners.get(key).into_iter().flatten().copied()
    }

    pub(super) fn disconnect(&mut self, connection: ConnectionId) {
        for listeners in self.listeners.values_mut() {
            listeners.remove(&connection);
        }
    }

    /// What is stored is what readers see after a start.
    pub(super) fn crash(&mut self) {
        self.dumped = self.stored.clone();
        self.dumps.clear();
        self.listeners.clear();
    }

    /// When [`advance`](Self::advance) has something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        self.dumps.values().min().copied()
    }

    /// Shows readers what is due, and says who is to be told of it.
    pub(super) fn advance(&mut self, now: Instant) -> Vec<(ConnectionId, ConfigKey)> {
        let due: Vec<_> = self.dumps.extract_if(.., |_, due| *due <= now).collect();
        let mut told = Vec::new();
        for (key, _) in due {
            let new = self.stored.get(&key).cloned();
            let md5 = |config: &Option<Config>| config.as_ref().map(|config| config.md5.clone());
            let new_md5 = md5(&new);
            let old = match new {
                Some(config) => self.dumped.insert(key.clone(), config),
                None => self.dumped.remove(&key),
            };
            if md5(&old) != new_md5 {
                told.extend(self.listeners(&key).map(|listener| (listener, key.clone())));
            }
        }
        told
    }

    /// Writes that come before the first of them is shown are shown with it.
    fn dump(&mut self, key: &ConfigKey, now: Instant, delays: Delays) {
        let due = self.dumps.entry(key.clone());
        due.or_insert(now + delays.read);
    }
}

/// Any other is `text`.
const TYPES: [&str; 8] = [
    "html",
    "json",
    "properties",
    "text",
    "toml",
    "unset",
    "xml",
    "yaml",
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn compare_and_set_compares_with_what_is_stored() {
        let now = Instant::now();
        let md5 = Config::new("a", "text", "").md5;
        for (stored, cas, done) in [
            (None, "", true),
            (None, "0", true),
            (Some("a"), "", true),
            (Some("a"), " ", true),
            (Some("a"), &*md5, true),
            (Some("a"), "0", false),
            (Some("a"), &*md5.to_uppercase(), false),
        ] {
            let key = ConfigKey::new("", "g", "d");
            let mut configs = Configs::default();
            let mut publish = |content, cas: &str| {
                let config = Config::new(content, "text", "");
                configs.publish(&key, config, cas, now, Delays::default())
            };
            if let Some(content) = stored {
                publish(content, "").expect("nothing is compared");
            }
            let result = publish("b", cas);
            assert_eq!(result.is_ok(), done, "{stored:?} {cas:?}");
            let content = configs.stored(&key).map(|config| &*config.content);
            assert_eq!(content, if done { Some("b") } else { stored });
        }
    }

    #[test]
    fn reads_lag_behind_writes_and_listeners_are_told_once() {
        let (key, listener) = (ConfigKey::new("", "g", "d"), ConnectionId(1));
        let delays = Delays::default();
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut configs = Configs::default();
        assert!(
            !configs.listen(listener, &key, ""),
            "nothing is what it has"
        );
        for (content, when) in [("a", 0), ("b", 50)] {
            let config = Config::new(content, "text", "");
            configs
                .publish(&key, config, "", at(when), delays)
                .expect("nothing is compared");
        }
        assert_eq!(configs.due(), Some(at(100)));
        assert_eq!(configs.advance(at(99)), []);
        assert_eq!(configs.read(&key), None);
        assert_eq!(configs.advance(at(100)), [(listener, key.clone())]);
        let content = configs.read(&key).map(|config| &*config.content);
        assert_eq!(content, Some("b"));
        assert_eq!(configs.due(), None);

        let same = Config::new("b", "text", "");
        configs
            .publish(&key, same, "", at(200), delays)
            .expect("nothing is compared");
        assert_eq!(configs.advance(at(300)), [], "nothing is new");
        configs.remove(&key, at(300), delays);
        assert_eq!(configs.advance(at(400)), [(listener, key)]);
    }
}
