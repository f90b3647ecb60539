//! What only a process of its own can show: signals, and the log.
//!
//! The process is this program once more, told to run one of the tests that are ignored otherwise.

#![allow(
    clippy::print_stdout,
    reason = "a process speaks to the one that started it"
)]

use std::{
    env,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use dubbo::{
    Instance,
    config::{Environment, LoadOptions},
};
use dubbo::{Request, Response, Status, Streaming};
use dubbo_test::soon;
use examples::{
    Polite,
    greet::{GreetRequest, GreetResponse, Greeter, GreeterClient, GreeterServer},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// The text of the configuration of a child.
const YAML: &str = "DUBBO_TEST_YAML";

/// A provider whose calls wait until this side closes its input.
struct Provider {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl Provider {
    async fn start(shutdown: &str) -> Self {
        let yaml = format!(
            "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, shutdown: {{{shutdown}}}}}"
        );
        let mut provider = Self::of(child("serves_until_it_is_told_to_stop", &yaml));
        provider.url = provider.says("serving ").await;
        provider
    }

    fn of(mut child: Child) -> Self {
        let input = child.stdin.take().expect("piped");
        let output = child.stdout.take().expect("piped");
        Self {
            child,
            input,
            lines: BufReader::new(output).lines(),
            url: String::new(),
        }
    }

    /// The rest of the first line that begins like this.
    async fn says(&mut self, start: &str) -> String {
        soon(start, async {
            while let Some(line) = self.lines.next_line().await.expect("text") {
                if let Some((_, rest)) = line.split_once(start) {
                    return rest.to_owned();
                }
            }
            panic!("it ended without saying {start:?}")
        })
        .await
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args([name, &id]).status().await;
        assert!(sent.expect("there is kill").success());
    }

    async fn ends(&mut self) -> ExitStatus {
        soon("the end of the process", self.child.wait())
            .await
            .expect("it ran")
    }

    /// A call that has reached the handler and waits.
    async fn call(&mut self) -> tokio::task::JoinHandle<Result<String, Status>> {
        let yaml = format!(
            "dubbo: {{consumer: {{references: {{greet.Greeter: {{url: '{}', retries: 0, timeout: 1m}}}}}}}}",
            self.url
        );
        let instance = load(&yaml).build().expect("valid");
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        let call = tokio::spawn(async move {
            let request = GreetRequest {
                name: "you".to_owned(),
            };
            Ok(greeter.greet(request).await?.into_message().greeting)
        });
        self.says("called").await;
        call
    }
}

fn load(yaml: &str) -> dubbo::InstanceBuilder {
    Instance::load_with(&LoadOptions::text("dubbo.yaml", yaml)).expect("it is YAML")
}

/// This program again, running one ignored test.
fn child(test: &str, yaml: &str) -> Child {
    Command::new(env::current_exe().expect("it is running"))
        .args(["--ignored", "--exact", "--nocapture", test])
        .env(YAML, yaml)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it can run twice")
}

#[tokio::test]
async fn a_signal_lets_a_call_in_flight_finish() {
    for signal in ["-TERM", "-INT"] {
        let mut provider = Provider::start("consumer-update-wait-time: 0, step-timeout: 0").await;
        let call = provider.call().await;
        provider.signal(signal).await;
        // New connections are refused from now on; the call goes on.
        let address = provider.url.trim_start_matches("tri://").to_owned();
        soon("the end of accepting", async {
            while tokio::net::TcpStream::connect(&address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert!(!call.is_finished());
        provider.input.write_all(b"go\n").await.expect("it reads");
        let answer = soon("the answer", call).await.expect("no panic");
        assert_eq!(answer.expect("is answered"), "Hello, you!");
        assert_eq!(provider.says("served: ").await, "Ok(())");
        assert!(provider.ends().await.success());
    }
}

#[tokio::test]
async fn a_signal_before_serving_counts() {
    for signal in ["-TERM", "-INT"] {
        let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}}";
        let mut provider = Provider::of(child("does_something_else_before_it_serves", yaml));
        provider.says("started").await;
        provider.signal(signal).await;
        provider.says("ended").await;
        provider.input.write_all(b"go\n").await.expect("it reads");
        assert_eq!(provider.says("served: ").await, "Ok(())");
        assert!(provider.ends().await.success());
    }
}

#[tokio::test]
async fn a_second_signal_ends_what_does_not_serve() {
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}}";
        let mut provider = Provider::of(child("does_something_else_before_it_serves", yaml));
        provider.says("started").await;
        provider.signal(signal).await;
        provider.says("ended").await;
        provider.signal(signal).await;
        assert_eq!(provider.ends().await.code(), Some(code));
    }
}

#[tokio::test]
async fn after_its_timeout_a_shutdown_cuts_what_is_left() {
    let shutdown = "timeout: 50ms, consumer-update-wait-time: 1m, step-timeout: 1m";
    let mut provider = Provider::start(shutdown).await;
    let call = provider.call().await;
    provider.signal("-TERM").await;
    soon("the call", call)
        .await
        .expect("no panic")
        .expect_err("it is cut");
    assert_eq!(provider.says("served: ").await, "Ok(())");
    assert!(provider.ends().await.success());
}

#[tokio::test]
async fn a_second_signal_ends_the_wait() {
    let mut provider = Provider::start("consumer-update-wait-time: 1m").await;
    let call = provider.call().await;
    provider.signal("-TERM").await;
    // The second one counts once the first one has been taken; until then they are one.
    let said = soon("the end of serving", async {
        loop {
            tokio::select! {
                biased;
                said = provider.lines.next_line() => {
                    let line = said.expect("text").expect("it says how it ended");
                    if let Some((_, said)) = line.split_once("served: ") {
                        return said.to_owned();
                    }
                }
                () = tokio::time::sleep(Duration::from_millis(20)) => {
                    let id = provider.child.id().expect("it runs").to_string();
                    Command::new("kill").args(["-INT", &id]).status().await.expect("there is kill");
                }
            }
        }
    })
    .await;
    assert_eq!(said, "Err(shutdown cut short by a second signal)");
    drop(call);
}

#[tokio::test]
async fn with_internal_signals_off_signals_are_the_programs_own() {
    use std::os::unix::process::ExitStatusExt as _;

    let mut provider = Provider::start("internal-signal: false").await;
    provider.signal("-TERM").await;
    assert_eq!(
        provider.ends().await.signal(),
        Some(15),
        "what a program without handlers does"
    );
}

#[tokio::test]
async fn the_log_has_the_lines_and_the_form_that_are_configured() {
    for (logger, level, line) in [
        ("", None, ""),
        (
            "logger: {level: trace}",
            Some("trace"),
            "[processes] a trace event n=7",
        ),
        (
            "logger: {level: debug}",
            Some("debug"),
            "[processes] a debug event n=7",
        ),
        (
            "logger: {level: info}",
            Some("info"),
            "[processes] an info event n=7",
        ),
        (
            "logger: {format: text}",
            Some("info"),
            "[processes] an info event n=7",
        ),
        (
            "logger: {level: warn}",
            Some("warn"),
            "[processes] a warn event n=7",
        ),
        (
            "logger: {level: error}",
            Some("error"),
            "[processes] an error event n=7",
        ),
        (
            "logger: {format: json, appender: console}",
            Some("info"),
            r#""msg":"an info event","n":7"#,
        ),
    ] {
        let mut child = child("logs", &format!("dubbo: {{cache_file: x, {logger}}}"));
        let mut log = String::new();
        let mut output = child.stderr.take().expect("piped");
        let read = soon("the log", output.read_to_string(&mut log)).await;
        read.expect("text");
        assert!(child.wait().await.expect("it ran").success(), "{log}");
        assert!(log.contains(line), "{logger}: {log}");
        let from = LEVELS.iter().position(|name| Some(*name) == level);
        for (at, name) in LEVELS.iter().enumerate() {
            let logged = log.contains(&format!("{name} event"));
            assert_eq!(
                logged,
                from.is_some_and(|from| at >= from),
                "{logger}, {name}: {log}"
            );
        }
        // What the configuration says in vain is a warning: its log must be there before its warnings are, and without
        // any log they are told all the same.
        let warnings = log.matches("WARN").count() - usize::from(log.contains("a warn event"));
        let warned = log.matches("dubbo.cache_file: has no effect").count();
        let want = usize::from(level != Some("error"));
        assert_eq!((warned, warnings), (want, want), "{logger}: {log}");
    }
}

const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

/// Waits for a line of input before it greets.
struct Patient;

impl Greeter for Patient {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        println!("called");
        let mut line = String::new();
        let read = BufReader::new(tokio::io::stdin())
            .read_line(&mut line)
            .await;
        read.map_err(|error| Status::internal(error.to_string()))?;
        Polite.greet(request).await
    }

    async fn greet_many(
        &self,
        _: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }

    async fn greet_all(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }

    async fn greet_each(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }
}

/// The configuration that the other side passes; `None` when nobody does.
fn passed() -> Option<dubbo::InstanceBuilder> {
    let environment = Environment::of_process();
    Some(load(environment.get(YAML)?))
}

#[tokio::test]
#[ignore = "a process for the other tests"]
async fn serves_until_it_is_told_to_stop() {
    let Some(builder) = passed() else { return };
    let instance = builder
        .provide(GreeterServer::new(Patient))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    println!("serving tri://{}", instance.exported()[0].address());
    let served = instance.serve().await;
    println!("served: {served:?}");
    // A thread that waits for input would keep the runtime.
    std::process::exit(0);
}

#[tokio::test]
#[ignore = "a process for the other tests"]
async fn does_something_else_before_it_serves() {
    let Some(builder) = passed() else { return };
    let instance = builder
        .provide(GreeterServer::new(Patient))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    println!("started");
    while !instance.exported().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("ended");
    let mut line = String::new();
    let read = BufReader::new(tokio::io::stdin())
        .read_line(&mut line)
        .await;
    read.expect("text");
    println!("served: {:?}", instance.serve().await);
    std::process::exit(0);
}

#[test]
#[ignore = "a process for the other tests"]
fn logs() {
    let Some(builder) = passed() else { return };
    builder.build().expect("valid");
    tracing::trace!(n = 7, "a trace event");
    tracing::debug!(n = 7, "a debug event");
    tracing::info!(n = 7, "an info event");
    tracing::warn!(n = 7, "a warn event");
    tracing::error!(n = 7, "an error event");
}
