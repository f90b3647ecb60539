//! Which calls have tasks of their own.

use std::{collections::HashSet, sync::Arc, time::Duration};

use dubbo_core::provider::Service;
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::{sync::watch, task, time::Instant};

use super::{
    greeter::{Provider, due, hello, unary},
    wire::{GREET, Wire, request},
};

/// Tells which task makes each call. `busy` keeps the thread, `stuck` until it is released, and `waiting` gives it up.
struct Rig {
    tasks: Arc<Mutex<Vec<task::Id>>>,
    release: watch::Sender<bool>,
}

impl Rig {
    fn new() -> (Self, Service) {
        let tasks: Arc<Mutex<Vec<task::Id>>> = Arc::default();
        let release = watch::Sender::new(false);
        let (noted, released) = (Arc::clone(&tasks), release.subscribe());
        let service = unary(move |request| {
            let (noted, mut released) = (Arc::clone(&noted), released.clone());
            async move {
                noted.lock().push(task::id());
                let name = &request.message().name;
                match &**name {
                    "busy" => {
                        let start = Instant::now();
                        while start.elapsed() < Duration::from_millis(300) {
                            std::thread::yield_now();
                        }
                    }
                    "stuck" => {
                        while !*released.borrow() {
                            std::thread::yield_now();
                        }
                    }
                    "waiting" => {
                        let _ = released.wait_for(|released| *released).await;
                    }
                    _ => {}
                }
                Ok(hello(name).into())
            }
        });
        (Self { tasks, release }, service)
    }

    /// How many tasks made the calls since the last time.
    fn tasks(&self) -> usize {
        let tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.into_iter().collect::<HashSet<_>>().len()
    }
}

/// Calls that are quick, until it is known.
async fn quick_calls(wire: &mut Wire) {
    for _ in 0..WARM {
        assert_eq!(wire.greet("x", &[]).await.code(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_a_quick_method_are_made_on_the_task_of_their_connection() {
    let (rig, service) = Rig::new();
    let provider = Provider::of(service).await;
    let mut wire = Wire::connect(provider.address).await;
    quick_calls(&mut wire).await;
    let before = rig.tasks();
    assert!(before > 50, "{before} tasks: a method has to show it first");
    for _ in 0..100 {
        assert_eq!(wire.greet("x", &[]).await.code(), 0);
    }
    // One that the system puts aside for long may make some others.
    let after = rig.tasks();
    assert!(after < 50, "{after} tasks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_waits_holds_up_no_other() {
    let (rig, service) = Rig::new();
    let provider = Provider::of(service).await;
    let mut wire = Wire::connect(provider.address).await;
    quick_calls(&mut wire).await;
    let mut waiting = Vec::new();
    for _ in 0..10 {
        let mut call = wire.open(GREET, &[]).await;
        call.data(request("waiting"), true);
        waiting.push(call);
    }
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
    rig.release.send_replace(true);
    for answer in join_all(waiting.into_iter().map(|call| due(call.answer()))).await {
        assert_eq!(answer.greetings(), ["hello waiting"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_method_that_keeps_its_thread_does_so_to_one_call_and_not_to_the_connection() {
    let (rig, service) = Rig::new();
    let provider = Provider::of(service).await;
    let mut wire = Wire::connect(provider.address).await;
    quick_calls(&mut wire).await;
    for _ in 0..3 {
        assert_eq!(wire.greet("busy", &[]).await.code(), 0);
    }
    let mut stuck = wire.open(GREET, &[]).await;
    stuck.data(request("stuck"), true);
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
    rig.release.send_replace(true);
    assert_eq!(due(stuck.answer()).await.greetings(), ["hello stuck"]);
}

/// More than it takes to be known as quick, on a machine that has other things to do.
const WARM: usize = 1_000;
