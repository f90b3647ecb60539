//! The `hash.…` parameters of a reference, for each method.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use dubbo_core::{
    service::MethodRef,
    url::{Key, Url, UrlError, UrlValue},
};

use super::key::{HashKey, Indexes};

/// The options of all methods of one reference.
#[derive(Debug)]
pub(super) struct Options {
    default: MethodOptions,
    by_name: BTreeMap<String, MethodOptions>,
    /// By the method's index in its service, from the first call on, which says what methods there are.
    by_index: OnceLock<Box<[MethodOptions]>>,
    nodes: Vec<u32>,
}

/// How calls of one method are hashed.
#[derive(Debug, Clone)]
pub(super) struct MethodOptions {
    pub(super) key: HashKey,
    /// Which of [the numbers of virtual nodes](Options::nodes) its ring has.
    pub(super) ring: usize,
    /// How far above the average a provider may be busy; `None` is as far as it gets.
    pub(super) bounded_load: Option<f64>,
}

impl Options {
    pub(super) fn new(url: &Url) -> Result<Self, UrlError> {
        let mut nodes = Vec::new();
        let default = MethodOptions::read(url, "", &mut nodes)?;
        let names: BTreeSet<&str> = url.params().filter_map(|(key, _)| method_of(key)).collect();
        let by_name = names.into_iter().map(|name| {
            let options = MethodOptions::read(url, name, &mut nodes)?;
            Ok((name.to_owned(), options))
        });
        Ok(Self {
            default,
            by_name: by_name.collect::<Result<_, UrlError>>()?,
            by_index: OnceLock::new(),
            nodes,
        })
    }

    pub(super) fn of(&self, method: &MethodRef) -> &MethodOptions {
        let by_index = self.by_index.get_or_init(|| {
            let methods = method.service().methods().iter();
            let named = methods.map(|method| self.by_name.get(&*method.name));
            named
                .map(|named| named.unwrap_or(&self.default).clone())
                .collect()
        });
        by_index.get(method.index()).unwrap_or(&self.default)
    }

    /// How many virtual nodes the providers have on the rings that the methods need.
    pub(super) fn nodes(&self) -> &[u32] {
        &self.nodes
    }
}

impl MethodOptions {
    fn read(url: &Url, method: &str, nodes: &mut Vec<u32>) -> Result<Self, UrlError> {
        let key = match url.get_for(method, &KEY)? {
            Some(key) => key,
            None => HashKey::Arguments(url.get_for(method, &ARGUMENTS)?.0),
        };
        let VirtualNodes(count) = url.get_for(method, &NODES)?;
        let known = nodes.iter().position(|&known| known == count);
        let ring = known.unwrap_or_else(|| {
            nodes.push(count);
            nodes.len() - 1
        });
        let Room(bounded_load) = url.get_for(method, &BOUNDED_LOAD)?;
        Ok(Self {
            key,
            ring,
            bounded_load,
        })
    }
}

/// The method that a parameter is about: `Get` of `methods.Get.hash.nodes` and `Get.hash.nodes`.
fn method_of(key: &str) -> Option<&str> {
    let names = [KEY.name, ARGUMENTS.name, NODES.name, BOUNDED_LOAD.name];
    let of = |name| key.strip_suffix(name)?.strip_suffix('.');
    let method = names.into_iter().find_map(of)?;
    Some(method.strip_prefix("methods.").unwrap_or(method))
}

#[derive(Debug)]
struct VirtualNodes(u32);

impl UrlValue for VirtualNodes {
    fn parse(text: &str) -> Result<Self, String> {
        let count = text.parse().ok();
        let count = count.filter(|count| (4..=MOST_NODES).contains(count));
        let wrong = || format!("expected an integer from 4 to {MOST_NODES}");
        count.map(Self).ok_or_else(wrong)
    }
}

#[derive(Debug)]
struct Room(Option<f64>);

impl UrlValue for Room {
    fn parse(text: &str) -> Result<Self, String> {
        let room = text.parse().ok();
        let room = room.filter(|room: &f64| room.is_finite() && *room >= 0.0);
        let wrong = "expected a part such as `0.25`, or 0 for no bound";
        let room = room.ok_or(wrong)?;
        Ok(Self((room > 0.0).then_some(room)))
    }
}

const KEY: Key<Option<HashKey>> = Key {
    name: "hash.key",
    default: || None,
};

const ARGUMENTS: Key<Indexes> = Key {
    name: "hash.arguments",
    default: || Indexes([0].into()),
};

const NODES: Key<VirtualNodes> = Key {
    name: "hash.nodes",
    default: || VirtualNodes(160),
};

const BOUNDED_LOAD: Key<Room> = Key {
    name: "hash.bounded-load",
    default: || Room(None),
};

/// More only costs memory: shares are even long before.
const MOST_NODES: u32 = 100_000;
