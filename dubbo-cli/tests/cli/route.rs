//! `dubbo route dry-run`.

use crate::rig::{Provider, dubbo, dubbo_of, file};

const HZ: &str = "tri://10.0.0.1:50051/?region=hz";
const SH: &str = "tri://10.0.0.2:50051/?region=sh";

#[tokio::test]
async fn a_rule_says_whom_it_leaves_and_what_drops_the_others() {
    let rule = file(
        "rule.yaml",
        "conditions: ['method=find & arguments[0]=u1 => region=$region']",
    );
    let dry_run = [
        "route",
        "dry-run",
        &rule,
        "shop.Users/find",
        "--provider",
        HZ,
        "--provider",
        SH,
    ];
    let call = ["--arg", "u1", "--consumer", "region=sh"];
    let run = dubbo_of(&[&dry_run[..], &call]).await.exits(0);
    assert!(run.out.contains("tri://10.0.0.2:50051  kept"), "{run:?}");
    assert!(
        run.out.contains("tri://10.0.0.1:50051  dropped: "),
        "{run:?}"
    );
    let run = dubbo_of(&[&["--json"], &dry_run[..], &call]).await.exits(0);
    let told = run.json();
    assert_eq!(told["kind"], "condition");
    assert!(told["providers"][0]["droppedBy"].is_string());
    assert!(told["providers"][1]["droppedBy"].is_null());
    // Another method is another matter, and so is a tag.
    let other = [
        "route",
        "dry-run",
        &rule,
        "shop.Users/list",
        "--provider",
        HZ,
    ];
    assert!(dubbo(&other).await.exits(0).out.contains("kept"));
    let tags = file("tags.yaml", "tags: [{name: gray, addresses: ['10.0.0.2']}]");
    let gray = [
        "route",
        "dry-run",
        &tags,
        "shop.Users/find",
        "--provider",
        HZ,
        "--provider",
        SH,
    ];
    let run = dubbo_of(&[&gray[..], &["-H", "dubbo.tag:gray"]])
        .await
        .exits(0);
    assert!(run.out.contains("tri://10.0.0.2:50051  kept"), "{run:?}");
}

#[tokio::test]
async fn providers_may_come_from_a_registry() {
    let (provider, registry) = Provider::registered().await;
    let rule = file("rule.yaml", "=> host=127.0.0.1");
    let dry_run = [
        "route",
        "dry-run",
        &rule,
        "greet.Greeter/Greet",
        "--registry",
        &registry,
    ];
    let run = dubbo(&dry_run).await.exits(0);
    assert!(run.out.contains(&provider.triple), "{run:?}");
}

#[tokio::test]
async fn nobody_left_is_the_answer_no_and_what_is_no_rule_is_refused() {
    let nobody = file("rule.yaml", "=> false");
    let garbage = file("garbage.yaml", "conditions: ['=> =>']");
    let unknown = file("unknown.yaml", "a: b");
    for (rule, code, want) in [
        (nobody.as_str(), 1, "leaves no provider"),
        (&garbage, 2, "is no rule"),
        (&unknown, 2, "what kind of rule it is cannot be told"),
        ("/nowhere.yaml", 2, "/nowhere.yaml"),
    ] {
        let words = [
            "route",
            "dry-run",
            rule,
            "shop.Users/find",
            "--provider",
            HZ,
        ];
        let run = dubbo(&words).await.exits(code);
        assert!(run.err.contains(want), "{want} in {run:?}");
    }
    let run = dubbo(&["route", "dry-run", &nobody, "shop.Users/find"])
        .await
        .exits(2);
    assert!(run.err.contains("--registry"), "{run:?}");
}
