use std::time::Duration;

use dubbo_protocol::filter::Machine;
use metrics::{Label, counter, gauge, histogram, with_local_recorder};

use super::*;

fn recorder(aggregates: bool) -> Recorder {
    Recorder::new(Window {
        steps: 10,
        length: Duration::from_mins(2),
        aggregates,
    })
}

/// A call at a provider, which took `millis`.
fn call(millis: f64) {
    let labels = [Label::new("method", "find"), Label::new("interface", "a.B")];
    counter!("dubbo_provider_requests_total", labels.iter()).increment(1);
    gauge!("dubbo_provider_requests_processing_total", labels.iter()).set(2.0);
    histogram!("dubbo_provider_rt_milliseconds", labels.iter()).record(millis);
}

fn line<'t>(text: &'t str, name: &str) -> &'t str {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let found = lines.find(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with([' ', '{']))
    });
    found.unwrap_or_else(|| panic!("{name} is not there: {text}"))
}

fn value(text: &str, name: &str) -> f64 {
    let line = line(text, name);
    let (_, value) = line.rsplit_once(' ').expect("a value");
    value.parse().expect("a number")
}

#[test]
fn a_call_shows_up_under_all_names_that_dubbo_go_has_for_it() {
    let recorder = recorder(true);
    let began = Instant::now();
    with_local_recorder(&recorder, || [1.0, 2.0, 3.0].map(call));
    let text = recorder.text(began + Duration::from_secs(6));
    assert_eq!(
        line(&text, "dubbo_provider_requests_total"),
        r#"dubbo_provider_requests_total{interface="a.B",method="find"} 3"#
    );
    for (name, want) in [
        ("dubbo_provider_requests_total_aggregate", 3.0),
        ("dubbo_provider_requests_processing_total", 2.0),
        ("dubbo_provider_rt_milliseconds_sum", 6.0),
        ("dubbo_provider_rt_milliseconds_last", 3.0),
        ("dubbo_provider_rt_milliseconds_min", 1.0),
        ("dubbo_provider_rt_milliseconds_max", 3.0),
        ("dubbo_provider_rt_milliseconds_avg", 2.0),
        ("dubbo_provider_rt_avg_milliseconds_aggregate", 2.0),
        ("dubbo_provider_rt_min_milliseconds_aggregate", 1.0),
        ("dubbo_provider_rt_max_milliseconds_aggregate", 3.0),
    ] {
        assert!((value(&text, name) - want).abs() < 1e-9, "{name}: {text}");
    }
    for (name, want) in [
        ("dubbo_provider_qps_total", 0.5),
        ("dubbo_provider_rt_milliseconds_p50", 2.0),
        ("dubbo_provider_rt_milliseconds_p90", 3.0),
        ("dubbo_provider_rt_milliseconds_p95", 3.0),
        ("dubbo_provider_rt_milliseconds_p99", 3.0),
    ] {
        let value = value(&text, name);
        assert!((value - want).abs() / want < 0.05, "{name}: {value}");
    }
    for (name, kind) in [
        ("dubbo_provider_requests_total", "counter"),
        ("dubbo_provider_requests_total_aggregate", "gauge"),
        ("dubbo_provider_qps_total", "gauge"),
        ("dubbo_provider_rt_milliseconds_p99", "gauge"),
    ] {
        assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{name}");
    }
}

#[test]
fn what_is_about_the_last_minutes_forgets_and_totals_do_not() {
    let recorder = recorder(true);
    let began = Instant::now();
    with_local_recorder(&recorder, || call(5.0));
    let mut now = began;
    for _ in 0..11 {
        now += Duration::from_secs(12);
        recorder.step(now);
        // A second clock does not make the window shorter.
        recorder.step(now + Duration::from_secs(1));
    }
    let text = recorder.text(now);
    for (name, want) in [
        ("dubbo_provider_requests_total", 1.0),
        ("dubbo_provider_requests_total_aggregate", 0.0),
        ("dubbo_provider_qps_total", 0.0),
        ("dubbo_provider_rt_milliseconds_max", 5.0),
        ("dubbo_provider_rt_max_milliseconds_aggregate", 0.0),
    ] {
        assert!((value(&text, name) - want).abs() < 1e-9, "{name}: {text}");
    }
    assert!(
        !text.contains("\ndubbo_provider_rt_milliseconds_p99{"),
        "nothing to say: {text}"
    );
}

#[test]
fn aggregates_can_be_left_out() {
    let recorder = recorder(false);
    with_local_recorder(&recorder, || call(5.0));
    let text = recorder.text(Instant::now());
    assert!(!text.contains("_aggregate"), "{text}");
    assert!(
        text.contains("dubbo_provider_rt_milliseconds_p99{"),
        "{text}"
    );
}

#[test]
fn what_names_its_application_alone_gets_all_its_labels() {
    let recorder = recorder(true);
    let application = Application {
        name: "shop".to_owned(),
        version: "1".to_owned(),
        machine: Machine {
            hostname: "h".to_owned(),
            ip: "10.0.0.1".to_owned(),
        },
    };
    recorder.know(&application, false);
    with_local_recorder(&recorder, || {
        counter!("dubbo_metadata_push_num_total", "app" => "shop").increment(1);
    });
    assert_eq!(
        recorder.text(Instant::now()),
        "",
        "nobody has asked for metadata"
    );
    recorder.know(&application, true);
    with_local_recorder(&recorder, || {
        for app in ["shop", "other"] {
            counter!("dubbo_metadata_push_num_total", "app" => app).increment(1);
        }
        histogram!("dubbo_push_rt_milliseconds", "app" => "shop").record(4.0);
        counter!("dubbo_metadata_fetch_total", "app" => "shop").increment(1);
    });
    let text = recorder.text(Instant::now());
    let all = r#"{application_name="shop",application_version="1",git_commit_id="",hostname="h",ip="10.0.0.1"}"#;
    for want in [
        &format!("\ndubbo_metadata_push_num_total{all} 1\n"),
        &format!("\ndubbo_push_rt_milliseconds_sum{all} 4\n"),
        "\ndubbo_metadata_push_num_total{app=\"other\"} 1\n",
        "\ndubbo_metadata_fetch_total{app=\"shop\"} 1\n",
    ] {
        assert!(text.contains(want), "{want} is not there: {text}");
    }
}

#[test]
fn names_and_labels_of_anybody_are_written_so_that_they_can_be_read() {
    let recorder = recorder(true);
    with_local_recorder(&recorder, || {
        counter!("7 lives.left", "a-b" => "\"quoted\"\n\\").increment(1);
        gauge!("plain").set(0.5);
        metrics::describe_gauge!("plain", "What it\nis");
        histogram!("lag_seconds", "x" => "y").record(2.0);
        // Another kind by the name of the first one.
        histogram!("plain").record(1.0);
        counter!("plain").increment(1);
    });
    let text = recorder.text(Instant::now());
    for want in [
        r#"_7_lives_left{a_b="\"quoted\"\n\\"} 1"#,
        "# HELP plain What it\\nis\n# TYPE plain gauge\nplain 0.5\n",
        "# TYPE lag_seconds summary\n",
        r#"lag_seconds{x="y",quantile="0.99"} "#,
        "lag_seconds_sum{x=\"y\"} 2\n",
        "lag_seconds_count{x=\"y\"} 1\n",
    ] {
        assert!(text.contains(want), "{want} is not there: {text}");
    }
}

#[test]
fn who_looks_numbers_up_is_asked_when_they_are_read_and_as_long_as_it_is_there() {
    struct Looks;

    impl Collect for Looks {
        fn collect(&self) {
            gauge!("looked_up").increment(1.0);
        }
    }

    let recorder = recorder(true);
    let looks: Arc<dyn Collect> = Arc::new(Looks);
    recorder.ask(Arc::downgrade(&looks));
    let read = || with_local_recorder(&recorder, || recorder.text(Instant::now()));
    assert!(read().contains("looked_up 1\n"));
    assert!(read().contains("looked_up 2\n"));
    drop(looks);
    assert!(read().contains("looked_up 2\n"));
}
