//! Dead letters on disk outlive a program that is killed (`docs/spec/cluster.md` §7.12).
//!
//! The program is this one once more, told to run a test that is ignored otherwise.

#![cfg(feature = "durable")]
#![allow(
    clippy::print_stdout,
    reason = "a process speaks to the one that started it"
)]

use std::{
    collections::{HashMap, HashSet},
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use bytes::Bytes;
use dubbo_cluster::resend::dead_letter::{
    DeadLetter, DeadLetterStore as _, DeadLetters, DiskOptions, DiskStore, Lost, Reason, SyncMode,
};
use dubbo_core::{
    invocation::{Body, Invocation},
    payload::{Codec, Payload},
    service::{CallKind, MethodDescriptor, MethodRef, ServiceDescriptor, ServiceKey},
    status::Status,
};
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

/// So many letters are written, unless somebody stops it.
const LETTERS: usize = 10_000;

const FILE: &str = "DUBBO_TEST_FILE";
const SYNC: &str = "DUBBO_TEST_SYNC";

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill_and_nothing_twice() {
    for kill_after in [1, 2_500, 7_000, LETTERS] {
        let place = Place::new();
        let kept = place.child("always", kill_after);
        assert!(kept.len() >= kill_after.min(LETTERS), "{}", kept.len());
        let found = place.recovered().await;
        let lost = kept.iter().filter(|(id, _)| !found.contains_key(id));
        assert_eq!(lost.count(), 0, "of {} acknowledged", kept.len());
        println!(
            "killed after {kill_after}: {} acknowledged, {} recovered, none lost, none twice",
            kept.len(),
            found.len()
        );
    }
}

#[tokio::test]
async fn with_batches_only_the_last_moments_are_lost() {
    let place = Place::new();
    let kept = place.child("batch", 5_000);
    let found = place.recovered().await;
    let end = kept
        .iter()
        .map(|(_, at)| *at)
        .max()
        .expect("some were kept");
    let lost: Vec<u64> = kept
        .iter()
        .filter(|(id, _)| !found.contains_key(id))
        .map(|(_, at)| end - at)
        .collect();
    let oldest = lost.iter().copied().max().unwrap_or_default();
    println!(
        "killed in batches: {} acknowledged, {} lost, of the last {oldest} ms",
        kept.len(),
        lost.len()
    );
    // 10 ms, and what a busy machine takes to say what was kept.
    assert!(oldest <= 250, "{oldest}");
}

/// A folder that is gone with the value.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let name = format!("dubbo-durable-{}", fastrand::u64(..));
        Self(env::temp_dir().join(name))
    }

    fn file(&self) -> PathBuf {
        self.0.join("letters.redb")
    }

    /// Has a child write letters, and kills it once it has acknowledged so many: the ids of all that it acknowledged, and
    /// when, in milliseconds.
    fn child(&self, sync: &str, kill_after: usize) -> Vec<(String, u64)> {
        let mut child = Command::new(env::current_exe().expect("it is running"))
            .args(["--ignored", "--exact", "--nocapture", "writes_letters"])
            .env(FILE, self.file())
            .env(SYNC, sync)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can run twice");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut kept = Vec::new();
        for line in output.lines() {
            // The last one may be cut anywhere.
            let line = line.unwrap_or_default();
            let Some((_, told)) = line.split_once("kept ") else {
                continue;
            };
            let Some((id, at)) = told.strip_suffix('.').and_then(|told| told.split_once(' '))
            else {
                continue;
            };
            kept.push((id.to_owned(), at.parse().expect("milliseconds")));
            if kept.len() == kill_after {
                // SIGKILL: it has no time for anything.
                child.kill().expect("it runs");
            }
        }
        child.wait().expect("it ran");
        kept
    }

    /// What the file has, by the id of the request, each once.
    async fn recovered(&self) -> HashMap<String, Arc<DeadLetter>> {
        let store = DiskStore::open(self.file(), DiskOptions::default()).expect("opens");
        assert_eq!(store.unreadable(), 0);
        let letters = store.page(None, usize::MAX).await.expect("reads");
        let count = letters.len();
        let by_request: HashMap<_, _> = letters
            .into_iter()
            .map(|letter| (letter.request_id.clone(), letter))
            .collect();
        assert_eq!(by_request.len(), count, "none is there twice");
        let ids: HashSet<_> = by_request.values().map(|letter| letter.id).collect();
        assert_eq!(ids.len(), count);
        by_request
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a process for the other tests"]
async fn writes_letters() {
    let Some(file) = env::var_os(FILE) else {
        return;
    };
    let sync = match env::var(SYNC).as_deref() {
        Ok("batch") => SyncMode::Batch,
        _ => SyncMode::Always,
    };
    let options = DiskOptions {
        sync,
        ..DiskOptions::default()
    };
    let letters = DeadLetters::default();
    let store = DiskStore::open(file, options).expect("opens");
    letters.add("disk", Arc::new(store));
    let start = Instant::now();
    let puts = stream::iter(0..LETTERS).map(|number| {
        let letters = letters.clone();
        async move {
            let id = format!("request-{number}");
            letters.keep(None, letter(&id)).await.expect("kept");
            let at = start.elapsed().as_millis();
            let mut out = std::io::stdout().lock();
            writeln!(out, "kept {id} {at}.").expect("the other side reads");
            out.flush().expect("the other side reads");
        }
    });
    puts.buffer_unordered(64).collect::<Vec<()>>().await;
}

fn letter(request: &str) -> DeadLetter {
    let methods = vec![MethodDescriptor::new("Pay", CallKind::Unary)];
    let service = Arc::new(ServiceDescriptor::new("shop.Orders", methods));
    let payload = Payload::encoded(Codec::Protobuf, Bytes::from(vec![7; 200]));
    let key = Arc::new(ServiceKey::new("shop.Orders"));
    let mut call = Invocation::new(key, MethodRef::new(service, 0), Body::Unary(payload));
    call.attachments
        .insert("dubbo-request-id", request.to_owned());
    let lost = Lost::new(call, Reason::Shutdown, Status::unavailable("refused"));
    lost.letter().expect("unary")
}
