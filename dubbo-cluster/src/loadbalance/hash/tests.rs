//! `docs/spec/cluster.md` §3.6 and what `dubbo-core` shows of arguments.

use std::{borrow::Cow, collections::HashMap};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    cluster::{NodeList, NodeWeight},
    invocation::Body,
    payload::{Codec, CodecError, Message, Payload},
};

use super::*;
use crate::testing::{Scripted, consumer, invocation, invocation_of};

/// Text arguments, as Java interfaces have them.
#[derive(Debug)]
struct Texts(Vec<String>);

impl Message for Texts {
    fn encode(&self, _: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        self.0
            .iter()
            .for_each(|text| dst.extend_from_slice(text.as_bytes()));
        Ok(())
    }

    fn values(&self) -> usize {
        self.0.len()
    }

    fn text(&self, index: usize) -> Option<Cow<'_, str>> {
        self.0.get(index).map(Into::into)
    }
}

fn call(arguments: &[&str]) -> Invocation {
    let texts = arguments.iter().map(|&text| text.to_owned()).collect();
    let mut call = invocation();
    call.body = Body::Unary(Payload::typed(Texts(texts)));
    call
}

/// Providers at `10.0.0.n:20880`.
fn providers(numbers: impl IntoIterator<Item = u8>) -> Candidates {
    let nodes = numbers.into_iter().map(|number| {
        let url = Url::new("tri", format!("10.0.0.{number}")).with_port(20880);
        Node::new(Scripted::of(url, []), NodeWeight::constant(1))
    });
    Candidates::all(Arc::new(nodes.collect::<NodeList>()))
}

fn hashing(options: &[(&str, &str)]) -> ConsistentHash {
    let url = consumer().with_params(options.iter().copied());
    ConsistentHash::from_seed(&url, 42, Clock::new(|| 0)).expect("options")
}

/// The last number of the address of the one at `position`.
fn number(candidates: &Candidates, position: Option<usize>) -> u8 {
    let node = position
        .and_then(|at| candidates.get(at))
        .expect("an owner");
    let (_, last) = node.url.host().rsplit_once('.').expect("an address");
    last.parse().expect("a number")
}

fn owner(hash: &ConsistentHash, candidates: &Candidates, argument: &str) -> u8 {
    number(candidates, hash.select(candidates, &call(&[argument])))
}

/// Who owns `key-0` to `key-9999`.
fn owners(hash: &ConsistentHash, candidates: &Candidates) -> Vec<u8> {
    let keys = (0..10_000).map(|key| format!("key-{key}"));
    keys.map(|key| owner(hash, candidates, &key)).collect()
}

fn shares(owners: &[u8]) -> HashMap<u8, usize> {
    let mut shares = HashMap::new();
    for &owner in owners {
        *shares.entry(owner).or_default() += 1;
    }
    shares
}

#[test]
fn cluster_t09_the_ring_and_the_hashes_are_those_of_the_references() {
    let one = Ring::new(providers([1]).list(), 4, None);
    let mut first = [1_592_126_881, 2_304_069_046, 3_038_814_219, 1_693_096_856];
    first.sort_unstable();
    let positions: Vec<u32> = one.points().map(|(position, _)| position).collect();
    assert_eq!(positions, first);

    let ten = providers(1..=10);
    assert_eq!(Ring::new(ten.list(), 160, None).points().len(), 1_600);
    assert_eq!(Ring::new(ten.list(), 10, None).points().len(), 80, "8 each");

    let hash = hashing(&[]);
    for (text, want, number) in [
        ("a", 3_111_502_092, 8),
        ("user-42", 129_773_942, 5),
        ("", 3_649_838_548, 10),
        ("dubbo", 2_350_599_850, 4),
    ] {
        let got = key::HashKey::Arguments([0].into()).hash(&call(&[text]));
        assert_eq!(got, Some(want), "{text:?}");
        assert_eq!(owner(&hash, &ten, text), number, "{text:?}");
    }
}

#[test]
fn cluster_t10_a_provider_that_comes_or_goes_moves_only_its_own_calls() {
    let (hash, ten) = (hashing(&[]), providers(1..=10));
    let before = owners(&hash, &ten);
    let counts = shares(&before);
    let want = [1137, 1063, 858, 1121, 1001, 921, 981, 1019, 1060, 839];
    assert_eq!(
        (1..=10).map(|number| counts[&number]).collect::<Vec<_>>(),
        want
    );

    for gone in 1..=10 {
        let after = owners(&hash, &providers((1..=10).filter(|&number| number != gone)));
        let moved = before
            .iter()
            .zip(&after)
            .filter(|(before, after)| before != after);
        let moved: Vec<u8> = moved.map(|(&before, _)| before).collect();
        assert!(moved.iter().all(|&owner| owner == gone), "without {gone}");
        assert_eq!(moved.len(), counts[&gone], "all of {gone}");
    }

    let after = owners(&hash, &providers(1..=11));
    let moved = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after);
    let moved: Vec<u8> = moved.map(|(_, &after)| after).collect();
    assert_eq!(moved.len(), 896);
    assert!(moved.iter().all(|&owner| owner == 11));
}

#[test]
fn cluster_t11_one_that_takes_the_place_of_another_gets_calls_at_once() {
    let hash = hashing(&[]);
    let before = owners(&hash, &providers([1, 2, 3]));
    let after = owners(&hash, &providers([1, 2, 4]));
    let shares = shares(&after);
    assert_eq!(shares.get(&3), None);
    let moved = before.iter().zip(&after);
    let moved = moved.filter(|&(&before, &after)| before != 3 && before != after);
    assert!(moved.clone().all(|(_, &after)| after == 4));
    assert!(moved.count() <= shares[&4]);
}

#[test]
fn every_consumer_maps_alike_after_a_restart_and_in_any_order_of_the_list() {
    let five = [1, 2, 3, 4, 5];
    let first = owners(&hashing(&[]), &providers(five));
    for (order, from) in [([5, 1, 4, 2, 3], 6), ([3, 2, 1, 5, 4], 1)] {
        let hash = hashing(&[]);
        owner(
            &hash,
            &providers(from..=9),
            "a ring from which the next is made",
        );
        assert_eq!(owners(&hash, &providers(order)), first, "{order:?}");
    }
    let four = owners(&hashing(&[]), &providers([1, 2, 4, 5]));
    let moved = first.iter().zip(four).filter(|&(&five, four)| five != four);
    assert!(moved.count() <= 2_500, "at most a quarter moves");
}

#[test]
fn a_start_time_is_no_part_of_the_ring() {
    let restarted = |started: &str| {
        let nodes = [1, 2, 3].map(|number| {
            let url = Url::new("tri", format!("10.0.0.{number}")).with_port(20880);
            let url = url.with_param("timestamp", started);
            Node::new(Scripted::of(url, []), NodeWeight::constant(1))
        });
        Candidates::all(Arc::new(nodes.into_iter().collect::<NodeList>()))
    };
    let hash = hashing(&[]);
    assert_eq!(
        owners(&hash, &restarted("1")),
        owners(&hash, &restarted("2"))
    );
}

#[test]
fn calls_without_the_arguments_to_hash_are_spread_by_weight() {
    let (hash, ten) = (hashing(&[]), providers(1..=10));
    for nothing in [call(&[]), invocation_of("Upload")] {
        let picks = (0..10_000).map(|_| number(&ten, hash.select(&ten, &nothing)));
        let shares = shares(&picks.collect::<Vec<_>>());
        assert!(
            shares.values().all(|count| count.abs_diff(1_000) <= 120),
            "{shares:?}"
        );
    }
}

#[test]
fn options_hold_for_the_method_and_then_for_the_service() {
    let hash = hashing(&[
        ("hash.arguments", "1"),
        ("hash.nodes", "8"),
        ("methods.First.hash.arguments", "0,2"),
        ("Second.hash.key", "attachment:user-id"),
        ("methods.Upload.hash.key", "method"),
        ("methods.Download.hash.nodes", "40"),
        ("methods.Download.hash.bounded-load", "0.25"),
    ]);
    let of = |method: &str| hash.options.of(&invocation_of(method).method);
    let key = |method: &str| of(method).key.clone();
    assert_eq!(key("First"), key::HashKey::Arguments([0, 2].into()));
    assert_eq!(key("Second"), key::HashKey::Attachment("user-id".into()));
    assert_eq!(key("Upload"), key::HashKey::Method);
    assert_eq!(key("Download"), key::HashKey::Arguments([1].into()));
    let nodes = |method: &str| hash.options.nodes()[of(method).ring];
    assert_eq!([nodes("First"), nodes("Download")], [8, 40]);
    assert_eq!(of("Download").bounded_load, Some(0.25));
    assert_eq!(of("First").bounded_load, None);

    let text = |arguments: &[&str]| key("First").hash(&call(arguments));
    assert_eq!(
        text(&["a", "x", "b"]),
        text(&["ab"]),
        "one after the other, as far as they are there"
    );
    let mut tagged = invocation_of("Second");
    assert_eq!(key("Second").hash(&tagged), None);
    tagged.attachments.insert("user-id", "a");
    assert_eq!(key("Second").hash(&tagged), Some(3_111_502_092));
    assert!(key("Upload").hash(&invocation_of("Upload")).is_some());
}

#[test]
fn options_that_cannot_be_used_are_told_with_their_names() {
    for (name, value) in [
        ("hash.nodes", "3"),
        ("hash.nodes", "many"),
        ("hash.nodes", "4294967296"),
        ("methods.Get.hash.nodes", "0"),
        ("hash.arguments", "0,x"),
        ("hash.arguments", "-1"),
        ("Get.hash.arguments", "first"),
        ("hash.key", "arg:x"),
        ("hash.key", "attachment:"),
        ("hash.key", "argument"),
        ("hash.bounded-load", "-0.1"),
        ("hash.bounded-load", "NaN"),
    ] {
        let made = ConsistentHash::new(&consumer().with_param(name, value));
        let error = made.expect_err(value).to_string();
        assert!(error.contains(name) && error.contains(value), "{error}");
    }
}

#[test]
fn arguments_without_text_are_hashed_as_their_bytes() {
    let key = key::HashKey::Arguments([0].into());
    let of = |payload| {
        let mut call = invocation();
        call.body = Body::Unary(payload);
        key.hash(&call)
    };
    let bytes = Bytes::from_static(b"a");
    for payload in [
        Payload::encoded(Codec::Protobuf, bytes.clone()),
        Payload::values(Codec::Hessian2, [bytes]),
    ] {
        assert_eq!(of(payload), Some(3_111_502_092));
    }
    assert_eq!(of(Payload::values(Codec::Hessian2, [])), None);
}

#[test]
fn the_next_on_the_ring_takes_the_calls_of_one_that_is_not_wanted() {
    let (hash, ten) = (hashing(&[]), providers(1..=10));
    let without = |gone: &'static [u8]| {
        move |node: &Node| {
            let (_, last) = node.url.host().rsplit_once('.').expect("an address");
            !gone.contains(&last.parse().expect("a number"))
        }
    };
    for gone in [&[8][..], &[8, 4, 5, 1], &[1, 2, 3, 4, 5, 6, 7, 8, 9]] {
        let wanted = without(gone);
        let rest = ten.narrowed(&wanted);
        for key in (0..500).map(|key| format!("key-{key}")) {
            let call = call(&[&key]);
            let got = number(&ten, hash.select_where(&ten, &call, &wanted));
            let routed = number(&rest, hash.select(&rest, &call));
            let alone = number(&rest, hashing(&[]).select(&rest.clone(), &call));
            assert_eq!([routed, alone], [got; 2], "{key} without {gone:?}");
        }
    }
    assert_eq!(hash.select_where(&ten, &call(&["a"]), &|_| false), None);
}

#[test]
fn one_wanted_among_thousands_is_found() {
    let nodes = (1..=5_000).map(|port| crate::testing::node(port, 1));
    let many = Candidates::all(Arc::new(nodes.collect::<NodeList>()));
    let hash = hashing(&[("hash.nodes", "8")]);
    let ports = |ports: &'static [u16]| {
        move |node: &Node| node.url.port().is_some_and(|port| ports.contains(&port))
    };
    for key in (0..20).map(|key| format!("key-{key}")) {
        let call = call(&[&key]);
        let pick = |wanted: &dyn Fn(&Node) -> bool| hash.select_where(&many, &call, wanted);
        assert_eq!(pick(&ports(&[77])), Some(76));
        let few = Candidates::all(Arc::new(
            [1, 2_500, 4_999]
                .map(|port| crate::testing::node(port, 1))
                .into_iter()
                .collect(),
        ));
        let want = few.get(hash.select(&few, &call).expect("an owner"));
        let got = many.get(pick(&ports(&[1, 2_500, 4_999])).expect("an owner"));
        assert_eq!(got.map(|node| node.id), want.map(|node| node.id), "{key}");
    }
}

#[test]
fn where_two_have_one_address_the_later_one_owns_its_calls() {
    let hash = hashing(&[]);
    let twice = providers([1, 2, 1]);
    for key in (0..100).map(|key| format!("key-{key}")) {
        let at = hash.select(&twice, &call(&[&key]));
        assert!(matches!(at, Some(1 | 2)), "{at:?}");
        let other = hash.select_where(&twice, &call(&[&key]), &|node| {
            at.and_then(|at| twice.get(at))
                .is_none_or(|taken| !Arc::ptr_eq(&taken.invoker, &node.invoker))
        });
        assert_ne!(other, at);
    }
}

#[test]
fn a_bound_hands_on_the_calls_of_one_that_is_busier_than_the_others() {
    let hash = hashing(&[("hash.bounded-load", "0.25")]);
    let ten = providers(1..=10);
    let hot = call(&["a"]);
    let mut attempts = Vec::new();
    let mut counts = [0_u32; 10];
    for _ in 0..100 {
        let at = hash.select(&ten, &hot).expect("an owner");
        counts[at] += 1;
        let node = ten.get(at).expect("one of ten");
        attempts.push(node.state.method(&hot.method).begin());
    }
    // A quarter above the average of ten, rounded up.
    assert!(counts.iter().all(|&count| count <= 13), "{counts:?}");
    assert_eq!(counts[7], 13, "the owner is full: {counts:?}");
    drop(attempts);
    assert_eq!(
        number(&ten, hash.select(&ten, &hot)),
        8,
        "the owner has room again"
    );

    let only = |node: &Node| node.url.host() == "10.0.0.8";
    let full = ten.get(7).expect("the owner").state.method(&hot.method);
    let _attempts: Vec<_> = (0..50).map(|_| full.begin()).collect();
    let owner = hash.select_where(&ten, &hot, &only);
    assert_eq!(number(&ten, owner), 8, "nobody else is wanted");
}
