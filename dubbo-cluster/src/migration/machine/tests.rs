use super::*;
use crate::migration::{MigrationStep::*, evidence::Offer, terms::Terms};
use dubbo_core::service::ServiceKey;

/// A machine, its clock, and how many addresses each path has; `None` is a path that is not followed.
struct Bench {
    machine: Machine,
    now: Instant,
    application: Option<usize>,
    interface: Option<usize>,
    answered: bool,
    failures: Both<Failures>,
}

impl Bench {
    fn start(terms: Agreed, application: usize, interface: usize) -> Self {
        let comparators = "errors".parse().expect("known");
        let (machine, change) = Machine::start(terms, comparators);
        assert!(change.success && change.origin.is_none());
        let mut bench = Self {
            machine,
            now: Instant::now(),
            application: Some(application),
            interface: Some(interface),
            answered: true,
            failures: Both::default(),
        };
        assert_eq!(bench.look(), None);
        bench
    }

    fn want(&mut self, terms: Agreed) -> Option<StepChange> {
        let changed = self.machine.want(terms, self.now);
        let looked = self.look();
        assert!(changed.is_none() || looked.is_none());
        changed.or(looked)
    }

    fn look(&mut self) -> Option<StepChange> {
        let evidence = |addresses: Option<usize>| {
            let addresses = addresses?;
            let mut evidence = Evidence {
                addresses,
                answered: self.answered,
                ..Evidence::default()
            };
            if addresses > 0 {
                let offer = Offer {
                    addresses,
                    ..Offer::default()
                };
                evidence.services.insert(ServiceKey::new("a.B"), offer);
            }
            Some(evidence)
        };
        let (application, interface) = (evidence(self.application), evidence(self.interface));
        let seen = Seen {
            evidence: Both {
                application: application.as_ref(),
                interface: interface.as_ref(),
            },
            failures: self.failures,
        };
        self.machine.look(&seen, self.now)
    }

    fn see(&mut self, application: usize, interface: usize) -> Option<StepChange> {
        self.application = Some(application);
        self.interface = Some(interface);
        self.look()
    }

    fn after(&mut self, seconds: u64) -> Option<StepChange> {
        self.now += Duration::from_secs(seconds);
        self.look()
    }

    fn step(&self) -> MigrationStep {
        self.machine.in_force().step
    }
}

fn terms(step: MigrationStep, threshold: f64) -> Agreed {
    let terms = Terms {
        step: Some(step),
        threshold: Some(threshold),
        ..Terms::default()
    };
    Agreed::of(&[("a test".into(), &terms)])
}

fn delayed(step: MigrationStep, threshold: f64, seconds: u64, force: bool) -> Agreed {
    Agreed {
        delay: Duration::from_secs(seconds),
        force,
        ..terms(step, threshold)
    }
}

fn told(change: Option<StepChange>) -> String {
    change.map_or_else(
        || "nothing".to_owned(),
        |change| {
            let origin = change.origin.map_or("none", MigrationStep::name);
            format!("{origin} -> {} {}", change.new, change.success)
        },
    )
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_a_preference_comes_at_once_and_goes_after_ten_seconds_well_below() {
    use Path::{Application, Interface};

    let mut bench = Bench::start(terms(ApplicationFirst, 0.5), 4, 10);
    for (seconds, application, want, why) in [
        (0, 4, Interface, "0.4 < 0.5"),
        (1, 5, Application, "enough"),
        (60, 4, Application, "0.4 is not below 0.5 - 0.1"),
        (1, 3, Application, "below, since now"),
        (9, 3, Application, "not for long enough"),
        (0, 4, Application, "up again: it starts anew"),
        (1, 3, Application, "below, since now"),
        (9, 2, Application, "for 9 s"),
        (1, 2, Interface, "for 10 s"),
        (1, 4, Interface, "not enough to come back"),
        (1, 5, Application, "enough"),
        (1, 0, Application, "calls go elsewhere meanwhile"),
        (10, 0, Interface, "nobody for 10 s"),
    ] {
        bench.after(seconds);
        assert_eq!(bench.see(application, 10), None);
        assert_eq!(bench.machine.preferred(), want, "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_the_mirror_image_prefers_interfaces() {
    let mut bench = Bench::start(terms(InterfaceFirst, 0.5), 10, 5);
    assert_eq!(bench.machine.preferred(), Path::Interface);
    bench.see(10, 0);
    bench.after(10);
    assert_eq!(bench.machine.preferred(), Path::Application);
    bench.see(10, 5);
    assert_eq!(bench.machine.preferred(), Path::Interface);
    for path in Path::BOTH {
        assert!(bench.machine.needs(path));
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_a_refused_step_leaves_the_one_before_and_is_tried_with_each_change() {
    let mut bench = Bench::start(terms(ApplicationFirst, 0.5), 5, 10);
    let change = bench
        .want(terms(ForceApplication, 1.0))
        .expect("it is told");
    assert!(change.why.contains("0.50 < 1"), "{}", change.why);
    assert_eq!(
        told(Some(change)),
        "APPLICATION_FIRST -> FORCE_APPLICATION false"
    );
    assert_eq!(bench.step(), ApplicationFirst);
    assert_eq!(bench.machine.preferred(), Path::Application);
    assert_eq!(told(bench.see(9, 10)), "nothing", "it is told once");
    let (wanted, refused) = bench.machine.wanted().expect("it is wanted still");
    assert_eq!(wanted, ForceApplication);
    assert!(refused.expect("refused").contains("0.90 < 1"));
    assert_eq!(
        told(bench.see(10, 10)),
        "APPLICATION_FIRST -> FORCE_APPLICATION true"
    );
    assert_eq!(bench.machine.wanted(), None);
    assert!(!bench.machine.needs(Path::Interface));

    // Back again: the interface is followed anew, and the application as long as that is not decided.
    bench.interface = None;
    assert_eq!(
        told(bench.want(terms(ForceInterface, 1.0))),
        "nothing",
        "not open yet"
    );
    assert!(Path::BOTH.iter().all(|path| bench.machine.needs(*path)));
    assert_eq!(
        told(bench.see(10, 9)),
        "FORCE_APPLICATION -> FORCE_INTERFACE false"
    );
    assert_eq!(
        told(bench.want(terms(ForceApplication, 1.0))),
        "nothing",
        "it is in force"
    );
    assert_eq!(bench.machine.wanted(), None);
    assert!(!bench.machine.needs(Path::Interface));
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_a_delay_passes_before_a_step_and_a_newer_rule_ends_it() {
    let mut bench = Bench::start(terms(ApplicationFirst, 0.0), 10, 10);
    let later = delayed(ForceApplication, 0.0, 10, false);
    assert_eq!(told(bench.want(later.clone())), "nothing");
    assert_eq!(told(bench.after(9)), "nothing");
    assert_eq!(
        told(bench.want(later.clone())),
        "nothing",
        "the same once more"
    );
    let next = bench.machine.next_look(bench.now).expect("a timer");
    assert_eq!(next - bench.now, Duration::from_secs(1));
    assert_eq!(
        told(bench.after(1)),
        "APPLICATION_FIRST -> FORCE_APPLICATION true"
    );

    let mut bench = Bench::start(terms(ApplicationFirst, 0.0), 10, 10);
    bench.want(later);
    bench.after(9);
    let newer = terms(ApplicationFirst, 0.0);
    assert_eq!(told(bench.want(newer)), "nothing");
    assert_eq!(told(bench.after(60)), "nothing");
    assert_eq!(bench.step(), ApplicationFirst);
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_force_compares_nothing_but_waits_for_a_first_address() {
    let mut bench = Bench::start(terms(ApplicationFirst, 1.0), 1, 10);
    let forced = delayed(ForceApplication, 1.0, 0, true);
    assert_eq!(
        told(bench.want(forced)),
        "APPLICATION_FIRST -> FORCE_APPLICATION true"
    );

    for (appears_after, taken_after) in [(12, 12), (99, 20)] {
        let mut bench = Bench::start(terms(ApplicationFirst, 1.0), 0, 10);
        bench.want(delayed(ForceApplication, 1.0, 10, true));
        let mut taken = None;
        for second in 1..=30 {
            if second >= appears_after {
                bench.application = Some(1);
            }
            if let Some(change) = bench.after(1) {
                assert!(change.success && taken.is_none());
                taken = Some(second);
            }
        }
        assert_eq!(taken, Some(taken_after));
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_changes_no_step_takes_effect_at_once() {
    let mut bench = Bench::start(terms(ApplicationFirst, 0.5), 5, 10);
    let more = Agreed {
        proportion: 7,
        ..terms(ApplicationFirst, 0.5)
    };
    assert_eq!(told(bench.want(more)), "nothing");
    assert_eq!(bench.machine.in_force().proportion, 7);
    let change = bench.want(terms(ApplicationFirst, 0.9));
    assert_eq!(told(change), "APPLICATION_FIRST -> APPLICATION_FIRST true");
    assert_eq!(
        bench.machine.preferred(),
        Path::Interface,
        "compared anew, at once"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_known_yet_decides_nothing_for_long() {
    let mut bench = Bench::start(terms(ApplicationFirst, 0.5), 4, 10);
    bench.want(terms(ApplicationFirst, 0.4));
    assert_eq!(bench.machine.preferred(), Path::Application);
    // The registry has not answered for interfaces.
    let mut bench = Bench::start(terms(ApplicationFirst, 0.5), 4, 10);
    bench.want(terms(ApplicationFirst, 0.45));
    bench.answered = false;
    bench.see(4, 0);
    assert_eq!(
        bench.machine.preferred(),
        Path::Application,
        "there is no other"
    );
    bench.answered = true;
    bench.see(4, 10);
    assert_eq!(
        bench.machine.preferred(),
        Path::Interface,
        "at once, although 0.4 > 0.35"
    );
}

#[tokio::test(start_paused = true)]
async fn a_path_whose_calls_fail_is_left_after_ten_seconds() {
    let mut bench = Bench::start(terms(ApplicationFirst, 0.5), 10, 10);
    bench.failures.application = Failures {
        failed: 50,
        calls: 1000,
    };
    bench.after(1);
    assert_eq!(bench.machine.preferred(), Path::Application);
    bench.after(10);
    assert_eq!(bench.machine.preferred(), Path::Interface);
    assert!(bench.machine.why().contains("5.0 % of 1000 calls fail"));
    let forced = bench.want(terms(ForceApplication, 0.5));
    assert_eq!(told(forced), "APPLICATION_FIRST -> FORCE_APPLICATION false");
}
