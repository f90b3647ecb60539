use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use dubbo_core::{
    extension::Extensions,
    filter::Chain,
    invoker::Invoker,
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
};
use tokio::{task::JoinSet, time::sleep};

use super::*;

/// A service that counts what it does, takes its time, and answers as `answer` says.
struct Counting {
    url: Url,
    done: AtomicUsize,
    answer: fn(usize) -> RpcResult,
}

#[async_trait]
impl Invoker for Counting {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn invoke(&self, _: Invocation) -> RpcResult {
        let nth = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        sleep(Duration::from_millis(100)).await;
        (self.answer)(nth)
    }
}

fn served(answer: fn(usize) -> RpcResult) -> (Arc<Counting>, Arc<dyn Invoker>) {
    let url = Url::new("tri", "10.0.0.1").with_path("a.B");
    let service = Arc::new(Counting {
        url: url.clone(),
        done: AtomicUsize::new(0),
        answer,
    });
    let linked = Extensions::linked().expect("no duplicates");
    let dedup = linked.create::<dyn Filter>("dedup", &url).expect("made");
    (Arc::clone(&service), Chain::wrap(vec![dedup], service))
}

fn call(key: Option<&str>) -> Invocation {
    let methods = vec![MethodDescriptor::new("Pay", CallKind::Unary)];
    let method = ServiceDescriptor::new("a.B", methods);
    let method = Arc::new(method).find("Pay").expect("is there");
    let body = Body::Unary(Payload::encoded(Codec::Protobuf, Bytes::new()));
    let mut invocation = Invocation::new(Arc::new(ServiceKey::new("a.B")), method, body);
    if let Some(key) = key {
        invocation
            .attachments
            .insert(IDEMPOTENCY_KEY, key.to_owned());
    }
    invocation
}

fn reply(size: usize) -> Reply {
    let bytes = Bytes::from(vec![7; size]);
    let mut reply = Reply::new(Body::Unary(Payload::encoded(Codec::Protobuf, bytes)));
    reply.trailers.insert("x", "1");
    reply
}

fn told(result: RpcResult) -> Result<(usize, Option<String>), (Code, bool)> {
    let reply = result.map_err(|status| (status.code(), status.is_done()))?;
    let Body::Unary(payload) = reply.body else {
        unreachable!("it was one message");
    };
    let length = payload.encoded_len(Codec::Protobuf);
    let x = reply.trailers.get("x").map(str::to_owned);
    Ok((length.expect("known"), x))
}

#[tokio::test(start_paused = true)]
async fn a_call_of_one_key_is_done_once_and_answered_as_often_as_it_comes() {
    let (service, chain) = served(|_| Ok(reply(3)));
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let chain = Arc::clone(&chain);
        calls.spawn(async move { told(chain.invoke(call(Some("k"))).await) });
    }
    let answer = Ok((3, Some("1".to_owned())));
    for got in calls.join_all().await {
        assert_eq!(got, answer);
    }
    assert_eq!(told(chain.invoke(call(Some("k"))).await), answer);
    assert_eq!(service.done.load(Ordering::Relaxed), 1);
    for (key, want) in [(Some("l"), 2), (None, 3), (None, 4), (Some(""), 5)] {
        assert_eq!(told(chain.invoke(call(key)).await), answer);
        assert_eq!(service.done.load(Ordering::Relaxed), want, "{key:?}");
    }
    tokio::time::advance(Duration::from_mins(5)).await;
    assert_eq!(told(chain.invoke(call(Some("k"))).await), answer);
    assert_eq!(service.done.load(Ordering::Relaxed), 6, "it was forgotten");
}

#[tokio::test(start_paused = true)]
async fn an_error_is_kept_if_another_try_would_meet_it_again() {
    for (answer, want) in [
        (
            (|_| Err(Status::business("no"))) as fn(usize) -> RpcResult,
            1,
        ),
        (|_| Err(Status::new(Code::InvalidArgument, "no")), 1),
        (|_| Err(Status::unavailable("later")), 2),
        (|_| Err(Status::business("no").not_processed()), 2),
        (|_| Err(Status::new(Code::Canceled, "gone")), 2),
    ] {
        let (service, chain) = served(answer);
        let (one, two) = (call(Some("k")), call(Some("k")));
        let first = told(chain.invoke(one).await);
        assert_eq!(told(chain.invoke(two).await), first);
        assert_eq!(service.done.load(Ordering::Relaxed), want, "{first:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_response_is_not_kept_but_known() {
    let (service, chain) = served(|nth| Ok(reply(if nth == 1 { LARGEST_RESPONSE + 1 } else { 1 })));
    let first = told(chain.invoke(call(Some("k"))).await);
    assert_eq!(first, Ok((LARGEST_RESPONSE + 1, Some("1".to_owned()))));
    let second = told(chain.invoke(call(Some("k"))).await);
    assert_eq!(second, Err((Code::AlreadyExists, true)));
    assert_eq!(service.done.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_gives_up_at_its_deadline_and_takes_over_from_one_that_gave_up() {
    let (service, chain) = served(|_| Ok(reply(3)));
    let in_ms = |millis| Some(Instant::now() + Duration::from_millis(millis));
    let mut hasty = call(Some("k"));
    hasty.deadline = in_ms(50);
    let (first, hasty) = tokio::join!(chain.invoke(call(Some("k"))), chain.invoke(hasty));
    assert_eq!(told(hasty), Err((Code::DeadlineExceeded, false)));
    assert!(first.is_ok());

    let gives_up = tokio::time::timeout(Duration::from_millis(50), chain.invoke(call(Some("l"))));
    let (gave_up, taken_over) = tokio::join!(gives_up, chain.invoke(call(Some("l"))));
    assert!(gave_up.is_err() && taken_over.is_ok());
    assert_eq!(service.done.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_no_key_is_refused() {
    let (service, chain) = served(|_| Ok(reply(3)));
    let long = "k".repeat(LONGEST_KEY + 1);
    let status = chain.invoke(call(Some(&long))).await.expect_err("too long");
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(
        status.message(),
        "attachment `dubbo-idempotency-key` has 257 bytes, and may have 256"
    );
    assert_eq!(service.done.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_bounded() {
    let (_, chain) = served(|_| Ok(reply(1)));
    let known = {
        let linked = Extensions::linked().expect("no duplicates");
        linked.shared::<Known>()
    };
    let now = Instant::now();
    for n in 0..MOST + 10 {
        let name = Name(Arc::new(("s".into(), "m".into(), n.to_string())));
        let Begun::Mine(first) = known.begin(&name, now) else {
            unreachable!("each is new");
        };
        first.end(&Ok(reply(1)), Duration::from_mins(5));
    }
    drop(chain);
    let mut entries = known.0.lock();
    entries.forget(now);
    assert!(entries.by_name.len() <= MOST && entries.ended.len() <= MOST);
}
