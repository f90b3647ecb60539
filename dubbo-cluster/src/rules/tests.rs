//! How the book follows what is said, on centers and folders that a test writes.

use std::{fs, path::PathBuf, time::Duration};

use dubbo_test::{PATIENCE, center::Center, logs::Logs, metrics::Numbers, soon};
use tokio::time::{Instant, sleep};

use super::*;

/// A rule is a number.
fn number(text: &str) -> Result<u32, RuleError> {
    let read = read("rule", text, |s| s.integer("n", 0..=100_u32))?;
    read.ok_or_else(|| RuleError::new("no `n`"))
}

/// What counts, and who says it.
fn now(followed: &Followed<u32>) -> String {
    match (followed.current(), followed.source()) {
        (Some(rule), Some(source)) => format!("{source} {rule}"),
        _ => "none".to_owned(),
    }
}

/// Lets tasks do what there is to do.
async fn settle() {
    sleep(Duration::from_millis(20)).await;
}

#[test]
fn rules_from_code_need_no_runtime_and_are_there_for_those_who_come_later() {
    let book = RuleBook::default();
    book.put("k", Some("n: 1"));
    let early = book.follow("k", number);
    assert_eq!(now(&early), "code 1");
    for (text, want) in [
        (Some("n: 2"), "code 2"),
        (Some("n: x"), "code 2"),
        (Some("m: 2"), "code 2"),
        (Some(" "), "none"),
        (Some("n: 3"), "code 3"),
        (None, "none"),
    ] {
        book.put("k", text);
        assert_eq!(now(&early), want, "{text:?}");
        let late = book.clone().follow("k", number);
        assert_eq!(now(&late), want, "{text:?}");
        assert_eq!(early.error().is_some(), late.error().is_some());
    }
    assert_eq!(now(&book.follow("other", number)), "none");
}

#[tokio::test(start_paused = true)]
async fn code_counts_before_centers_and_of_these_who_spoke_last_and_they_before_the_folder() {
    let folder = Folder::new("order");
    folder.write("k", "n: 9");
    let (one, other) = (Center::new("one"), Center::new("other"));
    let book = RuleBook::default();
    book.set_folder(&folder.0);
    let followed = book.follow("k", number);
    book.settled(PATIENCE).await;
    let file = folder.0.join("k.yaml").display().to_string();
    assert_eq!(now(&followed), format!("{file} 9"));
    for center in [&one, &other] {
        book.add_center(std::sync::Arc::new(center.clone()));
    }
    let steps: [(&dyn Fn(), &str); 7] = [
        (&|| one.put("k", "n: 1"), "test://one 1"),
        (&|| other.put("k", "n: 2"), "test://other 2"),
        (&|| one.put("k", "n: 1"), "test://other 2"),
        (&|| one.put("k", "n: 3"), "test://one 3"),
        (&|| book.put("k", Some("n: 4")), "code 4"),
        (&|| other.put("k", "n: 5"), "code 5-not"),
        (&|| book.put("k", None), "test://other 5"),
    ];
    for (step, want) in steps {
        step();
        settle().await;
        let want = want.replace("code 5-not", "code 4");
        assert_eq!(now(&followed), want);
    }
    other.delete("k");
    settle().await;
    assert_eq!(now(&followed), "test://one 3");
    one.put("k", "");
    settle().await;
    assert_eq!(now(&followed), format!("{file} 9"));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_rule_keeps_the_last_good_one_and_says_where_it_is_wrong() {
    let center = Center::new("c");
    let (logs, _logged) = Logs::record();
    let numbers = Numbers::default();
    let book = RuleBook::default();
    let mut followed = book.follow("app.k", number);
    metrics::with_local_recorder(&numbers, || {
        book.put("app.k", Some("n: 1"));
        for _ in 0..2 {
            book.put("app.k", Some("a: 1\nn: [2]"));
        }
    });
    soon("the first one", followed.changed()).await;
    assert_eq!(now(&followed), "code 1");
    let error = followed.error().expect("it is refused").to_string();
    assert_eq!(
        error,
        "rule:2:4: n: expected a whole number from 0 to 100, found a list"
    );
    let refused = numbers.get("dubbo_rule_parse_error_total{key=app.k}");
    assert!((refused - 2.0).abs() < f64::EPSILON, "{refused}");
    let lines = logs.with("the rule cannot be read");
    assert!(
        lines[0].contains("app.k") && lines[0].contains("rule:2:4"),
        "{}",
        lines[0]
    );

    // A center that repeats itself is told of once, and one that fails is not taken for one that says nothing.
    book.put("app.k", None);
    book.add_center(std::sync::Arc::new(center.clone()));
    center.put("app.k", "n: 7");
    settle().await;
    for _ in 0..3 {
        center.put("app.k", "n: x");
        settle().await;
        center.fail("app.k", "gone");
        settle().await;
    }
    assert_eq!(now(&followed), "test://c 7");
    assert_eq!(logs.with("the rule cannot be read").len(), 3);
    book.put("app.k", Some("n: 8"));
    book.put("app.k", Some("n: 8"));
    assert_eq!(now(&followed), "code 8");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_watched_in_every_center_as_long_as_somebody_follows_it() {
    let (early, late) = (Center::new("early"), Center::new("late"));
    let book = RuleBook::default();
    book.add_center(std::sync::Arc::new(early.clone()));
    let (one, two) = (book.follow("k", number), book.follow("k", number));
    let text = book.follow("k", |text| Ok::<_, RuleError>(text.to_owned()));
    book.add_center(std::sync::Arc::new(late.clone()));
    book.settled(PATIENCE).await;
    for center in [&early, &late] {
        assert_eq!(center.followed(), ["k"]);
    }
    late.put("k", "n: 5");
    settle().await;
    assert_eq!(
        (now(&one), now(&two)),
        ("test://late 5".into(), "test://late 5".into())
    );
    assert_eq!(text.current().as_deref().map(String::as_str), Some("n: 5"));
    drop((one, text));
    settle().await;
    assert_eq!(early.followed(), ["k"]);
    drop(two);
    settle().await;
    assert!(early.followed().is_empty() && late.followed().is_empty());

    let again = book.follow("k", number);
    book.settled(PATIENCE).await;
    assert_eq!(now(&again), "test://late 5");
    book.close().await;
    assert!(early.followed().is_empty());
    assert_eq!(now(&again), "test://late 5", "what was said stays");
}

#[tokio::test(start_paused = true)]
async fn a_center_that_does_not_answer_is_waited_for_once() {
    let (center, other) = (Center::new("slow"), Center::new("quick"));
    center.set_silent(true);
    let book = RuleBook::default();
    book.add_center(std::sync::Arc::new(center.clone()));
    book.add_center(std::sync::Arc::new(other));
    let patience = Duration::from_secs(3);
    let (logs, _logged) = Logs::record();
    for (key, waits) in [("a", true), ("b", false)] {
        let _followed = std::mem::ManuallyDrop::new(book.follow(key, number));
        let began = Instant::now();
        book.settled(patience).await;
        assert_eq!(began.elapsed() >= patience, waits, "{key}");
    }
    let lines = logs.with("has not said yet which rules");
    assert!(
        lines.len() == 1 && lines[0].contains("test://slow"),
        "{lines:?}"
    );

    center.put("c", "n: 1");
    center.set_silent(false);
    settle().await;
    let followed = book.follow("c", number);
    book.settled(patience).await;
    assert_eq!(now(&followed), "test://slow 1");
}

#[tokio::test(start_paused = true)]
async fn a_folder_is_looked_at_every_second_and_only_good_files_count() {
    let folder = Folder::new("files");
    let (logs, _logged) = Logs::record();
    let book = RuleBook::default();
    book.set_folder(folder.0.join("later"));
    let mut followed = book.follow("k", number);
    let outside = book.follow("../k", number);
    book.settled(PATIENCE).await;
    assert_eq!(now(&followed), "none");
    fs::create_dir(folder.0.join("later")).expect("made");
    let folder = Folder(folder.0.join("later"));
    folder.write("k", "n: 1");
    folder.write("../k", "n: 2");
    soon("the file", followed.changed()).await;
    assert_eq!(followed.current().as_deref(), Some(&1));
    for bad in ["n: x".to_owned(), "#".repeat((1 << 20) + 1)] {
        folder.write("k", &bad);
        book.settled(PATIENCE).await;
        assert_eq!(followed.current().as_deref(), Some(&1));
    }
    fs::write(folder.0.join("k.yaml"), [b'n', b':', 0xff]).expect("written");
    for _ in 0..3 {
        book.settled(PATIENCE).await;
    }
    assert_eq!(followed.current().as_deref(), Some(&1));
    assert_eq!(logs.with("the last good ones stay").len(), 2, "one each");
    folder.write("k", "n: 3");
    book.settled(PATIENCE).await;
    assert_eq!(followed.current().as_deref(), Some(&3));
    fs::remove_file(folder.0.join("k.yaml")).expect("removed");
    book.settled(PATIENCE).await;
    assert_eq!(now(&followed), "none");
    assert_eq!(now(&outside), "none", "a key is no path");
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dubbo-rules-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("made");
        Self(path)
    }

    fn write(&self, key: &str, text: &str) {
        fs::write(self.0.join(format!("{key}.yaml")), text).expect("written");
    }
}
