//! How groups are called and merged, on scripted providers and a paused clock.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Cluster as _, Merger, MessageMerger, Node, NodeWeight},
    codegen::Proto,
    invocation::{Body, Invocation, Reply, RpcResult},
    invoker::Invoker,
    payload::{Adapter as _, Codec, Payload},
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    status::{Code, Status},
    url::Url,
};
use parking_lot::Mutex;
use prost::Message as _;
use tokio::time::{Instant, sleep};

use super::Mergeable;
use crate::testing::{Fixed, asking_of, join};

/// A provider in a group that answers after a time with a list of one number, or fails; who it was called as is noted.
struct InGroup {
    url: Url,
    after: Duration,
    answer: Result<i64, Status>,
    called: Mutex<Vec<String>>,
    /// What happens when it is called.
    then: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl InGroup {
    fn new(port: u16, group: &str, after: u64, answer: Result<i64, Status>) -> Arc<Self> {
        let url = crate::testing::url(port).with_param("group", group);
        Arc::new(Self {
            url,
            after: Duration::from_millis(after),
            answer,
            called: Mutex::default(),
            then: Mutex::default(),
        })
    }
}

#[async_trait]
impl Invoker for InGroup {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        self.called.lock().push(invocation.service.to_string());
        let then = self.then.lock().take();
        if let Some(then) = then {
            then();
        }
        sleep(self.after).await;
        let number = self.answer.clone()?;
        let numbers = Numbers {
            all: vec![number],
            last: number,
        };
        let mut reply = Reply::new(Body::Unary(Payload::typed(Proto::wrap(numbers))));
        reply.trailers.insert("from", number.to_string());
        Ok(reply)
    }
}

#[derive(Clone, PartialEq, prost::Message)]
struct Numbers {
    #[prost(int64, repeated, tag = "1")]
    all: Vec<i64>,
    #[prost(int64, tag = "2")]
    last: i64,
}

fn service() -> Arc<ServiceDescriptor> {
    let get = MethodDescriptor {
        output: "x.Numbers".into(),
        ..MethodDescriptor::new("Get", CallKind::Unary)
    };
    let watch = MethodDescriptor::new("Watch", CallKind::ServerStream);
    Arc::new(ServiceDescriptor::new("a.B", vec![get, watch]))
}

fn directory(providers: &[Arc<InGroup>]) -> Arc<Fixed> {
    let directory = Fixed::of(&[]);
    let nodes = providers.iter().map(|provider| {
        let invoker: Arc<dyn Invoker> = Arc::clone(provider) as _;
        Node::new(invoker, NodeWeight::constant(1))
    });
    directory.set_nodes(nodes);
    directory
}

fn call(method: &str) -> Invocation {
    let method = service().find(method).expect("is there");
    let payload = Payload::encoded(Codec::Protobuf, bytes::Bytes::new());
    let key = ServiceKey::new("a.B").with_group("*");
    Invocation::new(Arc::new(key), method, Body::Unary(payload))
}

async fn asked(providers: &[Arc<InGroup>], params: &[(&str, &str)]) -> RpcResult {
    let config = asking_of(&service(), params);
    let cluster = join(&Mergeable, directory(providers), config);
    cluster.invoke(call("Get")).await
}

fn numbers(result: RpcResult) -> Numbers {
    let reply = result.expect("has a result");
    let Body::Unary(payload) = reply.body else {
        panic!("one message");
    };
    payload.decode::<Proto<Numbers>>().expect("reads").unwrap()
}

const MERGED: [(&str, &str); 2] = [("group", "*"), ("merger", "default")];

#[tokio::test(start_paused = true)]
async fn every_group_is_called_at_once_and_the_results_are_one_in_the_order_of_the_groups() {
    for (group, want) in [("*", [1, 2, 3]), ("c, a,b", [3, 1, 2])] {
        let all = [
            InGroup::new(1, "b", 10, Ok(2)),
            InGroup::new(2, "a", 20, Ok(1)),
            InGroup::new(3, "c", 5, Ok(3)),
        ];
        let start = Instant::now();
        let params = [("group", group), ("merger", "true")];
        let got = numbers(asked(&all, &params).await);
        assert_eq!((got.all, got.last), (want.into(), want[2]), "{group}");
        assert_eq!(start.elapsed().as_millis(), 20, "all at once");
        for (provider, group) in all.iter().zip(["b", "a", "c"]) {
            let as_whom = [format!("{group}/a.B")];
            assert_eq!(
                *provider.called.lock(),
                as_whom,
                "it is called in its group"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_provider_of_each_group_is_called_and_another_of_the_group_when_it_fails() {
    let down = || Err(Status::unavailable("down"));
    let all = [
        InGroup::new(1, "a", 1, down()),
        InGroup::new(2, "a", 1, Ok(1)),
        InGroup::new(3, "b", 1, Ok(2)),
        InGroup::new(4, "b", 1, Ok(2)),
    ];
    assert_eq!(numbers(asked(&all, &MERGED).await).all, [1, 2]);
    let called = all.iter().map(|provider| provider.called.lock().len());
    assert_eq!(called.sum::<usize>(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_refuses_is_left_out_and_one_that_breaks_breaks_the_call() {
    let refused = |text: &'static str| Err(Status::business(text));
    let limited = || Err(Status::unavailable("no room").not_processed());
    let broken = || Err(Status::unavailable("reset by the peer"));
    for (a, b, want) in [
        (Ok(1), refused("no such user"), Ok(vec![1])),
        (refused("first"), Ok(2), Ok(vec![2])),
        (
            refused("first"),
            refused("second"),
            Err((Code::Business, "first")),
        ),
        (
            Ok(1),
            limited(),
            Err((Code::Unavailable, "in group `b`: no room (")),
        ),
        (
            Ok(1),
            broken(),
            Err((Code::Unavailable, "in group `b`: reset by the peer (")),
        ),
    ] {
        let all = [InGroup::new(1, "a", 9, a), InGroup::new(2, "b", 5, b)];
        let got = asked(&all, &MERGED).await;
        match want {
            Ok(want) => assert_eq!(numbers(got).all, want),
            Err((code, text)) => {
                let status = got.expect_err("fails");
                assert_eq!(status.code(), code);
                assert!(status.message().starts_with(text), "{status}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_that_nobody_is_in_any_more_is_left_out() {
    let all = [
        InGroup::new(1, "a", 1, Ok(1)),
        InGroup::new(2, "b", 1, Ok(2)),
    ];
    let directory = directory(&all);
    let (first, list) = (Arc::clone(&all[0]), Arc::clone(&directory));
    // The groups are known by then, and the second one has not looked for its providers.
    *all[0].then.lock() = Some(Box::new(move || {
        list.set_nodes([Node::new(first, NodeWeight::constant(1))]);
    }));
    let cluster = join(&Mergeable, directory, asking_of(&service(), &MERGED));
    assert_eq!(numbers(cluster.invoke(call("Get")).await).all, [1]);
    assert!(all[1].called.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_merger_the_first_group_with_an_available_provider_answers() {
    let all = [
        InGroup::new(1, "b", 1, Ok(2)),
        InGroup::new(2, "a", 1, Ok(1)),
    ];
    for (params, want) in [
        (&[("group", "*")][..], 1),
        (&[("group", "b,a")], 2),
        (&[("group", "b,a"), ("merger", "")], 2),
        (&[("group", "b,a"), ("methods.Watch.merger", "protobuf")], 2),
    ] {
        assert_eq!(numbers(asked(&all, params).await).all, [want], "{params:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_came_beside_the_first_result_stays_and_a_lone_result_is_as_it_came() {
    let all = [
        InGroup::new(1, "a", 9, Ok(1)),
        InGroup::new(2, "b", 1, Ok(2)),
    ];
    let reply = asked(&all, &MERGED).await.expect("merged");
    assert_eq!(reply.trailers.get("from"), Some("1"));
    let reply = asked(&all[1..], &MERGED).await.expect("merged");
    assert_eq!(reply.trailers.get("from"), Some("2"));
}

#[tokio::test(start_paused = true)]
async fn a_merger_is_found_by_its_name_or_by_that_of_the_type() {
    fn product() -> MessageMerger<Numbers, impl Fn(Vec<Numbers>) -> Numbers + Send + Sync> {
        MessageMerger::new(|all: Vec<Numbers>| Numbers {
            all: Vec::new(),
            last: all.iter().map(|numbers| numbers.last).product(),
        })
    }
    let all = [
        InGroup::new(1, "a", 1, Ok(3)),
        InGroup::new(2, "b", 1, Ok(4)),
    ];
    for (name, merger) in [
        ("product", "Product"),
        ("x.Numbers", "default"),
        ("x.Numbers", "true"),
    ] {
        let config = asking_of(
            &service(),
            &[("group", "*"), ("methods.Get.merger", merger)],
        );
        let mut extensions = config.extensions.clone();
        extensions.register::<dyn Merger>(name, |_| Ok(Arc::new(product())));
        let config = Arc::into_inner(config).expect("ours alone");
        let config = Arc::new(config.with_extensions(extensions));
        let cluster = join(&Mergeable, directory(&all), config);
        assert_eq!(
            numbers(cluster.invoke(call("Get")).await).last,
            12,
            "{merger}"
        );
    }
}

#[test]
fn what_cannot_be_merged_is_refused_with_the_reference() {
    for (merger, why) in [
        (
            "nobody",
            "no merger is called `nobody`; linked: [\"protobuf\"]",
        ),
        (
            "protobuf",
            "the merger `protobuf` cannot merge the results of `list`: they are values of Java; `java` merges these",
        ),
    ] {
        let list = MethodDescriptor::java("list", CallKind::Unary, ["int"], "java.util.List");
        let service = Arc::new(ServiceDescriptor::new("a.B", vec![list]));
        let config = asking_of(&service, &[("merger", merger)]);
        let error = Mergeable
            .join(directory(&[]), config)
            .err()
            .expect("refused");
        assert_eq!(error.to_string(), why);
    }
    let config = asking_of(&service(), &[("methods.Watch.merger", "nobody")]);
    assert!(
        Mergeable.join(directory(&[]), config).is_ok(),
        "streams are not merged"
    );
}

#[test]
fn joined_messages_are_one_message() {
    let merged = [(1, 2), (3, 4)].map(|(all, last)| Numbers {
        all: vec![all],
        last,
    });
    let bytes: Vec<u8> = merged.iter().flat_map(Numbers::encode_to_vec).collect();
    let read = Numbers::decode(&bytes[..]).expect("reads");
    assert_eq!((read.all, read.last), (vec![1, 3], 4));
}
