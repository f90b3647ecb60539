//! `dubbo bench`.

use crate::rig::{Provider, dubbo, dubbo_of, nobody};

const ADA: &str = r#"{"name":"Ada"}"#;

#[tokio::test]
async fn a_closed_loop_makes_as_many_calls_as_it_was_told() {
    let provider = Provider::start().await;
    let bench = ["bench", &provider.triple, "greet.Greeter/Greet", ADA];
    let run = dubbo_of(&[&["--json"], &bench[..], &["-n", "200", "-c", "4"]]).await;
    let report = run.exits(0).json();
    assert_eq!(report["loop"], "closed");
    assert_eq!(report["calls"], 200);
    assert_eq!(report["failed"], 0);
    let rows = report["histogram"].as_array().expect("a list");
    let counted: u64 = rows.iter().filter_map(|row| row["calls"].as_u64()).sum();
    assert_eq!(counted, 200);
    let latency = |name: &str| report["latencyMicros"][name].as_f64().expect("a number");
    assert!(
        latency("min") > 0.0
            && latency("p50") <= latency("p99")
            && latency("p99") <= latency("max")
    );
    let run = dubbo_of(&[&bench[..], &["-n", "20", "--warm-up", "50ms"]])
        .await
        .exits(0);
    for want in [
        "20 calls in ",
        "closed loop, 10 at a time",
        "none failed",
        "P99.9",
        "BELOW",
        "####",
    ] {
        assert!(run.out.contains(want), "{want} in {run:?}");
    }
}

#[tokio::test]
async fn an_open_loop_begins_calls_at_its_rate() {
    let provider = Provider::start().await;
    let bench = [
        "--json",
        "bench",
        &provider.triple,
        "greet.Greeter/Greet",
        ADA,
        "--rate",
        "100",
    ];
    let run = dubbo_of(&[&bench[..], &["-d", "500ms"]]).await;
    let report = run.exits(0).json();
    assert_eq!(report["loop"], "open");
    assert_eq!(report["calls"], 50);
    let seconds = report["seconds"].as_f64().expect("a number");
    assert!(
        seconds >= 0.49,
        "the last one begins after 490 ms: {report}"
    );
}

#[tokio::test]
async fn streams_and_java_methods_are_measured_too() {
    let provider = Provider::start().await;
    let many = [
        "--json",
        "bench",
        &provider.triple,
        "greet.Greeter/GreetMany",
        ADA,
        "-n",
        "10",
    ];
    assert_eq!(dubbo(&many).await.exits(0).json()["messages"], 30);
    let java = [
        "com.example.UserService/getUser",
        r#"["ada"]"#,
        "--version",
        "1.0.0",
        "-n",
        "10",
    ];
    let run = dubbo_of(&[&["--json", "bench", &provider.classic], &java[..]]).await;
    assert_eq!(run.exits(0).json()["calls"], 10);
}

#[tokio::test]
async fn what_cannot_be_measured_is_told_before_it_begins() {
    let provider = Provider::start().await;
    let triple = &*provider.triple;
    let nobody = nobody().await;
    let greet = "greet.Greeter/Greet";
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &[&nobody, greet, "--timeout", "300ms"],
            3,
            "check the address",
        ),
        (
            &[triple, greet, r#"{"name":"business"}"#],
            5,
            "not on a Monday",
        ),
        (&[triple, greet, "--rate", "0"], 2, "from 0.001"),
        (&[triple, greet, "-c", "0"], 2, "invalid value"),
        (
            &[triple, greet, "-n", "5", "-d", "1s"],
            2,
            "cannot be used with",
        ),
    ];
    for (words, code, want) in cases {
        let run = dubbo_of(&[&["bench"], *words]).await.exits(*code);
        assert!(run.err.contains(want), "{words:?}: {want} in {run:?}");
    }
}
