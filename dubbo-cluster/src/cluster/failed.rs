//! A call that failed for good: what was tried, on whom, and what each said.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use dubbo_core::{
    service::ServiceKey,
    status::{Origin, Status},
    url::Url,
};

use crate::resend::Class;

/// The source of the status of a call that a cluster gave up: `status.source()` downcasts to it.
///
/// The status itself has the code, text, details, attachments and pushback of the last attempt, and behind the text in parentheses
/// how the attempts went (`docs/spec/cluster.md` §2.1.4). What a peer answered to a call that may be made once is left in
/// the peer's words. The text of this value tells the caller's address and the framework's version, too.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FailedCall {
    /// The service that was called.
    pub service: ServiceKey,
    /// The method.
    pub method: String,
    /// How many attempts there could have been.
    pub allowed: u32,
    /// How many there were.
    pub made: u32,
    /// The attempts in their order: the first 63 and the last.
    pub attempts: Vec<Attempt>,
    /// How many providers could be chosen from, last.
    pub candidates: usize,
    /// Who names the providers.
    pub origin: String,
    /// The caller's address.
    pub consumer: String,
    /// Why there was no further attempt.
    pub end: End,
    /// The same in words, unless because all were used.
    pub stopped: Option<String>,
    /// The policy by which it was tried again; `None` where Dubbo's own rules are followed.
    pub policy: Option<Arc<str>>,
    /// Whether other attempts were answered: a broadcast has to have all.
    pub answered: bool,
}

/// One attempt that failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Attempt {
    /// The provider.
    pub node: Url,
    /// How long it took to fail.
    pub elapsed: Duration,
    /// How long was waited before it.
    pub waited: Duration,
    /// What its failure means.
    pub class: Class,
    /// How it failed.
    pub status: Status,
}

/// Why a call had no further attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum End {
    /// The retry budget was used up.
    Budget,
    /// No time was left before the deadline.
    Deadline,
    /// All attempts were used, or there was nobody left to ask.
    #[default]
    Exhausted,
    /// It took longer than its pool keeps calls.
    Expired,
    /// Nobody was there any more.
    NoProvider,
    /// The provider that should be asked again is not to be called now.
    NotAdmitted,
    /// It may not be repeated, or that would not help.
    NotRepeatable,
    /// Its pool was full.
    PoolFull,
    /// An operator has switched it off.
    Switched,
}

impl FailedCall {
    /// A call that may take `allowed` attempts, before the first.
    pub(super) fn new(service: &ServiceKey, method: &str, allowed: u32, consumer: &Url) -> Self {
        Self {
            service: service.clone(),
            method: method.to_owned(),
            allowed,
            made: 0,
            attempts: Vec::new(),
            candidates: 0,
            origin: String::new(),
            consumer: consumer.host().to_owned(),
            end: End::default(),
            stopped: None,
            policy: None,
            answered: false,
        }
    }

    /// Adds an attempt of which no more is known.
    pub(super) fn push(&mut self, node: &Url, elapsed: Duration, status: Status) {
        self.add(Attempt {
            node: node.clone(),
            elapsed,
            waited: Duration::ZERO,
            class: Class::of(&status, false),
            status,
        });
    }

    /// Adds an attempt.
    pub(super) fn add(&mut self, attempt: Attempt) {
        self.made += 1;
        self.attempts.truncate(KEPT - 1);
        self.attempts.push(attempt);
    }

    /// The status that the caller gets: that of the last attempt, or `instead` of it, told as a whole.
    pub(super) fn into_status(self, instead: Option<Status>) -> Status {
        let last = instead.or_else(|| Some(self.attempts.last()?.status.clone()));
        let Some(last) = last else {
            return Status::internal(Story(&self).to_string());
        };
        let message = if self.allowed == 1 && last.origin() == Origin::Remote {
            last.message().to_owned()
        } else {
            format!("{} ({})", last.message(), Story(&self))
        };
        // Made anew, because "not processed" holds for the call only if it holds for every attempt.
        let status = Status::new(last.code(), message)
            .with_origin(last.origin())
            .with_details(last.details().to_vec())
            .with_attachments(last.attachments().clone())
            .with_pushback(last.pushback());
        let untouched = !self.answered
            && self.attempts.len() == self.made as usize
            && self.attempts.iter().all(|a| a.status.is_not_processed());
        let status = if untouched {
            status.not_processed()
        } else {
            status
        };
        status.with_source(self)
    }
}

impl fmt::Display for FailedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; consumer {}, dubbo-rust {}",
            Story(self),
            self.consumer,
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// How the attempts of a call went: what its caller does not know anyway.
struct Story<'a>(&'a FailedCall);

impl fmt::Display for Story<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.0;
        write!(
            f,
            "calling {} of {}: {} of {} attempts failed",
            call.method, call.service, call.made, call.allowed
        )?;
        for (index, attempt) in call.attempts.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { ": " } else { ", " };
            write!(f, "{separator}{attempt}")?;
        }
        let more = (call.made as usize).saturating_sub(SHOWN);
        if more > 0 {
            write!(f, " and {more} more")?;
        }
        if let Some(stopped) = &call.stopped {
            write!(f, "; {stopped}")?;
        }
        let plural = if call.candidates == 1 { "" } else { "s" };
        write!(
            f,
            "; {} candidate{plural} from {}",
            call.candidates, call.origin
        )
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elapsed = if self.elapsed < Duration::from_millis(1) {
            format!("{}µs", self.elapsed.as_micros())
        } else {
            format!("{}ms", self.elapsed.as_millis())
        };
        write!(
            f,
            "{}://{} {} after {elapsed}",
            self.node.protocol(),
            self.node.address(),
            self.status.code()
        )?;
        if self.waited.is_zero() {
            return Ok(());
        }
        write!(f, " and a pause of {}ms", self.waited.as_millis())
    }
}

impl Error for FailedCall {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let last = self.attempts.last()?;
        Some(&last.status)
    }
}

/// How many attempts the text names.
const SHOWN: usize = 8;

/// How many attempts are kept: a caller may ask for any number of retries.
const KEPT: usize = 64;

#[cfg(test)]
mod tests {
    use dubbo_core::status::{Code, Origin};

    use super::*;

    fn failed(statuses: &[Status], allowed: u32) -> FailedCall {
        let mut failed = FailedCall::new(
            &"g/a.B:1.0".parse().expect("valid"),
            "Get",
            allowed,
            &Url::new("consumer", "10.0.0.9"),
        );
        for (port, status) in (1..).zip(statuses) {
            let node = Url::new("tri", "10.0.0.1").with_port(port);
            failed.push(&node, Duration::from_micros(2_500), status.clone());
        }
        failed.candidates = 3;
        failed.origin = "registry memory://local".to_owned();
        failed
    }

    #[test]
    fn the_text_is_the_cause_and_then_the_whole_story() {
        let mut failed = failed(
            &[
                Status::unavailable("refused"),
                Status::deadline_exceeded("too slow"),
            ],
            3,
        );
        failed.stopped = Some("no time for another".to_owned());
        let story = "calling Get of g/a.B:1.0: 2 of 3 attempts failed: tri://10.0.0.1:1 unavailable after 2ms, \
                     tri://10.0.0.1:2 deadline_exceeded after 2ms; no time for another; 3 candidates from registry \
                     memory://local";
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            failed.to_string(),
            format!("{story}; consumer 10.0.0.9, dubbo-rust {version}")
        );
        assert_eq!(
            failed.into_status(None).message(),
            format!("too slow ({story})")
        );
    }

    #[test]
    fn a_pause_before_an_attempt_is_told() {
        let mut failed = failed(&[], 1);
        failed.add(Attempt {
            node: Url::new("tri", "10.0.0.1").with_port(1),
            elapsed: Duration::from_millis(3),
            waited: Duration::from_millis(25),
            class: Class::NotSent,
            status: Status::unavailable("refused"),
        });
        let text = failed.to_string();
        let want = "tri://10.0.0.1:1 unavailable after 3ms and a pause of 25ms; ";
        assert!(text.contains(want), "{text}");
    }

    #[test]
    fn a_lone_provider_is_one_candidate() {
        let mut failed = failed(&[Status::unavailable("refused")], 1);
        failed.candidates = 1;
        let status = failed.into_status(None);
        let want = "; 1 candidate from registry memory://local)";
        assert!(status.message().ends_with(want), "{status}");
    }

    #[test]
    fn the_last_attempt_gives_code_origin_details_and_attachments() {
        let mut last = Status::aborted("conflict")
            .with_origin(Origin::Remote)
            .with_detail(&7_i64);
        last.attachments_mut().insert("k", "v");
        let status = failed(&[Status::unavailable("refused"), last], 2).into_status(None);
        assert_eq!(
            (status.code(), status.origin()),
            (Code::Aborted, Origin::Remote)
        );
        assert_eq!(status.detail::<i64>(), Some(7));
        assert_eq!(status.attachments().get("k"), Some("v"));
        let source = Error::source(&status).expect("has a source");
        let failed = source.downcast_ref::<FailedCall>().expect("the story");
        assert_eq!(failed.attempts[0].status.message(), "refused");
        assert_eq!(
            failed.source().expect("the last").to_string(),
            "aborted: conflict"
        );
    }

    #[test]
    fn what_a_peer_answers_to_the_only_attempt_stays_in_its_words() {
        let answered = Status::internal("boom").with_origin(Origin::Remote);
        let broken = Status::unavailable("reset").with_origin(Origin::Transport);
        for (status, allowed, in_its_words) in [
            (&answered, 1, true),
            (&answered, 2, false),
            (&broken, 1, false),
        ] {
            let status = failed(std::slice::from_ref(status), allowed).into_status(None);
            let told = status.message().contains(" (calling Get of g/a.B:1.0: ");
            assert_eq!(!told, in_its_words, "{status}");
            let source = Error::source(&status).expect("the story");
            assert!(source.is::<FailedCall>());
        }
    }

    #[test]
    fn a_call_is_unprocessed_only_if_every_attempt_was() {
        let refused = Status::unavailable("GOAWAY").not_processed();
        let broken = Status::unavailable("reset");
        for (statuses, want) in [
            (vec![refused.clone(), refused.clone()], true),
            (vec![broken.clone(), refused.clone()], false),
            (vec![refused.clone(), broken], false),
            (vec![refused; KEPT + 1], false),
        ] {
            let status = failed(&statuses, 100).into_status(None);
            assert_eq!(status.is_not_processed(), want, "{statuses:?}");
        }
    }

    #[test]
    fn any_number_of_attempts_takes_bounded_room() {
        let failed = failed(&vec![Status::unavailable("x"); 1_000], 1_000);
        assert_eq!((failed.made, failed.attempts.len()), (1_000, KEPT));
        assert_eq!(
            failed.attempts[KEPT - 1].node.port(),
            Some(1_000),
            "the last is kept"
        );
        let text = failed.to_string();
        assert!(
            text.contains("1000 of 1000 attempts") && text.contains(" and 992 more; "),
            "{text}"
        );
    }
}
