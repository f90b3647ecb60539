//! What is migrated in each scenario, and what has to come of it.

use std::collections::BTreeMap;

use crate::{
    failure::Failure,
    interop::{build::Programs, lines::Progress, registry::Level, route::Party},
};

use super::{
    estate::{Estate, Provider},
    story::{Story, Way},
};

/// A scenario.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// What a peer cannot do in it, and why.
    pub(super) limit: Option<&'static str>,
    /// Whether it has nothing of ours in it, and tells what others lose, for comparison.
    pub(super) is_yardstick: bool,
    pub(super) play: fn(&Peers) -> Result<Story, Failure>,
}

/// The programs of each party.
pub(super) type Peers = BTreeMap<Party, Programs>;

/// All of them, in the order in which they are played.
pub(super) const ALL: [Scenario; 6] = [
    Scenario {
        name: "forward",
        about: "our consumer goes from interfaces to applications while providers in Go, Java and Rust do",
        limit: None,
        is_yardstick: false,
        play: forward,
    },
    Scenario {
        name: "rollback",
        about: "our consumer goes back to interfaces, and falls back to them when no application is left",
        limit: Some(
            "dubbo-go that is registered both ways takes back the application alone when it stops, and leaves its \
             interfaces to the end of its session: as a provider that is stopped while it is called by the interface \
             it is registered that way alone",
        ),
        is_yardstick: false,
        play: rollback,
    },
    Scenario {
        name: "threshold",
        about: "our consumer refuses to go before enough providers have, and goes by itself when they have",
        limit: None,
        is_yardstick: false,
        play: threshold,
    },
    Scenario {
        name: "java-consumer",
        about: "Dubbo Java's consumer follows the same rule, while our providers go from interfaces to applications",
        limit: Some(
            "Dubbo Java waits up to five seconds in ZooKeeper's only event thread for each change of an interface's \
             providers: it hears that much later of rules and applications that come meanwhile",
        ),
        is_yardstick: false,
        play: java_consumer,
    },
    Scenario {
        name: "go-consumer",
        about: "dubbo-go's consumer calls both ways, while our providers go from interfaces to applications",
        limit: Some(
            "dubbo-go has no migration rules and does not tell which way a call goes: with registry-type all its \
             balancer takes one of both ways for each call. When the registry no longer lists a provider it closes its \
             connections over `dubbo` at once and throws away the answers of calls that are under way: a call that failed so \
             while its provider still served, and that the provider has answered, is counted as dropped by dubbo-go, at most \
             one for each provider that leaves; its framework tries it again unless it is told not to, as here",
        ),
        is_yardstick: false,
        play: go_consumer,
    },
    Scenario {
        name: "go-alone",
        about: "the steps of go-consumer with dubbo-go's own providers, to show what dubbo-go loses with itself",
        limit: Some(
            "besides the calls under way, dubbo-go calls providers in vain that were registered both ways and have left (see \
             rollback), and a provider that says `closing` in its answers before it leaves the registry, as its own do, may \
             stay in the consumer's list, where every call to it fails with \"provider is closing\"",
        ),
        is_yardstick: true,
        play: go_alone,
    },
];

fn forward(peers: &Peers) -> Result<Story, Failure> {
    let estate = Estate::start(peers, "forward", FORCE_INTERFACE)?;
    let mut story = Story::default();
    let mut providers = Vec::new();
    for party in [Party::Go, Party::Java, Party::Rust] {
        providers.push(estate.provider(party, Level::Interface, 1)?);
    }
    let mut caller = estate.caller(Party::Rust)?;
    caller.until_answered_by(&names(&providers))?;
    let who = names(&providers);
    story.step(&mut caller, "FORCE_INTERFACE", Way::Interface, &who)?;

    providers = estate.roll(providers, Level::Both, &mut caller)?;
    let who = names(&providers);
    story.step(&mut caller, "providers are dual", Way::Interface, &who)?;

    estate.rule(HALF)?;
    caller.until("call both ways", goes_by_application)?;
    story.step(
        &mut caller,
        "APPLICATION_FIRST, proportion 50",
        Way::Both,
        &who,
    )?;
    estate.rule(FORCE_APPLICATION)?;
    caller.until("take FORCE_APPLICATION", is_in("FORCE_APPLICATION"))?;
    story.step(&mut caller, "FORCE_APPLICATION", Way::Application, &who)?;

    providers = estate.roll(providers, Level::Application, &mut caller)?;
    let who = names(&providers);
    let name = "providers are registered by application alone";
    story.step(&mut caller, name, Way::Application, &who)?;
    story.end(caller)
}

fn rollback(peers: &Peers) -> Result<Story, Failure> {
    let estate = Estate::start(peers, "rollback", FORCE_APPLICATION)?;
    let mut story = Story::default();
    let mut dual = Vec::new();
    for party in [Party::Java, Party::Rust] {
        dual.push(estate.provider(party, Level::Both, 1)?);
    }
    let mut caller = estate.caller(Party::Rust)?;
    let who = names(&dual);
    caller.until_answered_by(&who)?;
    story.step(&mut caller, "FORCE_APPLICATION", Way::Application, &who)?;

    estate.rule(FORCE_INTERFACE)?;
    caller.until("take FORCE_INTERFACE", is_in("FORCE_INTERFACE"))?;
    let name = "back to FORCE_INTERFACE";
    story.step(&mut caller, name, Way::Interface, &who)?;

    let by_interface = estate.provider(Party::Go, Level::Interface, 1)?;
    caller.until_answered_by(&[&by_interface.name])?;
    for provider in dual {
        provider.stop()?;
    }
    estate.rule(APPLICATION_FIRST)?;
    caller.until("take APPLICATION_FIRST", is_in("APPLICATION_FIRST"))?;
    let who = [&*by_interface.name];
    let name = "APPLICATION_FIRST, with no application left";
    story.step(&mut caller, name, Way::Interface, &who)?;

    let back = estate.provider(Party::Go, Level::Both, 2)?;
    let who = [&*back.name];
    // It may be found by its interfaces a moment before it is by its application.
    caller.until_by_application_alone()?;
    let name = "APPLICATION_FIRST, with an application again";
    story.step(&mut caller, name, Way::Application, &who)?;
    story.end(caller)
}

fn threshold(peers: &Peers) -> Result<Story, Failure> {
    let estate = Estate::start(peers, "threshold", FORCE_INTERFACE)?;
    let mut story = Story::default();
    let dual = estate.provider(Party::Rust, Level::Both, 1)?;
    let other = estate.provider(Party::Go, Level::Interface, 1)?;
    let mut caller = estate.caller(Party::Rust)?;
    let who = [&*dual.name, &*other.name];
    caller.until_answered_by(&who)?;
    story.step(&mut caller, "FORCE_INTERFACE", Way::Interface, &who)?;

    estate.rule(FORCE_WHEN_ALL)?;
    caller.until("refuse FORCE_APPLICATION", |it| it.refused.is_some())?;
    let name = "FORCE_APPLICATION, threshold 1.0, refused";
    story.step(&mut caller, name, Way::Interface, &who)?;

    let other = estate.roll(vec![other], Level::Both, &mut caller)?;
    caller.until("take FORCE_APPLICATION", is_in("FORCE_APPLICATION"))?;
    let who = [&*dual.name, &*other[0].name];
    let name = "all providers are dual";
    story.step(&mut caller, name, Way::Application, &who)?;
    story.end(caller)
}

fn java_consumer(peers: &Peers) -> Result<Story, Failure> {
    let estate = Estate::start(peers, "java-consumer", FORCE_INTERFACE)?;
    let mut story = Story::default();
    let mut providers = two(&estate, Party::Rust)?;
    let mut caller = estate.caller(Party::Java)?;
    let who = names(&providers);
    caller.until_answered_by(&who)?;
    story.step(&mut caller, "FORCE_INTERFACE", Way::Interface, &who)?;

    providers = estate.roll(providers, Level::Both, &mut caller)?;
    let who = names(&providers);
    story.step(&mut caller, "providers are dual", Way::Interface, &who)?;

    estate.rule(HALF)?;
    caller.until("call both ways", goes_by_application)?;
    let name = "APPLICATION_FIRST, proportion 50";
    story.step(&mut caller, name, Way::Both, &who)?;
    estate.rule(FORCE_APPLICATION)?;
    caller.until_by_application_alone()?;
    story.step(&mut caller, "FORCE_APPLICATION", Way::Application, &who)?;

    providers = estate.roll(providers, Level::Application, &mut caller)?;
    let who = names(&providers);
    let name = "providers are registered by application alone";
    story.step(&mut caller, name, Way::Application, &who)?;
    story.end(caller)
}

fn go_consumer(peers: &Peers) -> Result<Story, Failure> {
    let estate = Estate::start(peers, "go-consumer", FORCE_INTERFACE)?;
    let mut story = Story::default();
    let mut providers = two(&estate, Party::Rust)?;
    let mut caller = estate.caller(Party::Go)?;
    let who = names(&providers);
    caller.until_answered_by(&who)?;
    story.step(&mut caller, BY_INTERFACE, Way::Unknown, &who)?;
    for (level, name) in GO_STEPS {
        providers = estate.roll_with(providers, level, &mut caller, |provider, caller| {
            let departure = provider.leave(caller)?;
            story.drops(departure.dropped()?);
            Ok(())
        })?;
        let who = names(&providers);
        story.step(&mut caller, name, Way::Unknown, &who)?;
    }
    story.end(caller)
}

fn go_alone(peers: &Peers) -> Result<Story, Failure> {
    let estate = Estate::start(peers, "go-alone", FORCE_INTERFACE)?;
    let mut story = Story::default();
    let mut providers = two(&estate, Party::Go)?;
    let mut caller = estate.caller(Party::Go)?;
    caller.until_answered_by(&names(&providers))?;
    story.measure(&mut caller, BY_INTERFACE)?;
    for (level, name) in GO_STEPS {
        providers = estate.roll(providers, level, &mut caller)?;
        story.measure(&mut caller, name)?;
    }
    story.end_measured(caller)
}

/// Two providers of `party` that are registered by their interfaces.
fn two(estate: &Estate<'_>, party: Party) -> Result<Vec<Provider>, Failure> {
    let numbers = [1, 2].into_iter();
    numbers
        .map(|number| estate.provider(party, Level::Interface, number))
        .collect()
}

fn names(providers: &[Provider]) -> Vec<&str> {
    providers.iter().map(|it| &*it.name).collect()
}

fn goes_by_application(progress: &Progress) -> bool {
    progress
        .ways
        .is_some_and(|(application, _)| application > 0)
}

fn is_in(step: &str) -> impl Fn(&Progress) -> bool {
    move |progress| progress.step.as_deref() == Some(step)
}

const BY_INTERFACE: &str = "providers are registered by interface alone";
/// How the providers change that dubbo-go calls, and what they are then.
const GO_STEPS: [(Level, &str); 2] = [
    (Level::Both, "providers are dual"),
    (
        Level::Application,
        "providers are registered by application alone",
    ),
];
const FORCE_INTERFACE: &str = "key: estate-consumer\nstep: FORCE_INTERFACE\n";
const APPLICATION_FIRST: &str = "key: estate-consumer\nstep: APPLICATION_FIRST\n";
const HALF: &str = "key: estate-consumer\nstep: APPLICATION_FIRST\nproportion: 50\n";
const FORCE_APPLICATION: &str = "key: estate-consumer\nstep: FORCE_APPLICATION\n";
const FORCE_WHEN_ALL: &str = "key: estate-consumer\nstep: FORCE_APPLICATION\nthreshold: 1.0\n";
