//! What the words have in common: help, completions, garbage.

use crate::rig::dubbo;

#[tokio::test]
async fn every_command_explains_itself() {
    let commands = [
        "bench",
        "call",
        "completions",
        "config",
        "describe",
        "explain",
        "ls",
        "mapping",
        "metadata",
        "new",
        "route",
    ];
    let run = dubbo(&["--help"]).await.exits(0);
    for command in commands {
        assert!(
            run.out.contains(&format!("  {command} ")),
            "{command} in {run:?}"
        );
        let run = dubbo(&[command, "--help"]).await.exits(0);
        assert!(run.out.contains("Usage: dubbo "), "{run:?}");
    }
    assert!(run.out.contains("Exit codes:"), "{run:?}");
    assert!(
        dubbo(&["--version"])
            .await
            .exits(0)
            .out
            .starts_with("dubbo ")
    );
}

#[tokio::test]
async fn there_are_completions_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = dubbo(&["completions", shell]).await.exits(0);
        assert!(
            run.out.contains("describe") && run.out.contains("concurrency"),
            "{shell}"
        );
    }
    assert!(
        dubbo(&["completions", "tcsh"])
            .await
            .exits(2)
            .err
            .contains("possible values")
    );
}

#[tokio::test]
async fn garbage_is_refused_with_a_suggestion() {
    for (words, want) in [
        (&[][..], "Usage"),
        (&["cal"], "call"),
        (&["call"], "required"),
        (&["call", "--tmeout", "1s"], "--timeout"),
        (&["config"], "check"),
        (
            &["ls", "--admin", "h:1", "--registry", "file:///x"],
            "cannot be used with",
        ),
        (&["call", "\u{7f}\u{1b}://", "a.B/c"], "`"),
        (&["call", "tri://h:99999", "a.B/c"], "no address"),
    ] {
        let run = dubbo(words).await.exits(2);
        assert!(run.err.contains(want), "{words:?}: {want} in {run:?}");
    }
}
