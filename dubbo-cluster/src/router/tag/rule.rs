//! Rules that give tags to providers.

use std::{collections::HashMap, net::SocketAddrV4};

use dubbo_core::{
    cluster::Node,
    yaml::{ProblemKind, Section},
};
use smallvec::SmallVec;

use super::super::document::{self, Head, Mistakes};
use crate::rules::{AddressPattern, RuleError, StringMatch};

/// The tags of the providers of one application (`docs/spec/cluster.md` §4.5).
#[derive(Debug)]
pub(in super::super) struct Rule {
    pub(super) head: Head,
    tags: Vec<Tag>,
    /// The tags of single addresses, by their positions: there may be thousands of addresses.
    by_address: HashMap<Box<str>, SmallVec<[usize; 2]>>,
}

/// Who has a tag, but for those whose address is written down in full.
#[derive(Debug)]
struct Tag {
    name: Box<str>,
    has_addresses: bool,
    patterns: Vec<AddressPattern>,
    /// All of them have to match.
    params: Vec<(String, StringMatch)>,
}

impl Rule {
    pub(in super::super) fn parse(key: &str, text: &str) -> Result<Self, RuleError> {
        document::rule(key, text, Self::read)
    }

    pub(in super::super) fn read(s: &mut Section<'_, '_>, mistakes: &mut Mistakes) -> Self {
        let mut rule = Self {
            head: Head::read(s),
            tags: Vec::new(),
            by_address: HashMap::new(),
        };
        for (tag, addresses) in s.items("tags", |s| Tag::read(s, mistakes)) {
            for address in addresses {
                let tags = rule.by_address.entry(address.as_str().into());
                tags.or_default().push(rule.tags.len());
            }
            rule.tags.push(tag);
        }
        rule
    }

    pub(in super::super) fn is_on(&self) -> bool {
        self.head.enabled
    }

    /// The tags that somebody may have by this rule.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let tags = self.tags.iter().filter(|tag| tag.says_who());
        tags.map(|tag| &*tag.name)
    }

    /// The tags that `node` has by this rule.
    pub(super) fn tags_of(&self, node: &Node) -> impl Iterator<Item = &str> {
        let by_address = if self.by_address.is_empty() {
            None
        } else {
            self.by_address.get(&*node.said.address())
        };
        let by_address = by_address.into_iter().flatten().map(|&at| &self.tags[at]);
        let others = self.tags.iter().filter(|tag| tag.has(node));
        by_address.chain(others).map(|tag| &*tag.name)
    }
}

impl Tag {
    /// A tag, and the addresses that have it and can be looked up.
    fn read(s: &mut Section<'_, '_>, mistakes: &mut Mistakes) -> (Self, Vec<AddressPattern>) {
        let name = s.string("name").unwrap_or_default();
        if name.is_empty() {
            s.error("name", ProblemKind::Missing, "a tag needs a name");
        }
        let addresses = document::each(s, mistakes, "addresses", AddressPattern::parse);
        let params = s.items("match", |s| {
            let key = s.string("key").unwrap_or_default();
            if key.is_empty() {
                s.error("key", ProblemKind::Missing, "needs the key of a parameter");
            }
            let value = s.section("value", StringMatch::read)?;
            Some((key, value))
        });
        let addresses = addresses.unwrap_or_default().into_iter();
        let (exact, patterns): (Vec<_>, Vec<_>) = addresses.partition(is_exact);
        let tag = Self {
            name: name.into(),
            has_addresses: !exact.is_empty(),
            patterns,
            params: params.into_iter().flatten().collect(),
        };
        (tag, exact)
    }

    fn says_who(&self) -> bool {
        self.has_addresses || !self.patterns.is_empty() || !self.params.is_empty()
    }

    fn has(&self, node: &Node) -> bool {
        let (host, port) = (node.said.host(), node.said.port());
        let by_params = !self.params.is_empty()
            && self
                .params
                .iter()
                .all(|(key, value)| value.matches(node.said.param(key)));
        by_params
            || self
                .patterns
                .iter()
                .any(|pattern| pattern.matches(host, port))
    }
}

/// Whether `address` is one port of one IPv4 address, in its only spelling.
fn is_exact(address: &AddressPattern) -> bool {
    let text = address.as_str();
    let socket = text.parse::<SocketAddrV4>();
    socket.is_ok_and(|socket| !socket.ip().is_unspecified() && socket.to_string() == text)
}
