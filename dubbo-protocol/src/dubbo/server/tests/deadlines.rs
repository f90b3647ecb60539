//! How long a caller waits, and what becomes of a call that takes longer.

use std::{sync::Arc, time::Duration};

use dubbo_core::request::Request;
use dubbo_hessian2::Value;
use dubbo_test::{
    peer::dubbo::{Answer, Call},
    soon,
};
use tokio::{
    sync::{Notify, Semaphore},
    time::Instant,
};

use super::Rig;
use crate::java::JavaService;

/// Tells how long the caller waits; waits for ever itself, and tells when it is dropped.
fn service(dropped: &Arc<Semaphore>) -> JavaService {
    struct Tell(Arc<Semaphore>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.add_permits(1);
        }
    }
    let dropped = Arc::clone(dropped);
    JavaService::new(Call::PATH)
        .method("left", async |call: Request<()>| {
            let left = call.context().deadline().map(|at| at - Instant::now());
            let millis = left.map(|left| i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
            Ok(millis.unwrap_or(-1).into())
        })
        .method("hang", move |_: Request<()>| {
            let tell = Tell(Arc::clone(&dropped));
            async move {
                let _tell = tell;
                std::future::pending::<()>().await;
                Ok(().into())
            }
        })
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_call_is_its_deadline_in_whatever_form_it_comes() {
    let rig = Rig::of(service(&Arc::new(Semaphore::new(0))));
    let mut connection = rig.connect();
    for (timeout, countdown, want) in [
        (Some(Value::from("3000")), None, 3000),
        (Some(Value::Int(3000)), None, 3000),
        (Some(Value::Long(3000)), None, 3000),
        (Some("3000".into()), Some(Value::Int(200)), 200),
        (None, Some("200".into()), 200),
        (None, None, -1),
        (Some("0".into()), None, -1),
        (Some("-1".into()), None, -1),
        (Some("".into()), None, -1),
        (Some("soon".into()), None, -1),
        (Some("9223372036854775807".into()), None, -1),
    ] {
        let mut call = Call::of("left", "", &[]);
        for (name, value) in [("timeout", &timeout), ("_TO", &countdown)] {
            if let Some(value) = value {
                call = call.with(name, value.clone());
            }
        }
        let left = connection.ask(&call).await.value();
        match (left, want) {
            (Value::Long(left), want) if left >= 0 && want >= 0 => {
                assert!(
                    (want - 5..=want).contains(&left),
                    "{timeout:?} {countdown:?}: {left}"
                );
            }
            // The end of time is as good as no deadline.
            (left, want) => assert!(
                left == Value::Long(want) || left == Value::Long(i64::MAX),
                "{timeout:?}: {left:?}"
            ),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_dropped_at_the_deadline_and_the_caller_told() {
    let dropped = Arc::new(Semaphore::new(0));
    let rig = Rig::of(service(&dropped));
    let mut connection = rig.connect();
    let start = Instant::now();
    let call = Call::of("hang", "", &[]).with("timeout", "300");
    let (status, text) = connection.ask(&call).await.refused();
    assert_eq!(status, 31);
    assert!(text.contains("hang"), "{text}");
    assert!((300..310).contains(&start.elapsed().as_millis()));
    assert_eq!(dropped.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn dubbo_go_is_told_nothing_after_its_timeout() {
    let dropped = Arc::new(Semaphore::new(0));
    let rig = Rig::of(service(&dropped));
    let mut connection = rig.connect();
    // A proxy and a generated stub.
    for (name, value) in [("environment", "dev"), ("retries", "")] {
        let call = Call::of("hang", "", &[])
            .with("timeout", "300")
            .with(name, value);
        connection.send(call.frame(7)).await;
        soon("the handler to be dropped", dropped.acquire())
            .await
            .expect("open")
            .forget();
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(
            connection.ask(&Call::of("left", "", &[])).await.value(),
            Value::Long(-1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_a_stalled_dubbo_go_would_read_too_late_is_dropped() {
    let started = Arc::new(Notify::new());
    let began = Arc::clone(&started);
    let service = JavaService::new(Call::PATH).method("large", move |call: Request<(i32,)>| {
        began.notify_one();
        let len = usize::try_from(call.message().0).expect("a length");
        async move { Ok(vec![0_u8; len].into()) }
    });
    let rig = Rig::of(service);
    let mut connection = rig.connect();
    let large = |len: i32| {
        let call = Call::of("large", "I", &[len.into()]);
        call.with("timeout", "1000").with("environment", "dev")
    };
    // What is not read fills the sockets, and then the room of the connection.
    for id in 0..16 {
        connection.send(large(4 << 20).frame(id)).await;
        soon("the handler to begin", started.notified()).await;
    }
    connection.send(large(1).frame(99)).await;
    soon("the handler to begin", started.notified()).await;
    tokio::time::sleep(Duration::from_millis(2001)).await;
    let mut ids = Vec::new();
    connection
        .send(Call::of("large", "I", &[2.into()]).frame(100))
        .await;
    loop {
        let answer = Answer::of(&connection.frame().await);
        if answer.id == 100 {
            break;
        }
        ids.push(answer.id);
    }
    assert!(
        !ids.is_empty() && ids.len() < 16 && !ids.contains(&99),
        "{ids:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_one_way_call_has_no_deadline() {
    let done = Arc::new(Notify::new());
    let tell = Arc::clone(&done);
    let service = JavaService::new(Call::PATH).method("slow", move |_: Request<()>| {
        let tell = Arc::clone(&tell);
        async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            tell.notify_one();
            Ok(().into())
        }
    });
    let rig = Rig::of(service);
    let mut connection = rig.connect();
    connection
        .send(Call::of("slow", "", &[]).with("timeout", "100").one_way(1))
        .await;
    soon("the handler to finish", done.notified()).await;
}
