//! What a cache holds, in memory.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use dubbo_core::metadata::Mapping;

use crate::{model::MetadataInfo, revision::Revision};

/// Metadata and mappings. What is used least recently goes first when there is no room, except metadata that is pinned.
#[derive(Debug)]
pub(super) struct Contents {
    room: usize,
    metadata: HashMap<Key, Entry>,
    /// Those that nobody has pinned, by when they were used last.
    unpinned: BTreeMap<u64, Key>,
    bytes: usize,
    unpinned_bytes: usize,
    mappings: HashMap<MappingKey, (Arc<Mapping>, u64)>,
    clock: u64,
    /// Whether anything is here that the files do not have, or the other way around.
    pub(super) is_changed: bool,
}

/// Which metadata it is: two registries may know different applications by one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) registry: Arc<str>,
    pub(crate) application: Arc<str>,
    pub(crate) revision: Arc<str>,
}

/// A registry and an interface.
pub(super) type MappingKey = (Arc<str>, Arc<str>);

#[derive(Debug)]
struct Entry {
    metadata: Metadata,
    bytes: usize,
    pins: usize,
    used: u64,
}

/// Metadata of one revision.
#[derive(Debug, Clone)]
pub(super) enum Metadata {
    /// As it was read from the file: nobody has needed it yet.
    Encoded(Arc<str>),
    Decoded(Arc<MetadataInfo>),
}

/// What there was at one moment, the most recently used first.
pub(super) struct All {
    pub(super) metadata: Vec<(Key, Metadata)>,
    pub(super) mappings: Vec<(MappingKey, Arc<Mapping>)>,
}

impl Contents {
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            metadata: HashMap::new(),
            unpinned: BTreeMap::new(),
            bytes: 0,
            unpinned_bytes: 0,
            mappings: HashMap::new(),
            clock: 0,
            is_changed: false,
        }
    }

    /// The metadata of `key`, which stays from now on until it is unpinned as often as it was pinned.
    pub(super) fn pin(&mut self, key: &Key) -> Option<Arc<MetadataInfo>> {
        let info = match &self.metadata.get(key)?.metadata {
            Metadata::Decoded(info) => Arc::clone(info),
            Metadata::Encoded(json) => {
                let Some(info) = decoded(json, key) else {
                    self.remove(key);
                    self.is_changed = true;
                    return None;
                };
                Arc::new(info)
            }
        };
        self.put(key, &info);
        Some(info)
    }

    /// Takes in the metadata of `key`, and pins it.
    pub(super) fn add(&mut self, key: &Key, info: &Arc<MetadataInfo>) {
        self.is_changed = true;
        self.put(key, info);
        self.make_room();
    }

    pub(super) fn unpin(&mut self, key: &Key) {
        let used = self.tick();
        let Some(entry) = self.metadata.get_mut(key) else {
            return;
        };
        entry.pins = entry.pins.saturating_sub(1);
        if entry.pins == 0 {
            entry.used = used;
            self.unpinned_bytes += entry.bytes;
            self.unpinned.insert(used, key.clone());
            self.make_room();
        }
    }

    /// Takes in what a file has, the most recently used first. What is known already stays as it is.
    pub(super) fn merge(
        &mut self,
        metadata: Vec<(Key, Arc<str>)>,
        mappings: Vec<(MappingKey, Mapping)>,
    ) {
        for (key, json) in metadata.into_iter().rev() {
            if self.metadata.contains_key(&key) || Revision::of(&key.revision) != Revision::Strong {
                continue;
            }
            let (bytes, used) = (json.len() + PER_ENTRY, self.tick());
            let entry = Entry {
                metadata: Metadata::Encoded(json),
                bytes,
                pins: 0,
                used,
            };
            self.metadata.insert(key.clone(), entry);
            self.unpinned.insert(used, key);
            self.bytes += bytes;
            self.unpinned_bytes += bytes;
            self.make_room();
        }
        for (key, mapping) in mappings.into_iter().rev() {
            if !mapping.is_empty() && !self.mappings.contains_key(&key) {
                self.put_mapping(key, mapping.into());
            }
        }
    }

    pub(super) fn mapping(&self, key: &MappingKey) -> Option<Arc<Mapping>> {
        self.mappings
            .get(key)
            .map(|(mapping, _)| Arc::clone(mapping))
    }

    /// Notes what the mapping of `key` is now.
    pub(super) fn remember(&mut self, key: MappingKey, mapping: &Arc<Mapping>) {
        let is_same = |(known, _): &(Arc<Mapping>, u64)| known == mapping;
        self.is_changed |= !self.mappings.get(&key).is_some_and(is_same);
        self.put_mapping(key, Arc::clone(mapping));
    }

    /// About how many bytes of metadata are kept that nobody has pinned.
    pub(super) fn unpinned_bytes(&self) -> usize {
        self.unpinned_bytes
    }

    /// All that there is. What is pinned is used now.
    pub(super) fn all(&self) -> All {
        let pinned = self.metadata.iter().filter(|(_, entry)| entry.pins > 0);
        let pinned = pinned.map(|(key, entry)| (key.clone(), entry.metadata.clone()));
        let unpinned = self.unpinned.values().rev();
        let unpinned = unpinned.filter_map(|key| {
            let entry = self.metadata.get(key)?;
            Some((key.clone(), entry.metadata.clone()))
        });
        let mut mappings: Vec<_> = self.mappings.iter().collect();
        mappings.sort_unstable_by_key(|(_, (_, used))| std::cmp::Reverse(*used));
        let mappings = mappings
            .into_iter()
            .map(|(key, (mapping, _))| (key.clone(), Arc::clone(mapping)));
        All {
            metadata: pinned.chain(unpinned).collect(),
            mappings: mappings.collect(),
        }
    }

    /// Puts it there with one more pin than it had.
    fn put(&mut self, key: &Key, info: &Arc<MetadataInfo>) {
        let before = self.remove(key);
        let bytes = weight(info);
        self.bytes += bytes;
        let entry = Entry {
            metadata: Metadata::Decoded(Arc::clone(info)),
            bytes,
            pins: before.map_or(0, |entry| entry.pins) + 1,
            used: 0,
        };
        self.metadata.insert(key.clone(), entry);
    }

    fn put_mapping(&mut self, key: MappingKey, mapping: Arc<Mapping>) {
        let used = self.tick();
        if self.mappings.len() >= MAPPINGS
            && !self.mappings.contains_key(&key)
            && let Some(oldest) = self.mappings.iter().min_by_key(|(_, (_, used))| *used)
        {
            let oldest = oldest.0.clone();
            self.mappings.remove(&oldest);
        }
        self.mappings.insert(key, (mapping, used));
    }

    fn make_room(&mut self) {
        while self.bytes > self.room
            && let Some((_, key)) = self.unpinned.first_key_value()
        {
            let key = key.clone();
            self.remove(&key);
            self.is_changed = true;
        }
    }

    fn remove(&mut self, key: &Key) -> Option<Entry> {
        let entry = self.metadata.remove(key)?;
        self.bytes -= entry.bytes;
        if entry.pins == 0 {
            self.unpinned.remove(&entry.used);
            self.unpinned_bytes -= entry.bytes;
        }
        Some(entry)
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

/// What a file has under `key`. Its checksum was right, so who wrote it was not one of us.
fn decoded(json: &str, key: &Key) -> Option<MetadataInfo> {
    let decoded = MetadataInfo::from_json(json.as_bytes());
    decoded
        .inspect_err(|error| {
            tracing::warn!(
                application = &*key.application, revision = &*key.revision, %error,
                "metadata in the cache file cannot be used; it is fetched"
            );
        })
        .ok()
}

/// About how many bytes it takes.
fn weight(info: &MetadataInfo) -> usize {
    let services = info.services.iter().map(|(key, service)| {
        let params = service
            .params
            .iter()
            .map(|(key, value)| key.len() + value.len() + PER_ENTRY);
        key.len() + service.name.len() + service.path.len() + PER_ENTRY + params.sum::<usize>()
    });
    PER_ENTRY + services.sum::<usize>()
}

/// What a map needs beside the texts.
const PER_ENTRY: usize = 64;

/// How many mappings are kept: as many as Dubbo Java keeps.
const MAPPINGS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pinned_stays_and_the_rest_goes_in_the_order_of_its_use() {
        let one = weight(&info("r"));
        let mut contents = Contents::new(3 * one);
        for revision in ["r1", "r2", "r3"] {
            contents.add(&key(revision), &info(revision));
        }
        for revision in ["r3", "r1"] {
            contents.unpin(&key(revision));
        }
        contents.add(&key("r4"), &info("r4"));
        assert_eq!(
            revisions(&contents),
            ["r1", "r2", "r4"],
            "r3 was unpinned first"
        );
        assert_eq!(contents.unpinned_bytes(), one);
        for revision in ["r5", "r6", "r7"] {
            contents.add(&key(revision), &info(revision));
        }
        assert_eq!(
            revisions(&contents),
            ["r2", "r4", "r5", "r6", "r7"],
            "there is no room, and all are needed"
        );
        for revision in ["r2", "r4", "r5", "r6", "r7"] {
            contents.unpin(&key(revision));
        }
        assert_eq!(revisions(&contents), ["r5", "r6", "r7"]);
        assert_eq!(
            (contents.bytes, contents.unpinned_bytes()),
            (3 * one, 3 * one)
        );
        assert!(contents.pin(&key("r5")).is_some() && contents.pin(&key("r5")).is_some());
        contents.unpin(&key("r5"));
        assert_eq!(contents.unpinned_bytes(), 2 * one, "it is pinned once more");
        assert!(contents.pin(&key("r2")).is_none());
    }

    #[test]
    fn what_a_file_has_is_read_when_it_is_needed_and_no_news() {
        let strong = "222f165004459af76f0540482d98ac81";
        let mut contents = Contents::new(1 << 20);
        let json = |revision: &str| {
            let json = info(revision).to_json().to_vec();
            Arc::from(String::from_utf8(json).expect("JSON is UTF-8"))
        };
        let metadata = vec![
            (key(strong), json(strong)),
            (key("5915580501"), json("5915580501")),
            (key("bad"), "{".into()),
        ];
        let mapping = |names: &str| Mapping::parse(names);
        let mappings = vec![
            (("zk".into(), "a.B".into()), mapping("x,y")),
            (("zk".into(), "a.C".into()), mapping("")),
        ];
        contents.merge(metadata, mappings);
        assert!(!contents.is_changed);
        assert_eq!(
            revisions(&contents),
            [strong, "bad"],
            "a weak one is not believed"
        );
        assert_eq!(contents.pin(&key(strong)), Some(info(strong)));
        assert_eq!(contents.pin(&key("bad")), None);
        assert_eq!(revisions(&contents), [strong]);
        assert!(contents.mapping(&("zk".into(), "a.B".into())).is_some());
        assert!(contents.mapping(&("other".into(), "a.B".into())).is_none());
        assert!(contents.mapping(&("zk".into(), "a.C".into())).is_none());

        assert!(contents.is_changed, "what cannot be used is no more");
        contents.is_changed = false;
        contents.remember(("zk".into(), "a.B".into()), &mapping("x,y").into());
        assert!(!contents.is_changed, "it says the same");
        contents.remember(("zk".into(), "a.B".into()), &mapping("x").into());
        assert!(contents.is_changed);
    }

    fn revisions(contents: &Contents) -> Vec<&str> {
        let mut revisions: Vec<_> = contents.metadata.keys().map(|key| &*key.revision).collect();
        revisions.sort_unstable();
        revisions
    }

    fn key(revision: &str) -> Key {
        Key {
            registry: "zk".into(),
            application: "app".into(),
            revision: revision.into(),
        }
    }

    fn info(revision: &str) -> Arc<MetadataInfo> {
        Arc::new(MetadataInfo {
            app: "app".to_owned(),
            revision: revision.to_owned(),
            ..MetadataInfo::default()
        })
    }
}
