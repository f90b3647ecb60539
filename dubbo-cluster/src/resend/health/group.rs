//! The providers of one service beside each other: who of them is taken out for a while.

use std::{
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::window::rate;

/// When a provider is taken out, and for how long (`docs/spec/cluster.md` §7.9).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EjectionOptions {
    /// So many failures in a row take it out; 5.
    pub consecutive_failures: u32,
    /// How often all are compared; 10 s.
    pub interval: Duration,
    /// For how long it is out the first time, and each time once more as long; 30 s.
    pub base_ejection: Duration,
    /// The longest; 300 s.
    pub max_ejection: Duration,
    /// How many may be out at a time, in percent; 10. One may always be, of two or more.
    pub max_ejection_percent: u32,
    /// With fewer providers than this nobody is compared; 5.
    pub hosts: u32,
    /// Success rates are compared of those with so many calls in an interval; 100.
    pub success_rate_volume: u32,
    /// How many standard deviations below the others take one out; 1.9.
    pub success_rate_stdev_factor: f64,
    /// The percentage of failures that takes one out whatever the others do; 85.
    pub failure_percentage: u32,
    /// It counts of those with so many calls in an interval; 50.
    pub failure_percentage_volume: u32,
    /// With fewer healthy providers than this, in percent, all are called; 50.
    pub panic_threshold: u32,
}

impl Default for EjectionOptions {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
            interval: Duration::from_secs(10),
            base_ejection: Duration::from_secs(30),
            max_ejection: Duration::from_mins(5),
            max_ejection_percent: 10,
            hosts: 5,
            success_rate_volume: 100,
            success_rate_stdev_factor: 1.9,
            failure_percentage: 85,
            failure_percentage_volume: 50,
            panic_threshold: 50,
        }
    }
}

/// Whether a switch decides instead of what was seen (`docs/spec/cluster.md` §7.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Forced {
    /// What was seen decides.
    #[default]
    No,
    /// All calls pass.
    Closed,
    /// No call passes.
    Open,
}

/// The providers of one service that are called by this instance. Cloning copies a pointer.
#[derive(Clone)]
pub struct HealthGroup(Arc<Shared>);

struct Shared {
    service: String,
    began: Instant,
    /// How many the directory lists.
    listed: AtomicUsize,
    members: Mutex<Vec<Weak<Vitals>>>,
    panics: AtomicBool,
    forced: AtomicU8,
    /// When they are compared next, in the group's own milliseconds; 0 before the first call.
    next_look: AtomicU64,
}

/// What is known of one member without taking a lock.
#[derive(Debug, Default)]
pub(super) struct Vitals {
    pub(super) address: String,
    /// In the group's own milliseconds; 0 is not at all.
    pub(super) ejected_until: AtomicU64,
    /// How many of its methods have a breaker that is not closed.
    pub(super) broken_methods: AtomicU32,
    pub(super) consecutive: AtomicU32,
    times: AtomicU32,
    calls: AtomicU32,
    failures: AtomicU32,
}

impl HealthGroup {
    /// That of `service`, as messages call it. Nobody is in it.
    pub fn new(service: impl Into<String>) -> Self {
        Self(Arc::new(Shared {
            service: service.into(),
            began: Instant::now(),
            listed: AtomicUsize::new(0),
            members: Mutex::default(),
            panics: AtomicBool::new(false),
            forced: AtomicU8::new(0),
            next_look: AtomicU64::new(0),
        }))
    }

    /// What messages call the service.
    pub fn service(&self) -> &str {
        &self.0.service
    }

    /// Says how many providers there are, whether they were called or not.
    pub fn listed(&self, count: usize) {
        self.0.listed.store(count, Relaxed);
    }

    /// Has a switch decide.
    pub fn force(&self, forced: Forced) {
        self.0.forced.store(forced as u8, Relaxed);
    }

    /// What a switch has decided.
    pub fn forced(&self) -> Forced {
        match self.0.forced.load(Relaxed) {
            1 => Forced::Closed,
            2 => Forced::Open,
            _ => Forced::No,
        }
    }

    /// Whether so few are healthy that all are called.
    pub fn panics(&self) -> bool {
        self.0.panics.load(Relaxed)
    }

    pub(super) fn join(&self, address: String) -> Arc<Vitals> {
        let vitals = Arc::new(Vitals {
            address,
            ..Vitals::default()
        });
        self.0.members.lock().push(Arc::downgrade(&vitals));
        vitals
    }

    /// Its own milliseconds, from 1 on, the begun one counted.
    pub(super) fn millis(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.0.began);
        let whole = u64::try_from(since.as_millis()).unwrap_or(u64::MAX - 1);
        whole.saturating_add(u64::from(!since.subsec_nanos().is_multiple_of(1_000_000))) + 1
    }

    /// Counts what a member did, and takes it out if that was once too often.
    pub(super) fn settle(
        &self,
        vitals: &Vitals,
        failed: bool,
        options: &EjectionOptions,
        now: Instant,
    ) {
        vitals.calls.fetch_add(1, Relaxed);
        if failed {
            vitals.failures.fetch_add(1, Relaxed);
            let consecutive = vitals.consecutive.fetch_add(1, Relaxed) + 1;
            if consecutive >= options.consecutive_failures.max(1) {
                let why = format!("after {consecutive} failures in a row");
                let members = self.members();
                if self.eject(&members, vitals, &why, options, now) {
                    self.count_healthy(&members, options.panic_threshold, now);
                }
            }
        } else {
            vitals.consecutive.store(0, Relaxed);
        }
        self.compare(options, now);
    }

    /// Finds out anew whether so few are healthy that all are called.
    pub(super) fn look(&self, panic_threshold: u32, now: Instant) {
        self.count_healthy(&self.members(), panic_threshold, now);
    }

    /// Compares the members, when the time has come.
    fn compare(&self, options: &EjectionOptions, now: Instant) {
        let millis = self.millis(now);
        let due = self.0.next_look.load(Relaxed);
        if millis < due {
            return;
        }
        let interval = u64::try_from(options.interval.as_millis()).unwrap_or(u64::MAX);
        let next = millis.saturating_add(interval.max(1));
        let mine = self
            .0
            .next_look
            .compare_exchange(due, next, Relaxed, Relaxed);
        if mine.is_err() || due == 0 {
            return;
        }
        let members = self.members();
        let seen: Vec<(&Arc<Vitals>, u32, u32)> = members
            .iter()
            .map(|vitals| {
                let calls = vitals.calls.swap(0, Relaxed);
                (vitals, calls, vitals.failures.swap(0, Relaxed))
            })
            .collect();
        for &(vitals, calls, failures) in &seen {
            if calls > 0 && failures == 0 && !self.is_ejected(vitals, now) {
                let one_less = |times: u32| Some(times.saturating_sub(1));
                let _ = vitals.times.fetch_update(Relaxed, Relaxed, one_less);
            }
        }
        for (vitals, why) in outliers(&seen, options) {
            self.eject(&members, vitals, &why, options, now);
        }
        self.count_healthy(&members, options.panic_threshold, now);
    }

    /// Takes a member out, unless too many are.
    fn eject(
        &self,
        members: &[Arc<Vitals>],
        vitals: &Vitals,
        why: &str,
        options: &EjectionOptions,
        now: Instant,
    ) -> bool {
        // Whoever comes second finds the first one counted.
        let _one_at_a_time = self.0.members.lock();
        let all = self.size(members);
        let out = members.iter().filter(|member| self.is_ejected(member, now));
        let most = (all * options.max_ejection_percent as usize / 100).max(usize::from(all > 1));
        if self.is_ejected(vitals, now) || out.count() >= most.min(all.saturating_sub(1)) {
            return false;
        }
        let times = vitals.times.fetch_add(1, Relaxed).saturating_add(1);
        let time = options
            .base_ejection
            .saturating_mul(times)
            .min(options.max_ejection);
        vitals.ejected_until.store(self.millis(now + time), Relaxed);
        vitals.consecutive.store(0, Relaxed);
        metrics::counter!("dubbo_ejections_total", "service" => self.0.service.clone())
            .increment(1);
        tracing::warn!(
            service = self.0.service,
            provider = vitals.address,
            ?time,
            why,
            "a provider is taken out"
        );
        true
    }

    fn count_healthy(&self, members: &[Arc<Vitals>], panic_threshold: u32, now: Instant) {
        let all = self.size(members);
        let ill = members.iter().filter(|member| {
            member.broken_methods.load(Relaxed) > 0 || self.is_ejected(member, now)
        });
        let healthy = all.saturating_sub(ill.count());
        let panics = healthy * 100 < all * panic_threshold as usize;
        if self.0.panics.swap(panics, Relaxed) != panics {
            tracing::warn!(
                service = self.0.service,
                healthy,
                all,
                "{}",
                if panics {
                    "so few providers are healthy that all are called"
                } else {
                    "enough providers are healthy again"
                }
            );
        }
    }

    pub(super) fn is_ejected(&self, vitals: &Vitals, now: Instant) -> bool {
        let until = vitals.ejected_until.load(Relaxed);
        until != 0 && self.millis(now) < until
    }

    fn size(&self, members: &[Arc<Vitals>]) -> usize {
        self.0.listed.load(Relaxed).max(members.len())
    }

    fn members(&self) -> Vec<Arc<Vitals>> {
        let mut members = self.0.members.lock();
        members.retain(|member| member.strong_count() > 0);
        members.iter().filter_map(Weak::upgrade).collect()
    }
}

impl fmt::Debug for HealthGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthGroup")
            .field("service", &self.0.service)
            .field("panics", &self.panics())
            .finish_non_exhaustive()
    }
}

/// Those that did worse than the others, or badly whatever the others did.
fn outliers<'v>(
    seen: &[(&'v Arc<Vitals>, u32, u32)],
    options: &EjectionOptions,
) -> Vec<(&'v Arc<Vitals>, String)> {
    let with_volume = |volume: u32| {
        let enough: Vec<_> = seen
            .iter()
            .filter(|(_, calls, _)| *calls >= volume.max(1))
            .collect();
        (enough.len() >= options.hosts as usize).then_some(enough)
    };
    let mut out = Vec::new();
    if let Some(compared) = with_volume(options.success_rate_volume) {
        let rates: Vec<f64> = compared
            .iter()
            .map(|(_, calls, failures)| 1.0 - rate(*failures, *calls))
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 providers")]
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / count;
        let least = mean - options.success_rate_stdev_factor * variance.sqrt();
        for (&&(vitals, ..), own) in compared.iter().zip(rates) {
            if own < least {
                let why = format!(
                    "for {:.1} % of its calls worked, and {:.1} % of all",
                    own * 100.0,
                    mean * 100.0
                );
                out.push((vitals, why));
            }
        }
    }
    for &&(vitals, calls, failures) in with_volume(options.failure_percentage_volume)
        .iter()
        .flatten()
    {
        let percentage = rate(failures, calls) * 100.0;
        if percentage >= f64::from(options.failure_percentage) {
            out.push((vitals, format!("for {percentage:.1} % of its calls failed")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rig {
        group: HealthGroup,
        nodes: Vec<Arc<Vitals>>,
        options: EjectionOptions,
        now: Instant,
    }

    impl Rig {
        fn of(nodes: usize) -> Self {
            let group = HealthGroup::new("a.B");
            group.listed(nodes);
            let join = |n| group.join(format!("10.0.0.{n}:1"));
            Self {
                nodes: (0..nodes).map(join).collect(),
                options: EjectionOptions::default(),
                now: Instant::now(),
                group,
            }
        }

        fn call(&self, node: usize, failed: bool) {
            self.group
                .settle(&self.nodes[node], failed, &self.options, self.now);
        }

        fn fail(&self, node: usize, times: u32) {
            for _ in 0..times {
                self.call(node, true);
            }
        }

        fn out(&self) -> Vec<usize> {
            let ejected = |n: &usize| self.group.is_ejected(&self.nodes[*n], self.now);
            (0..self.nodes.len()).filter(ejected).collect()
        }

        /// For how many seconds the node is out.
        fn wait_until_back(&mut self, node: usize) -> u64 {
            let before = self.now;
            while self.out().contains(&node) {
                self.now += Duration::from_secs(1);
            }
            (self.now - before).as_secs()
        }
    }

    #[test]
    fn cluster_t39_the_fifth_failure_in_a_row_takes_one_out_each_time_for_longer() {
        let mut rig = Rig::of(10);
        rig.fail(0, 4);
        rig.call(0, false);
        rig.fail(0, 4);
        assert!(rig.out().is_empty(), "never five in a row");
        for want in [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300] {
            rig.fail(0, 5);
            assert_eq!(rig.wait_until_back(0), want);
        }
    }

    #[test]
    fn cluster_t39_no_more_than_a_tenth_is_out_and_one_of_two_and_never_the_only_one() {
        for (nodes, want) in [(10, 1), (2, 1), (1, 0), (30, 3)] {
            let rig = Rig::of(nodes);
            for node in 0..nodes.min(5) {
                rig.fail(node, 50);
            }
            assert_eq!(rig.out().len(), want, "of {nodes}");
        }
        // Most of them have not been called yet.
        let rig = Rig::of(3);
        rig.group.listed(30);
        (0..3).for_each(|node| rig.fail(node, 5));
        assert_eq!(rig.out().len(), 3);
    }

    #[test]
    fn cluster_t39_one_that_does_worse_than_the_others_is_taken_out() {
        let mut rig = Rig::of(10);
        let interval = |rig: &mut Rig, bad: u32, calls: u32| {
            for node in 0..10 {
                let failing = if node == 3 { bad } else { calls / 100 };
                let every = calls.checked_div(failing).unwrap_or(u32::MAX);
                for n in 0..calls {
                    rig.call(node, n % every == 1);
                }
            }
            rig.now += Duration::from_secs(11);
            rig.call(9, false);
        };
        interval(&mut rig, 2, 200);
        assert!(rig.out().is_empty(), "all do alike");
        interval(&mut rig, 10, 99);
        assert!(rig.out().is_empty(), "too few calls to compare");
        interval(&mut rig, 20, 200);
        assert_eq!(rig.out(), [3]);
    }

    #[test]
    fn one_that_fails_nearly_always_is_taken_out_without_much_traffic() {
        let mut rig = Rig::of(5);
        rig.options.consecutive_failures = u32::MAX;
        for node in 0..5 {
            for n in 0..50 {
                rig.call(node, node == 1 && n % 8 > 0);
            }
        }
        rig.now += Duration::from_secs(11);
        rig.call(0, false);
        assert_eq!(rig.out(), [1]);
    }

    #[test]
    fn clean_intervals_are_forgiving() {
        let mut rig = Rig::of(10);
        for _ in 0..3 {
            rig.fail(0, 5);
            rig.wait_until_back(0);
        }
        for _ in 0..4 {
            rig.call(0, false);
            rig.now += Duration::from_secs(11);
        }
        rig.call(0, false);
        rig.fail(0, 5);
        assert_eq!(rig.wait_until_back(0), 30);
    }

    #[test]
    fn cluster_t39_when_most_are_ill_all_are_called() {
        let rig = Rig::of(10);
        for (broken, want) in [(5, false), (6, true), (4, false)] {
            for (n, node) in rig.nodes.iter().enumerate() {
                node.broken_methods.store(u32::from(n < broken), Relaxed);
            }
            rig.group.look(rig.options.panic_threshold, rig.now);
            assert_eq!(rig.group.panics(), want, "{broken} of 10");
        }
    }

    #[test]
    fn those_that_left_are_forgotten() {
        let mut rig = Rig::of(2);
        rig.fail(0, 5);
        assert_eq!(rig.out(), [0]);
        rig.nodes.remove(0);
        rig.nodes.push(rig.group.join("10.0.0.9:1".to_owned()));
        rig.fail(0, 5);
        assert_eq!(rig.out(), [0], "the one that is out is not there any more");
    }
}
