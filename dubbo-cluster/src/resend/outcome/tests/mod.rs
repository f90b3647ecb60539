//! What becomes of calls that are given up.

use std::sync::Arc;

use dubbo_core::{
    extension::Extensions,
    service::ServiceKey,
    status::{Code, Status},
};
use parking_lot::Mutex;

use crate::{
    cluster::Failfast,
    resend::dead_letter::{
        DeadLetter, DeadLetters, Filter, Lost, LostOptions, MemoryStore, Page, Reason, Replaying,
    },
    testing::{Answer, Fixed, Scripted, asking, invocation, join, service},
};

/// Gives a call up by `outcome`; the letters then.
async fn give_up(
    letters: &DeadLetters,
    change: impl FnOnce(&mut LostOptions),
) -> Vec<Arc<DeadLetter>> {
    let extensions = Extensions::linked().expect("no duplicates");
    let mut options = LostOptions::default();
    change(&mut options);
    let policy = options.resolve(&extensions, letters).expect("linked");
    let status = Status::unavailable("refused");
    letters.settle(&policy, Lost::new(invocation(), Reason::Exhausted, status));
    letters.settled().await;
    let listed = letters.list(&Filter::default(), Page::default()).await;
    listed.expect("in memory").letters
}

#[tokio::test]
async fn each_outcome_does_what_it_is_called_for() {
    for (outcome, kept, held) in [
        (None, 1, false),
        (Some("dead-letter"), 1, false),
        (Some("HOLD"), 1, true),
        (Some("notify"), 1, false),
        (Some("fail"), 0, false),
    ] {
        let letters = DeadLetters::default();
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        letters.listen(move |letter| heard.lock().push(letter.id));
        let outcome = outcome.map(str::to_owned);
        let left = give_up(&letters, |options| options.outcome.clone_from(&outcome)).await;
        assert_eq!(left.len(), kept, "{outcome:?}");
        assert!(left.iter().all(|letter| letter.held == held), "{outcome:?}");
        let want: Vec<_> = left.iter().map(|letter| letter.id).collect();
        let is_told = outcome.as_deref() == Some("notify");
        assert_eq!(*told.lock(), if is_told { want } else { Vec::new() });
    }
}

#[tokio::test]
async fn a_call_is_kept_where_its_policy_says_and_for_the_reasons_that_it_names() {
    let letters = DeadLetters::default();
    let mine = Arc::new(MemoryStore::new(10));
    letters.add("mine", Arc::clone(&mine) as _);
    letters.add("other", Arc::new(MemoryStore::new(10)));
    let to_mine = |options: &mut LostOptions| options.store = Some("mine".to_owned());
    assert_eq!(give_up(&letters, to_mine).await.len(), 1);
    letters.purge(&Filter::default()).await.expect("in memory");
    let not_this = |options: &mut LostOptions| {
        options.on = crate::resend::dead_letter::Reasons::of([Reason::Budget]);
    };
    assert!(give_up(&letters, not_this).await.is_empty());
}

#[tokio::test]
async fn what_failed_is_undone_with_its_own_arguments() {
    // How the call that undoes goes, how many letters are left, what is called.
    let broken = || Answer::Fail(Status::internal("no"));
    for (answer, method, kept, calls) in [
        (None, "Second", 0, 1),
        (Some(broken()), "Second", 1, 1),
        (None, "Nothing", 1, 0),
    ] {
        let letters = DeadLetters::default();
        let provider = Scripted::with(1, answer);
        let directory = Fixed::of(&[Arc::clone(&provider)]);
        let invoker = join(&Failfast, directory, asking(&[]));
        letters.refer(&ServiceKey::new("a.B"), &service(), &invoker);
        let left = give_up(&letters, |options| {
            options.outcome = Some("compensate".to_owned());
            options.compensate_method = Some(method.to_owned());
        })
        .await;
        assert_eq!(provider.calls().len(), calls, "{method}");
        assert_eq!(left.len(), kept, "{method}");
        for letter in left {
            assert!(letter.held, "for a person to look at");
            assert_eq!((&*letter.method, letter.code), ("First", Code::Unavailable));
        }
    }
    let letters = DeadLetters::default();
    let left = give_up(&letters, |options| {
        options.outcome = Some("compensate".to_owned());
        options.compensate_service = Some("a.Undo".to_owned());
        options.compensate_method = Some("Second".to_owned());
    })
    .await;
    assert!(left[0].held, "there is no reference of that service");
}

#[tokio::test]
async fn a_replay_that_fails_is_not_given_up_once_more() {
    let letters = DeadLetters::default();
    let extensions = Extensions::linked().expect("no duplicates");
    let policy = LostOptions::default().resolve(&extensions, &letters);
    let mut call = invocation();
    call.extensions.insert(Replaying);
    let lost = Lost::new(call, Reason::Exhausted, Status::unavailable("refused"));
    letters.settle(&policy.expect("linked"), lost);
    letters.settled().await;
    let listed = letters.list(&Filter::default(), Page::default()).await;
    assert!(listed.expect("in memory").letters.is_empty());
}
