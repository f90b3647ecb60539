//! What those who call a provider have seen of it.

use std::{
    any::Any,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{
    record::{Recent, Record},
    timing::{AtomicTiming, Timing},
};
use crate::service::MethodRef;

/// What is known of one provider by those who call it. It is kept for as long as the provider stays in the list, whatever
/// rules say about it meanwhile, and shared by all lists it stands in.
#[derive(Default)]
pub struct NodeState {
    score: AtomicScore,
    health: OnceLock<Arc<dyn NodeHealth>>,
    methods: OnceLock<Box<[MethodState]>>,
    /// For a method that is none of those of the service that was called first.
    other: MethodState,
}

/// Says whether a provider may be called: a breaker, an ejection, a recovery that is under way.
///
/// Whoever keeps one gets it back by its type: `state.health::<MyHealth>()`.
pub trait NodeHealth: Any + Send + Sync {
    /// Whether an attempt of `method` may go to the provider now. It is asked of every candidate of every attempt: it only
    /// looks, and takes nothing.
    fn admits(&self, method: &MethodRef) -> bool;

    /// Why not, for messages.
    fn why_not(&self, method: &MethodRef) -> Option<String>;
}

impl NodeState {
    /// What was seen of `method`.
    pub fn method(&self, method: &MethodRef) -> &MethodState {
        let methods = self.methods.get_or_init(|| {
            let count = method.service().methods().len();
            (0..count).map(|_| MethodState::default()).collect()
        });
        methods.get(method.index()).unwrap_or(&self.other)
    }

    /// The same for those who only look: `None` before the first attempt of any method.
    pub fn seen(&self, method: &MethodRef) -> Option<&MethodState> {
        let methods = self.methods.get()?;
        Some(methods.get(method.index()).unwrap_or(&self.other))
    }

    /// How many attempts of `method` are under way.
    pub fn active_of(&self, method: &MethodRef) -> u32 {
        self.seen(method).map_or(0, MethodState::active)
    }

    /// The calls of all methods that it is carrying.
    pub fn active(&self) -> u32 {
        let methods = self.methods.get().into_iter().flatten();
        let active = methods.map(MethodState::active).sum::<u32>();
        active.saturating_add(self.other.active())
    }

    /// How well it does beside others.
    pub fn score(&self) -> Score {
        self.score.get()
    }

    /// Says how well it does.
    pub fn set_score(&self, score: Score) {
        self.score.set(score);
    }

    /// Whether nothing of its health speaks against an attempt of `method`.
    pub fn admits(&self, method: &MethodRef) -> bool {
        self.health.get().is_none_or(|health| health.admits(method))
    }

    /// Why an attempt of `method` may not go to it now.
    pub fn why_not(&self, method: &MethodRef) -> Option<String> {
        self.health.get()?.why_not(method)
    }

    /// Who watches over its health, made with the first question. `None` when somebody of another type does.
    pub fn health<H: NodeHealth>(&self, make: impl FnOnce() -> H) -> Option<&H> {
        let health: &dyn Any = &**self.health.get_or_init(|| Arc::new(make()));
        health.downcast_ref()
    }
}

impl fmt::Debug for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeState")
            .field("active", &self.active())
            .field("score", &self.score())
            .finish_non_exhaustive()
    }
}

/// What was seen of one method of one provider.
#[derive(Debug, Default)]
pub struct MethodState {
    active: AtomicU32,
    /// Only where somebody reads it.
    record: OnceLock<Box<Record>>,
    /// Only where somebody goes by it.
    timing: OnceLock<Box<AtomicTiming>>,
}

impl MethodState {
    /// How many attempts are under way.
    pub fn active(&self) -> u32 {
        self.active.load(Ordering::Relaxed)
    }

    /// Counts an attempt until the guard is dropped, which an attempt that is given up does, too.
    pub fn begin(&self) -> Active<'_> {
        self.active.fetch_add(1, Ordering::Relaxed);
        Active(self)
    }

    /// An attempt ended at `now` after `elapsed`; `ok` when the provider did its work, whatever its answer says. One that
    /// the caller gave up has not ended.
    ///
    /// It costs nothing where nobody reads [`recent`](Self::recent) or [`timing`](Self::timing).
    pub fn finished(&self, ok: bool, elapsed: Duration, now: Instant) {
        if let Some(record) = self.record.get() {
            record.finished(ok, elapsed, now);
        }
        if let Some(timing) = self.timing.get() {
            timing.finished(ok, elapsed);
        }
    }

    /// How long it takes, and how often it fails. Counting begins with the first question.
    pub fn timing(&self) -> Timing {
        self.timing.get_or_init(Box::default).get()
    }

    /// What attempts that ended have shown, the older the less: what ended `memory` ago counts 1/e. Counting begins with
    /// the first question; the last one says for how long.
    pub fn recent(&self, memory: Duration, now: Instant) -> Recent {
        self.record(now).recent(memory, now)
    }

    /// The provider said with an answer how many more calls it has room for (`docs/spec/cluster.md` §2.10).
    pub fn report_remaining(&self, remaining: u64, now: Instant) {
        self.record(now).report_remaining(remaining, now);
    }

    /// How many more calls the provider has room for, as it said within the last ten seconds.
    pub fn remaining(&self, now: Instant) -> Option<u64> {
        self.record.get()?.remaining(now)
    }

    /// The provider said how busy it was at `told_millis` of its own clock (`docs/spec/cluster.md` §3.9): its system load
    /// in percent of its processors. What it said before that is forgotten, and what comes late does not count.
    pub fn report_load(&self, load: f64, told_millis: u64, now: Instant) {
        self.record(now).report_load(load, told_millis);
    }

    /// How busy the provider is, as it said last.
    pub fn load(&self) -> Option<f64> {
        self.record.get()?.load()
    }

    /// It was chosen for an attempt.
    pub fn picked(&self, now: Instant) {
        self.record(now).picked(now);
    }

    /// How long ago it was chosen, if that was [noted](Self::picked).
    pub fn since_picked(&self, now: Instant) -> Option<Duration> {
        self.record.get()?.since_picked(now)
    }

    fn record(&self, now: Instant) -> &Record {
        self.record.get_or_init(|| Box::new(Record::new(now)))
    }
}

/// An attempt under way.
#[derive(Debug)]
#[must_use = "an attempt is counted for as long as this lives"]
pub struct Active<'a>(&'a MethodState);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How much of its weight a provider gets: 1 at first, less for one that does badly (`docs/spec/cluster.md` §7.10).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score(f32);

impl Score {
    /// The whole weight.
    pub const FULL: Self = Self(1.0);

    /// A part of the weight, from 0.01 to 1; what is no number is the whole.
    pub fn new(part: f32) -> Self {
        if part.is_nan() {
            return Self::FULL;
        }
        Self(part.clamp(0.01, 1.0))
    }

    /// The part.
    pub fn part(self) -> f32 {
        self.0
    }

    /// This part of `weight`, rounded. Whatever has a share keeps one.
    pub fn apply(self, weight: u32) -> u32 {
        if self == Self::FULL || weight == 0 {
            return weight;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a weight is a weight"
        )]
        let part = (f64::from(weight) * f64::from(self.0)).round() as u32;
        part.max(1)
    }
}

struct AtomicScore(AtomicU32);

impl AtomicScore {
    fn get(&self) -> Score {
        Score(f32::from_bits(self.0.load(Ordering::Relaxed)))
    }

    fn set(&self, score: Score) {
        self.0.store(score.0.to_bits(), Ordering::Relaxed);
    }
}

impl Default for AtomicScore {
    fn default() -> Self {
        Self(AtomicU32::new(Score::FULL.0.to_bits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{CallKind, MethodDescriptor, ServiceDescriptor};

    fn method(name: &str) -> MethodRef {
        let methods = ["First", "Second"].map(|name| MethodDescriptor::new(name, CallKind::Unary));
        let service = Arc::new(ServiceDescriptor::new("a.B", methods.to_vec()));
        service.find(name).expect("is there")
    }

    #[test]
    fn attempts_are_counted_by_method_until_they_end_or_are_given_up() {
        let state = NodeState::default();
        let (first, second) = (method("First"), method("Second"));
        let one = state.method(&first).begin();
        let two = state.method(&first).begin();
        let three = state.method(&second).begin();
        assert_eq!(state.method(&first).active(), 2);
        assert_eq!(state.active(), 3);
        drop((one, two, three));
        assert_eq!(state.active(), 0);
    }

    #[test]
    fn a_score_is_a_part_of_a_weight_and_leaves_one() {
        for (part, weight, want) in [
            (1.0, 100, 100),
            (0.5, 100, 50),
            (0.001, 100, 1),
            (0.001, 10_000, 100),
            (0.5, 0, 0),
            (7.0, 100, 100),
            (f32::NAN, 100, 100),
            (0.5, u32::MAX, 2_147_483_648),
        ] {
            assert_eq!(Score::new(part).apply(weight), want, "{part} of {weight}");
        }
    }

    #[test]
    fn health_is_kept_and_asked() {
        struct Closed(&'static str);
        impl NodeHealth for Closed {
            fn admits(&self, method: &MethodRef) -> bool {
                method.name() != self.0
            }
            fn why_not(&self, method: &MethodRef) -> Option<String> {
                (!self.admits(method)).then(|| format!("{} is closed", self.0))
            }
        }
        struct Another;
        impl NodeHealth for Another {
            fn admits(&self, _: &MethodRef) -> bool {
                true
            }
            fn why_not(&self, _: &MethodRef) -> Option<String> {
                None
            }
        }
        let state = NodeState::default();
        assert!(state.admits(&method("First")));
        assert!(state.health(|| Closed("First")).is_some());
        assert!(!state.admits(&method("First")) && state.admits(&method("Second")));
        assert_eq!(
            state.why_not(&method("First")).as_deref(),
            Some("First is closed")
        );
        assert!(
            state
                .health(|| Closed("Second"))
                .is_some_and(|kept| kept.0 == "First")
        );
        assert!(state.health(|| Another).is_none());
    }
}
