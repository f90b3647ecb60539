use std::time::{Duration, UNIX_EPOCH};

use dubbo_core::status::Status;

use super::*;
use crate::filter::tests::rig::{Provider, invocation_of};

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("dubbo-accesslog-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[tokio::test]
async fn a_file_has_a_line_for_each_call_with_how_it_ended_and_what_it_took() {
    let path = folder("lines").join("access.log");
    let provider = Provider::answering(vec![Ok(()), Err(Status::not_found("x"))]);
    let params = format!("accesslog.allow-file=true&accesslog={}", path.display());
    let chain = provider.chain("accesslog", &params);
    let other = provider.chain("accesslog", &params);
    chain.invoke(invocation_of("Greet")).await.expect("works");
    other
        .invoke(invocation_of("Find"))
        .await
        .expect_err("fails");
    drop((chain, other));
    let written = std::fs::read_to_string(&path).expect("it is there");
    let lines: Vec<&str> = written.lines().collect();
    let [greet, find] = lines.as_slice() else {
        panic!("two lines: {written}");
    };
    assert!(
        greet.contains("] in-process -> in-process - test.Greeter Greet() ok "),
        "{greet}"
    );
    assert!(
        find.contains("test.Greeter Find() not_found ") && find.ends_with(" ms"),
        "{find}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn the_file_of_a_day_is_put_aside_with_the_first_call_of_the_next() {
    let path = folder("days").join("access.log");
    let at = |seconds| {
        let line = Line::begin(
            &invocation_of("Greet"),
            UNIX_EPOCH + Duration::from_secs(seconds),
            Form::Text,
        );
        line.ended(&End::Done, Duration::from_micros(1_500))
    };
    let logs = Logs::default();
    let writer = logs.writer(path.clone()).expect("opens");
    // It begins in the year 2100, after any day on which the file can have been made.
    for seconds in [4_107_542_399, 4_107_542_400, 4_107_542_399] {
        writer.write(at(seconds));
    }
    drop(writer);
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("it is there");
    let aside = PathBuf::from(format!("{}.2100-02-28", path.display()));
    assert_eq!(
        read(&aside),
        "[2100-02-28 23:59:59] in-process -> in-process - test.Greeter Greet() ok 1.500 ms\n"
    );
    assert_eq!(
        read(&path).lines().count(),
        2,
        "who began yesterday and ends today is of today"
    );
}

#[tokio::test]
async fn a_path_needs_leave_and_must_be_one() {
    let provider = Provider::echoing();
    for (params, want) in [
        ("accesslog=/tmp/x.log", "files are not allowed"),
        (
            "accesslog=/nowhere/at/all/x.log&accesslog.allow-file=true",
            "the access log /nowhere/at/all/x.log cannot be opened",
        ),
        (
            "accesslog=x&accesslog.allow-file=perhaps",
            "accesslog.allow-file",
        ),
        (
            "accesslog=/tmp/x.log&accesslog.allow-file=true&accesslog.format=xml",
            "`accesslog.format` is `xml`",
        ),
    ] {
        let error = provider
            .try_chain("accesslog", params)
            .err()
            .expect("refused");
        assert!(error.to_string().contains(want), "{error}");
    }
    for params in [
        "",
        "accesslog=false",
        "accesslog=true",
        "accesslog=x&accesslog.fixed.path=true",
    ] {
        let chain = provider.chain("accesslog", params);
        chain.invoke(invocation_of("Greet")).await.expect("works");
    }
}

#[tokio::test]
async fn what_nobody_waited_for_is_told_too() {
    let path = folder("given-up").join("access.log");
    let provider = Provider::hanging();
    let params = format!("accesslog.allow-file=true&accesslog={}", path.display());
    let chain = provider.chain("accesslog", &params);
    let mut call = chain.invoke(invocation_of("Greet"));
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    drop(call);
    drop(chain);
    let written = std::fs::read_to_string(&path).expect("it is there");
    assert!(written.contains(" Greet() given_up "), "{written}");
}

#[tokio::test]
async fn a_line_may_be_an_object_with_the_trace_of_its_call() {
    let path = folder("json").join("access.log");
    let provider = Provider::answering(vec![Ok(()), Err(Status::not_found("x"))]);
    let file = path.display();
    let params = format!(
        "group=g&version=1.0.0&accesslog.format=json&accesslog.allow-file=true&accesslog={file}"
    );
    let chain = provider.chain("accesslog", &params);
    let mut traced = invocation_of("Greet");
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    traced.attachments.insert("traceparent", parent);
    chain.invoke(traced).await.expect("works");
    chain
        .invoke(invocation_of("Greet"))
        .await
        .expect_err("fails");
    drop(chain);
    let written = std::fs::read_to_string(&path).expect("it is there");
    let lines: Vec<serde_json::Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for (line, status, trace) in [
        (0, "ok", "4bf92f3577b34da6a3ce929d0e0e4736".into()),
        (1, "not_found", serde_json::Value::Null),
    ] {
        let line = &lines[line];
        assert_eq!(
            (&line["interface"], &line["method"], &line["status"]),
            (&"test.Greeter".into(), &"Greet".into(), &status.into())
        );
        assert_eq!(line["trace_id"], trace);
        assert!(
            line["cost_ms"].is_number() && line["time"].is_string(),
            "{line}"
        );
    }
}
