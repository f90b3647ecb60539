//! The server in a process of its own: this test binary, started again to do nothing but serve.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::Duration,
};

use dubbo_core::{protocol::Protocol as _, url::Url};
use dubbo_protocol::TripleProtocol;
use dubbo_test::attack::Caller;

use crate::service::{ECHO, number, parcels, request};

/// A server, until it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// What happened during an attack.
#[derive(Debug)]
pub(crate) struct Attacked<T> {
    /// What the attacker heard.
    pub(crate) heard: T,
    /// By how much the server's memory grew at most, in bytes.
    pub(crate) grown: usize,
}

impl Server {
    /// One with these parameters, `a=1&b=2`.
    pub(crate) async fn start(params: &str) -> Self {
        let program = std::env::current_exe().expect("a test binary");
        Self::run(Command::new(program), params).await
    }

    /// One that can have so many files open.
    pub(crate) async fn start_with_files(files: usize) -> Self {
        let program = std::env::current_exe().expect("a test binary");
        let mut shell = Command::new("sh");
        let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        shell.arg("-c").arg(script).arg(program);
        Self::run(shell, "").await
    }

    async fn run(mut command: Command, params: &str) -> Self {
        command
            .args(["--exact", ENTRY, "--nocapture", "--test-threads=1"])
            .env(PARAMS, params)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let mut said = BufReader::new(child.stdout.as_mut().expect("it is piped"));
        let address = loop {
            let mut line = String::new();
            let len = said.read_line(&mut line).expect("text");
            assert_ne!(len, 0, "the server ended before it listened");
            if let Some((_, address)) = line.trim_end().rsplit_once(LISTENS) {
                break address.parse().expect("an address");
            }
        };
        let server = Self { child, address };
        // What it takes for the first calls is no growth.
        for _ in 0..WARM {
            server.call().await;
        }
        server
    }

    /// Makes an ordinary call on a connection of its own.
    pub(crate) async fn call(&self) {
        let caller = Caller::connect(self.address).await;
        call(&caller).await;
    }

    /// Runs `attack`. Meanwhile another peer makes calls on a connection of its own, and afterwards a new one does: each is
    /// answered, as if nothing was.
    pub(crate) async fn under<T>(&self, attack: impl Future<Output = T>) -> Attacked<T> {
        let bystander = Caller::connect(self.address).await;
        call(&bystander).await;
        let before = self.memory();
        let mut most = before;
        let mut attack = std::pin::pin!(attack);
        let mut ticks = tokio::time::interval(TICK);
        let heard = loop {
            tokio::select! {
                heard = &mut attack => break heard,
                _ = ticks.tick() => {
                    call(&bystander).await;
                    most = most.max(self.memory());
                }
            }
        };
        call(&bystander).await;
        self.call().await;
        most = most.max(self.memory());
        let grown = most - before;
        Attacked { heard, grown }
    }

    /// How much of it is in memory, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let path = format!("/proc/{}/statm", self.child.id());
        let text = std::fs::read_to_string(path).expect("it runs");
        let pages = text
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<usize>().ok());
        pages.expect("the second number is that of resident pages") * PAGE
    }
}

impl<T> Attacked<T> {
    /// What the attacker heard, once it is clear that the server's memory grew by no more than `bound` bytes.
    pub(crate) fn within(self, bound: usize) -> T {
        assert!(
            self.grown <= bound,
            "the server grew by {} KiB, and {} KiB are allowed",
            self.grown >> 10,
            bound >> 10
        );
        self.heard
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn call(caller: &Caller) {
    let answer = caller.call(ECHO, &[], request(7, "")).await;
    let answer = answer.expect("an ordinary call is answered");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert_eq!(number(&answer.body), 7);
}

/// This is also what the other process runs. It serves until its input ends, which it does with the process that started
/// it, however that ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_another_process_ends_with_the_one_that_started_it() {
    if let Ok(params) = std::env::var(PARAMS) {
        return serve(&params).await;
    }
    let mut server = Server::start("").await;
    drop(server.child.stdin.take());
    let ended = tokio::task::spawn_blocking(move || server.child.wait().map(|end| end.success()));
    let ended = dubbo_test::soon("the end of the server", ended).await;
    assert!(ended.expect("no panic").expect("it is waited for"));
}

async fn serve(params: &str) {
    let url: Url = format!("tri://127.0.0.1:0/limits.Parcels?{params}")
        .parse()
        .expect("a URL");
    let service = parcels();
    let protocol = TripleProtocol::default();
    let descriptor = std::sync::Arc::clone(service.descriptor());
    let exporter = protocol
        .export(&url, descriptor, service.into_invoker(url.clone()))
        .await
        .expect("exported");
    let port = exporter.url().port().expect("bound");
    let mut out = std::io::stdout();
    writeln!(out, "{LISTENS}127.0.0.1:{port}").expect("it is read");
    out.flush().expect("it is read");
    let input = || std::io::stdin().read_to_end(&mut Vec::new());
    let end = tokio::task::spawn_blocking(input).await;
    end.expect("no panic").expect("it ends");
}

const ENTRY: &str = "process::a_server_of_another_process_ends_with_the_one_that_started_it";
const PARAMS: &str = "DUBBO_TEST_LIMITS_SERVER";
const LISTENS: &str = "the server listens on ";
const WARM: usize = 20;
const TICK: Duration = Duration::from_millis(20);
const PAGE: usize = 4_096;
