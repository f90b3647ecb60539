//! `dubbo config check`.

use crate::rig::{dubbo, file};

const WRONG: &str = "\
dubbo:
  consumer:
    chek: true
  registries:
    r: { address: 'nacos://h:8848', timeout: soon }
  provider:
    services:
      Polite: { filter: stamp, loadbalance: fastest }
";

#[tokio::test]
async fn every_mistake_is_named_with_its_place() {
    let path = file("dubbo.yaml", WRONG);
    let run = dubbo(&["config", "check", &path]).await.exits(1);
    let lines: Vec<_> = run.out.lines().collect();
    for (place, want) in [
        (
            "3:5",
            "dubbo.consumer.chek: unknown key (did you mean `check`?)",
        ),
        ("5:46", "dubbo.registries.r.timeout: expected a duration"),
        ("8:25", "no filter is called `stamp`"),
        ("8:45", "`fastest`"),
    ] {
        let begin = format!("{path}:{place}: ");
        let found = lines
            .iter()
            .any(|line| line.starts_with(&begin) && line.contains(want));
        assert!(found, "{place} {want} in {run:?}");
    }
    assert!(run.err.contains("mistakes"), "{run:?}");
}

#[tokio::test]
async fn programs_get_each_mistake_by_itself() {
    let path = file("dubbo.yaml", WRONG);
    let run = dubbo(&["--json", "config", "check", &path]).await.exits(1);
    let checked = run.json();
    assert_eq!(checked["ok"], false);
    let first = &checked["errors"][0];
    assert_eq!(first["line"], 3);
    assert_eq!(first["column"], 5);
    assert_eq!(first["kind"], "UnknownKey");
    assert_eq!(first["suggestion"], "check");
}

#[tokio::test]
async fn plugins_of_the_program_itself_can_be_named() {
    let text = "dubbo: {provider: {services: {P: {interface: a.B, filter: 'stamp,echo'}}}}";
    let path = file("dubbo.yaml", text);
    let run = dubbo(&["config", "check", &path]).await.exits(1);
    assert!(
        run.out.contains("`stamp`") && !run.out.contains("`echo`"),
        "{run:?}"
    );
    let run = dubbo(&["config", "check", &path, "--plugin", "stamp"]).await;
    assert!(run.exits(0).out.ends_with(": nothing is wrong with it\n"));
}

#[tokio::test]
async fn what_is_no_configuration_is_refused_and_never_a_panic() {
    let deep = "[".repeat(100_000);
    for (content, want) in [
        (&b""[..], Some("")),
        (b"\xff\xfe\x00", None),
        (b"dubbo: [", None),
        (b"dubo: {}", None),
        (b"- a\n- b", None),
        (deep.as_bytes(), None),
        (b"dubbo: {application: {name: '${NO_SUCH:x}'}}", Some("")),
    ] {
        let path = file("dubbo.yaml", content);
        let run = dubbo(&["config", "check", &path]).await;
        let code = i32::from(want.is_none());
        assert_eq!(run.code, code, "{:?}: {run:?}", content.get(..20));
        assert!(!run.err.contains("panicked"), "{run:?}");
        assert!(!run.out.is_empty());
    }
    let run = dubbo(&["config", "check", "/nowhere.yaml"]).await.exits(1);
    assert!(run.out.contains("/nowhere.yaml"), "{run:?}");
}
