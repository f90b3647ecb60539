//! The page of calls that could not be saved.

use std::fmt::Write as _;

use dubbo::{
    hessian2,
    resend::dead_letter::{Arguments, DeadLetter, DeadLetters, Filter, Page, Replayed, StoreError},
};

/// All of them, as a table.
pub(crate) async fn page(letters: &DeadLetters) -> Result<String, StoreError> {
    let listing = letters.list(&Filter::default(), Page::default()).await?;
    let mut page = String::from(
        "<!doctype html><title>Dead letters</title><table>\n<tr><th>call<th>why<th>attempts<th>pool<th>policy<th>said\n",
    );
    for letter in &listing.letters {
        let last = letter.attempts.last();
        let said = last.map_or("", |attempt| attempt.message.as_str());
        // Writing to a string never fails.
        let _ = writeln!(
            page,
            "<tr><td>{}.{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            escaped(letter.service.interface()),
            escaped(&method(letter)),
            letter.reason.name(),
            letter.attempts.len(),
            escaped(&letter.pool),
            escaped(&letter.policy),
            escaped(said),
        );
    }
    page.push_str("</table>\n<form method=post action=/dead-letters/replay><button>Make them once more</button></form>\n");
    Ok(page)
}

/// Makes all of them once more, and says how that went.
pub(crate) async fn replay(letters: &DeadLetters) -> Result<String, StoreError> {
    let replays = letters.replay(&Filter::default()).await?;
    let (done, left): (Vec<_>, Vec<_>) = replays
        .iter()
        .partition(|replay| matches!(replay.result, Replayed::Done));
    let mut said = format!("{} of {} worked\n", done.len(), replays.len());
    for replay in left {
        let _ = writeln!(said, "{}: {:?}", replay.id, replay.result);
    }
    Ok(said)
}

/// A generic call says in its first argument what it calls.
fn method(letter: &DeadLetter) -> String {
    let first = match &letter.arguments {
        Arguments::Values(_, values) => values.first(),
        Arguments::Whole(_, stream) => Some(stream),
    };
    let named = first.and_then(|first| hessian2::from_slice(first).ok());
    named.unwrap_or_else(|| letter.method.clone())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
