//! Where what consumers know of metadata is kept for the next start.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Once},
};

use dubbo_core::url::Url;
use dubbo_metadata::cache::Cache;

use crate::{
    config::{Config, Environment, FILE_CACHE, MetadataCacheConfig, defaults},
    instance::export::application_name,
};

/// The caches of one instance (`docs/spec/metadata.md` §4.4).
pub(in crate::instance) struct Caches {
    config: MetadataCacheConfig,
    /// In a folder of the application; none when nobody knows where that may be.
    in_files: Option<Arc<Cache>>,
    warning: Once,
}

impl Caches {
    pub(in crate::instance) fn new(config: &Config, environment: &Environment) -> Self {
        let cache = &config.metadata.cache;
        let home = || {
            let mut names = ["HOME", "USERPROFILE"].into_iter();
            let home = names.find_map(|name| environment.get(name))?;
            Some(Path::new(home).join(".dubbo/rust"))
        };
        let path = cache.path.as_deref().filter(|path| !path.is_empty());
        let base = path.map(PathBuf::from).or_else(home);
        let in_files =
            base.map(|base| Cache::in_folder(&base, application_name(config), room(cache)));
        Self {
            config: cache.clone(),
            in_files,
            warning: Once::new(),
        }
    }

    /// The cache for the registry at `url`.
    pub(super) fn of(&self, url: &Url) -> Arc<Cache> {
        let in_memory = || Cache::in_memory(room(&self.config));
        if !is_kept(&self.config, url) {
            return in_memory();
        }
        self.in_files.clone().unwrap_or_else(|| {
            self.warning.call_once(|| {
                tracing::warn!(
                    "metadata is not kept for the next start: there is no home folder; set `dubbo.metadata.cache.path`, \
                     or `dubbo.metadata.cache.enabled: false`"
                );
            });
            in_memory()
        })
    }

    /// Writes what has not been written. For when the consumers are closed.
    pub(super) async fn close(&self) {
        if let Some(cache) = &self.in_files {
            cache.close().await;
        }
    }
}

/// Whether what the registry at `url` makes known is kept in files. Each setting can switch it off; without any it is on
/// where it is of use: those registries that are not there after a restart, or are as near as the files, need none.
fn is_kept(config: &MetadataCacheConfig, url: &Url) -> bool {
    let own = url.param(FILE_CACHE).and_then(|value| value.parse().ok());
    let is_near = ["file", "memory"]
        .iter()
        .any(|near| near.eq_ignore_ascii_case(url.protocol()));
    match (own, config.enabled) {
        (Some(false), _) | (_, Some(false)) => false,
        (Some(true), _) | (_, Some(true)) => true,
        (None, None) => !is_near,
    }
}

fn room(config: &MetadataCacheConfig) -> usize {
    let size = config.size.unwrap_or(defaults::METADATA_CACHE_SIZE);
    usize::try_from(size).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_can_switch_files_off_and_near_registries_need_none() {
        for (url, enabled, want) in [
            ("nacos://h:1", None, true),
            ("memory://h", None, false),
            ("file://x", None, false),
            ("memory://h", Some(true), true),
            ("nacos://h:1", Some(false), false),
            ("nacos://h:1?file-cache=false", None, false),
            ("nacos://h:1?file-cache=false", Some(true), false),
            ("memory://h?file-cache=true", None, true),
            ("memory://h?file-cache=true", Some(false), false),
        ] {
            let config = MetadataCacheConfig {
                enabled,
                ..MetadataCacheConfig::new()
            };
            let url = url.parse().expect("a URL");
            assert_eq!(is_kept(&config, &url), want, "{url} {enabled:?}");
        }
    }
}
