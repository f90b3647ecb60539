//! What is broken in a directory, and directories that go away.

use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use dubbo_core::{registry::Registry as _, subscription::Subscription, url::Url};

use super::{Directory, registry_in};
use crate::file::{life::Life, texts, tree};

#[tokio::test]
async fn what_is_broken_hides_nothing_and_what_is_dead_is_cleared_away() {
    let directory = Directory::new();
    let registry = registry_in(&directory);
    let provider: Url = "tri://h:1/a.B?interface=a.B".parse().expect("valid");
    registry.register(&provider).await.expect("registers");
    let folder = directory.0.join("interfaces/a.B/providers");
    let name = fs::read_dir(&folder)
        .expect("is there")
        .next()
        .expect("one file")
        .expect("readable")
        .file_name();
    let lines = format!("{provider}\nno url at all\n\u{0}\n");
    fs::write(folder.join(&name), lines).expect("written");
    fs::write(folder.join("1-2-3"), "tri://dead:1/a.B\n").expect("written");
    let consumer: Url = "consumer://c/a.B".parse().expect("valid");
    let found = registry.lookup(&consumer).await.expect("looks up");
    assert_eq!(found.providers, [provider]);
    assert!(!folder.join("1-2-3").exists());
    registry.close().await;
    assert!(!directory.0.join("interfaces").exists(), "nothing is left");
}

#[tokio::test]
async fn a_directory_that_cannot_be_used_is_an_error_and_no_empty_list() {
    let directory = Directory::new();
    fs::write(&directory.0, "a file").expect("written");
    let registry = registry_in(&directory);
    let consumer: Url = "consumer://c/a.B".parse().expect("valid");
    let mut subscription = registry.subscribe(&consumer).await.expect("subscribes");
    let error = subscription.current().state.expect_err("cannot be used");
    let text = error.to_string();
    assert!(text.starts_with("use the directory at file://"), "{text}");
    fs::remove_file(&directory.0).expect("removed");
    dubbo_test::soon("a list", async {
        while subscription.current().state.is_err() {
            subscription.changed().await.expect("goes on");
        }
    })
    .await;
}

/// Something that is no file, at a path.
type Obstacle = fn(&Path) -> io::Result<()>;

/// What others may leave behind, which no program can clear away or open.
const OBSTACLES: &[(&str, Obstacle)] = &[
    ("folder", |path| {
        fs::create_dir_all(path)?;
        fs::write(path.join("x"), "x")
    }),
    #[cfg(unix)]
    ("link", |path| std::os::unix::fs::symlink("/dev/zero", path)),
    #[cfg(unix)]
    ("pipe", |path| {
        let made = std::process::Command::new("mkfifo").arg(path).status()?;
        made.success()
            .then_some(())
            .ok_or_else(|| io::Error::other("not made"))
    }),
];

#[tokio::test]
async fn what_cannot_be_cleared_away_stops_nobody() {
    let directory = Directory::new();
    let clients = directory.0.join("clients");
    let shown = directory.0.join("interfaces/a.B/providers");
    for folder in [&clients, &shown] {
        fs::create_dir_all(folder).expect("made");
    }
    for (name, make) in OBSTACLES {
        make(&clients.join(name)).expect(name);
        fs::write(shown.join(name), "tri://unknown:1/a.B\n").expect(name);
    }
    fs::write(clients.join("1-2-3"), "").expect("written");
    let registry = registry_in(&directory);
    let provider: Url = "tri://h:1/a.B?interface=a.B".parse().expect("valid");
    let register = registry.register(&provider);
    dubbo_test::soon("to be registered", register)
        .await
        .expect("registers");
    let consumer: Url = "consumer://c/a.B".parse().expect("valid");
    let found = registry.lookup(&consumer).await.expect("looks up");
    assert_eq!(found.providers, [provider]);
    for (name, _) in OBSTACLES {
        assert!(clients.join(name).symlink_metadata().is_ok(), "{name}");
        assert!(shown.join(name).exists(), "{name}: it may be alive");
    }
    assert!(!clients.join("1-2-3").exists(), "dead for sure");
    registry.close().await;
}

#[tokio::test]
async fn what_one_client_shows_in_a_wrong_way_hides_nothing_of_others() {
    let directory = Directory::new();
    let registry = registry_in(&directory);
    let provider: Url = "tri://h:1/a.B?interface=a.B".parse().expect("valid");
    registry.register(&provider).await.expect("registers");
    let shown = directory.0.join("interfaces/a.B/providers");
    let too_large: Obstacle = |path| fs::File::create(path)?.set_len(tree::LARGEST + 1);
    let no_text: Obstacle = |path| fs::write(path, b"\xff");
    let more = [("too large", too_large), ("no text", no_text)];
    let mut alive = Vec::new();
    for (name, make) in OBSTACLES.iter().chain(&more) {
        let life = Life::begin(&directory.0).expect("lives");
        make(&shown.join(&life.name)).expect(name);
        alive.push(life);
    }
    let newcomer = registry_in(&directory);
    let consumer: Url = "consumer://c/a.B".parse().expect("valid");
    let looking_up = newcomer.lookup(&consumer);
    let found = dubbo_test::soon("a list", looking_up).await;
    assert_eq!(found.expect("looks up").providers, [provider]);
    newcomer.close().await;
    registry.close().await;
}

#[tokio::test]
async fn more_than_others_read_is_refused() {
    let directory = Directory::new();
    let registry = registry_in(&directory);
    let long = "x".repeat(usize::try_from(tree::LARGEST).expect("fits"));
    let provider = Url::new("tri", "h").with_path("a.B").with_param("x", long);
    let error = registry.register(&provider).await.expect_err("refused");
    let want = " bytes, and a program may show 16777216 in one place";
    assert!(error.reason.ends_with(want), "{}", error.reason);
    registry.close().await;
}

#[test]
fn a_text_that_is_no_file_is_an_error_and_is_not_waited_for() {
    for (name, make) in OBSTACLES {
        let directory = Directory::new();
        fs::create_dir_all(&directory.0).expect("made");
        make(&directory.0.join("x")).expect(name);
        make(&directory.0.join(".writer")).expect(name);
        let error = tree::read(&directory.0.join("x")).expect_err(name);
        assert!(error.to_string().ends_with("/x is no file"), "{error}");
        let key = crate::backend::TextKey {
            group: "g".into(),
            name: "n".into(),
        };
        let error = texts::put(&directory.0, &key, "text", None).expect_err(name);
        let text = error.to_string();
        assert!(text.ends_with("/.writer is no file"), "{text}");
    }
}

#[tokio::test]
async fn a_directory_that_is_removed_is_made_again_and_nobody_is_lost() {
    // What is taken away again and again comes back ever less soon.
    for (part, rounds) in [("", 3), ("clients", 3), ("interfaces", 1)] {
        let directory = Directory::new();
        let (program, other) = (registry_in(&directory), registry_in(&directory));
        let provider: Url = "tri://h:1/a.B?interface=a.B".parse().expect("valid");
        program.register(&provider).await.expect("registers");
        let consumer: Url = "consumer://c/a.B".parse().expect("valid");
        let mut subscription = other.subscribe(&consumer).await.expect("subscribes");
        assert_eq!(count(&mut subscription), Some(1));
        let shown = directory.0.join("interfaces/a.B/providers");
        let files = || stamps(&shown);
        for round in 0..rounds {
            let before = files();
            let removed = directory.0.join(part);
            // Programs may write into it meanwhile.
            while removed.exists() && fs::remove_dir_all(&removed).is_err() {}
            let back = async {
                loop {
                    let found = count(&mut subscription);
                    assert_ne!(found, Some(0), "round {round} without `{part}`");
                    if found == Some(1) && files().iter().any(|file| !before.contains(file)) {
                        return;
                    }
                    let news = subscription.changed();
                    let _ = tokio::time::timeout(Duration::from_millis(10), news).await;
                }
            };
            dubbo_test::soon("the provider", back).await;
        }
        program.close().await;
        let gone = async {
            while count(&mut subscription) != Some(0) {
                subscription.changed().await.expect("goes on");
            }
        };
        dubbo_test::soon("an empty list", gone).await;
        other.close().await;
    }
}

/// How many providers there are; `None` if that is not known now.
fn count(subscription: &mut Subscription<dubbo_core::registry::RegistrySnapshot>) -> Option<usize> {
    let state = subscription.current().state;
    state.ok().map(|found| found.providers.len())
}

/// The files in `folder`, of which each that is written is another one.
fn stamps(folder: &Path) -> Vec<(String, Option<SystemTime>)> {
    let names = tree::names(folder).expect("readable").into_iter();
    names
        .map(|name| {
            let metadata = fs::metadata(folder.join(&name));
            (name, metadata.and_then(|found| found.modified()).ok())
        })
        .collect()
}
