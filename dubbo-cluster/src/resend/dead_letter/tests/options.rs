//! What configurations say about dead letters.

use dubbo_core::{
    extension::Extensions,
    url::Url,
    yaml::{Problems, Reader, parse},
};

use super::*;

/// What a section says, or what is wrong with it.
fn read<T>(
    text: &str,
    read: impl FnOnce(&mut dubbo_core::yaml::Section<'_, '_>) -> T,
) -> Result<T, String> {
    let mut problems = Problems::default();
    let tree = parse("test.yaml", text, &mut problems);
    let mut reader = Reader::new(problems);
    let value = reader.read("", tree.as_ref(), read);
    let (problems, _) = reader.finish();
    let (errors, _) = problems.into_parts();
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    if texts.is_empty() {
        Ok(value)
    } else {
        Err(texts.join("; "))
    }
}

#[test]
fn the_section_of_the_store_is_read_and_checked() {
    let text = "{store: disk, path: data/letters, capacity: 10, sync: batch}";
    let options = read(text, DeadLetterOptions::read).expect("right");
    assert_eq!(options.store(), "disk");
    assert_eq!(options.path.as_deref(), Some("data/letters"));
    assert_eq!(
        (options.capacity, options.sync),
        (Some(10), Some(SyncMode::Batch))
    );
    let nothing = read("{}", DeadLetterOptions::read).expect("right");
    assert_eq!(nothing.store(), "memory");
    for (text, want) in [
        (
            "{store: disk}",
            "the store `disk` needs the `path` of its file",
        ),
        ("{path: x}", "has neither `path` nor `sync`"),
        (
            "{store: memory, sync: always}",
            "has neither `path` nor `sync`",
        ),
        ("{capacity: 0}", "a whole number from 1 to 100000000"),
        ("{sync: sometimes}", "`always` or `batch`"),
        ("{stor: disk}", "store"),
    ] {
        let error = read(text, DeadLetterOptions::read).expect_err(text);
        assert!(error.contains(want), "{text}: {error}");
    }
}

#[test]
fn a_policy_and_a_url_say_the_same() {
    let text = "{dead-letter: {on: [exhausted, Queue-Full], store: disk}, outcome: compensate, compensate: {service: \
                shop.Orders, method: cancel}}";
    let of_policy = read(text, LostOptions::read).expect("right");
    let url = Url::new("consumer", "h").with_params([
        ("dead-letter.on", "exhausted, queue-full"),
        ("dead-letter.store", "disk"),
        ("methods.pay.outcome", "compensate"),
        ("outcome", "hold"),
        ("compensate.service", "shop.Orders"),
        ("compensate.method", "cancel"),
    ]);
    let of_url = LostOptions::of(&url, "pay").expect("right");
    assert_eq!(of_policy, of_url);
    assert!(of_url.on.contains(Reason::QueueFull) && !of_url.on.contains(Reason::Budget));
    let other = LostOptions::of(&url, "other").expect("right");
    assert_eq!(other.outcome.as_deref(), Some("hold"));
    let default = LostOptions::default().on;
    for reason in Reason::ALL {
        assert_eq!(default.contains(reason), reason != Reason::NonRetryable);
    }
    let error = read("{dead-letter: {on: [never]}}", LostOptions::read);
    assert!(error.expect_err("wrong").contains("`never` is no reason"));
}

#[test]
fn stores_and_outcomes_are_found_by_name() {
    let extensions = Extensions::linked().expect("no duplicates");
    let letters = letters();
    let mut options = LostOptions::default();
    options
        .resolve(&extensions, &letters)
        .expect("the defaults");
    options.outcome = Some("nope".to_owned());
    let error = options.resolve(&extensions, &letters).expect_err("unknown");
    assert_eq!(
        error.to_string(),
        r#"no outcome is called `nope`; linked: ["compensate", "dead-letter", "fail", "hold", "notify"]"#
    );
    let options = DeadLetterOptions {
        capacity: Some(2_000_000),
        ..DeadLetterOptions::default()
    };
    let error = letters.open(&extensions, &options).expect_err("too many");
    assert!(error.to_string().contains("at most 1000000"), "{error}");
}
