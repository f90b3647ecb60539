//! The task of one reference: rules and lists in, a choice out.

use std::sync::Arc;

use arc_swap::ArcSwap;
use dubbo_core::registry::RegistryError;
use tokio::{sync::watch, time::Instant};

use super::{
    Controller, MigrationStep, Path, ReferenceStatus, Road, Roads, StepReport,
    choice::Choice,
    controller::Current,
    directory::{Shared, Subject},
    gauges::Gauges,
    machine::{Machine, Seen, StepChange},
    path::Both,
    roads::{OpenRoads, until},
    rule::agree,
    terms::Agreed,
    traffic::{Meter, Traffic},
};

pub(super) struct Driver {
    controller: Arc<Controller>,
    rules: watch::Receiver<Current>,
    roads: Arc<dyn Roads>,
    open: OpenRoads,
    machine: Machine,
    shared: Arc<Shared>,
    gauges: Gauges,
    /// The lists that were seen last.
    lists: Both<Option<u64>>,
    stop: watch::Receiver<bool>,
}

impl Driver {
    /// Opens what is needed at first.
    ///
    /// # Errors
    ///
    /// A path cannot be followed at all.
    pub(super) async fn start(
        subject: Subject,
        controller: &Arc<Controller>,
        roads: Arc<dyn Roads>,
        stop: watch::Receiver<bool>,
    ) -> Result<(Self, Arc<Shared>), RegistryError> {
        let gauges = Gauges::new(subject.service.to_string(), subject.registry.clone());
        let comparators = controller.comparators();
        let traffic = Both::of(|path| {
            let traffic = Traffic::new(gauges.calls(path), comparators.errors);
            Arc::new(traffic)
        });
        let meters = Both::of(|path| Meter::new(Arc::clone(traffic.get(path))));
        let mut rules = controller.rules();
        let rule = rules.borrow_and_update().rule.clone();
        let terms = agree(
            rule.as_deref(),
            &subject.service,
            &roads.applications(),
            &subject.terms,
            controller.configured(),
        );
        let (machine, first) = Machine::start(terms.clone(), comparators);
        let mut open = OpenRoads::new(Arc::clone(&roads), meters, controller.drain());
        open.adjust(&machine, Instant::now());
        open.opened().await?;

        let status = first_status(controller.application(), &subject, &terms, &first);
        let choice = Choice {
            roads: Both::default(),
            preferred: machine.preferred(),
            terms,
        };
        let shared = Arc::new(Shared {
            subject,
            choice: ArcSwap::from_pointee(choice),
            status: ArcSwap::from_pointee(status),
            traffic,
        });
        let mut driver = Self {
            controller: Arc::clone(controller),
            rules,
            roads,
            open,
            machine,
            shared: Arc::clone(&shared),
            gauges,
            lists: Both::default(),
            stop,
        };
        driver.report(&first);
        driver.turn();
        driver.consumes();
        Ok((driver, shared))
    }

    /// Follows rules and lists until it is told to stop, then closes everything.
    pub(super) async fn run(mut self) {
        loop {
            let now = Instant::now();
            let looks = [self.machine.next_look(now), self.open.next_look()];
            let next = looks.into_iter().flatten().min();
            tokio::select! {
                biased;
                _ = self.stop.wait_for(|stop| *stop) => break,
                Ok(()) = self.rules.changed() => {}
                () = self.open.changed() => {}
                () = until(next) => {}
            }
            self.turn();
        }
        self.open.close().await;
    }

    /// Brings everything up to what is known now.
    fn turn(&mut self) {
        let now = Instant::now();
        let before = self.machine.preferred();
        self.forget_old_failures(before);
        let terms = self.agree();
        let mut changes = Vec::from_iter(self.machine.want(terms, now));
        let addresses = loop {
            // A path that was being drained may be wanted again: then it is there, and counts.
            let taken_up = self.open.adjust(&self.machine, now);
            let evidence = Both::of(|path| self.open.open(path).map(Road::evidence));
            let traffic = &self.shared.traffic;
            let seen = Seen {
                evidence: Both::of(|path| evidence.get(path).as_ref()),
                failures: Both::of(|path| traffic.get(path).failures()),
            };
            let change = self.machine.look(&seen, now);
            let is_done = change.is_none() && !taken_up;
            changes.extend(change);
            if is_done {
                break Both::of(|path| Some(evidence.get(path).as_ref()?.addresses));
            }
        };
        self.publish(addresses);
        for change in &changes {
            self.report(change);
        }
        if self.machine.preferred() != before {
            self.consumes();
        }
    }

    /// A path that calls have left, for whatever reason, is judged anew with its next list.
    fn forget_old_failures(&mut self, preferred: Path) {
        for path in Path::BOTH {
            let road = self.open.open(path);
            let lists = road.and_then(|road| *road.lists.borrow());
            let seen = std::mem::replace(self.lists.get_mut(path), lists);
            if path != preferred && seen != lists {
                self.shared.traffic.get(path).forget_failures();
            }
        }
    }

    fn agree(&mut self) -> Agreed {
        let rule = self.rules.borrow_and_update().rule.clone();
        let asks = rule
            .as_ref()
            .is_some_and(|rule| rule.asks_for_applications());
        let applications = if asks {
            self.applications()
        } else {
            Vec::new()
        };
        agree(
            rule.as_deref(),
            &self.shared.subject.service,
            &applications,
            &self.shared.subject.terms,
            self.controller.configured(),
        )
    }

    /// The applications that the mapping names, then others that providers say they belong to.
    fn applications(&self) -> Vec<String> {
        let mut names = self.roads.applications();
        for road in Path::BOTH
            .into_iter()
            .filter_map(|path| self.open.open(path))
        {
            for node in road.directory.nodes().iter() {
                let url = node.invoker.url();
                let name = url.param("remote.application").unwrap_or_default();
                if !name.is_empty() && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }

    fn publish(&self, addresses: Both<Option<usize>>) {
        let (machine, shared) = (&self.machine, &self.shared);
        let in_force = machine.in_force();
        shared.choice.store(Arc::new(Choice {
            roads: Both::of(|path| {
                let is_taken = in_force.step.needs(path);
                let road = self.open.open(path).filter(|_| is_taken)?;
                Some(Arc::clone(&road.directory))
            }),
            preferred: machine.preferred(),
            terms: in_force.clone(),
        }));
        let (wanted, refused) = machine.wanted().unzip();
        let mut status = ReferenceStatus::clone(&shared.status.load());
        status.step = in_force.step;
        status.said_by = in_force.said_by.clone().into_owned();
        status.threshold = in_force.threshold;
        status.proportion = in_force.proportion;
        status.wanted = wanted;
        status.refused = refused.flatten().map(str::to_owned);
        status.preferred = machine.preferred();
        machine.why().clone_into(&mut status.why);
        status.application_addresses = addresses.application;
        status.interface_addresses = addresses.interface;
        shared.status.store(Arc::new(status));

        self.gauges.show(in_force.step, &addresses);
    }

    /// Tells of a step that was taken or refused.
    fn report(&self, change: &StepChange) {
        let mut status = ReferenceStatus::clone(&self.shared.status.load());
        status.last_change = StepReport {
            origin: change.origin,
            new: change.new,
            success: change.success,
        };
        let report = status.migration_step_status();
        self.shared.status.store(Arc::new(status));
        let service = &self.shared.subject.service;
        let origin = change.origin.map_or("none", MigrationStep::name);
        if change.success {
            tracing::info!(
                target: "dubbo::migration", kind = "migrationStepStatus", report, %service, why = change.why,
                "migration step {origin} -> {}", change.new
            );
        } else {
            tracing::warn!(
                target: "dubbo::migration", kind = "migrationStepStatus", report, %service, why = change.why,
                "migration step {} is refused and {origin} stays; it is tried again with each change", change.new
            );
        }
    }

    /// Tells by which path calls go now.
    fn consumes(&self) {
        let status = self.shared.status.load();
        tracing::info!(
            target: "dubbo::migration", kind = "consumption", report = status.consumption(),
            service = %self.shared.subject.service, why = status.why, "calls go by {}", status.preferred
        );
    }
}

fn first_status(
    application: &str,
    subject: &Subject,
    terms: &Agreed,
    first: &StepChange,
) -> ReferenceStatus {
    ReferenceStatus {
        application: application.to_owned(),
        service: subject.service.clone(),
        registry: subject.registry.clone(),
        step: terms.step,
        said_by: terms.said_by.clone().into_owned(),
        threshold: terms.threshold,
        proportion: terms.proportion,
        wanted: None,
        refused: None,
        preferred: terms.favoured(),
        why: String::new(),
        application_addresses: None,
        interface_addresses: None,
        application_calls: 0,
        interface_calls: 0,
        last_change: StepReport {
            origin: first.origin,
            new: first.new,
            success: first.success,
        },
    }
}
