//! Our consumer, a provider of a peer that asks the next one, and our provider, which is that one.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};

use crate::{
    failure::Failure,
    interop::{
        build::{self, Program, Programs},
        cluster::{Caller, Wish},
        peer::Peer,
        ports,
        route::{Party, Protocol},
    },
    process,
};

use super::{
    carried::Carrier,
    chain::{self, BACK, BAGGAGE, FRONT, MIDDLE, WHOLE},
    collector::Collector,
};

/// All three at work, with traces that travel one way.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    collector: &'a Collector,
    carrier: Carrier,
    front: Caller,
    _providers: [Peer; 2],
}

impl<'a> Scene<'a> {
    /// Starts them, with a provider of `party` in the middle.
    pub(super) fn start(
        collector: &'a Collector,
        ours: &Programs,
        party: Party,
        carrier: Carrier,
    ) -> Result<Self, Failure> {
        let folder = process::target_dir()
            .join("interop/trace")
            .join(format!("{party}-{carrier}").to_lowercase());
        let spans = [
            format!("--trace={carrier}"),
            format!("--collector={}", collector.address),
        ];
        let (here, next) = (Place::free()?, Place::free()?);
        let flags = [&next.here()[..], &spans].concat();
        let last = serve(&hasty(&ours.provider), BACK, flags, &folder)?;

        let mut flags = [here.here(), next.next()].concat();
        let mut provider = hasty(&build::peers(party)?.provider);
        if party == Party::Java {
            provider = with_agent(&provider, collector, carrier)?;
        } else {
            flags.extend(spans);
        }
        let between = serve(&provider, MIDDLE, flags, &folder)?;

        let config = json!({"dubbo": {
            "application": {"name": FRONT},
            "otel": {"tracing": {
                "enable": true,
                "propagator": carrier.to_string(),
                "exporter": "otlp-http",
                "endpoint": collector.address,
                "insecure": true,
                "sample-mode": "always",
            }},
            "consumer": {"references": here.references()},
        }});
        let front = Caller::start(&hasty(&ours.consumer), &config, folder.join("front.log"))?;
        Ok(Self {
            collector,
            carrier,
            front,
            _providers: [last, between],
        })
    }

    /// Makes a call. What is wrong with its trace.
    pub(super) fn call(&mut self, protocol: Protocol) -> Result<Vec<String>, Failure> {
        let wish = Wish::attachments()
            .over(protocol)
            .attach("baggage", BAGGAGE);
        let account = self.front.make(&wish)?;
        let mut problems = account.failures("the call");
        let spans = self.collector.gather(WHOLE.len())?;
        problems.extend(chain::problems(&spans, &account.seen, self.carrier));
        Ok(problems)
    }
}

/// Where a provider listens.
#[derive(Clone, Copy)]
struct Place([(Protocol, u16); 2]);

impl Place {
    fn free() -> Result<Self, Failure> {
        let [one, other] = Protocol::ALL;
        Ok(Self([(one, ports::free()?), (other, ports::free()?)]))
    }

    /// The flags that have a provider listen there.
    fn here(self) -> Vec<String> {
        let flags = self.0.iter();
        flags
            .map(|(protocol, port)| format!("--{protocol}={port}"))
            .collect()
    }

    /// The flags that have a provider ask the one that listens there.
    fn next(self) -> Vec<String> {
        let flags = self.0.iter();
        flags
            .map(|(protocol, port)| format!("--next-{protocol}=127.0.0.1:{port}"))
            .collect()
    }

    /// The references of a consumer of the one that listens there.
    fn references(self) -> Value {
        let [greeter, users] = self.0.map(|(protocol, port)| {
            json!({"url": format!("{protocol}://127.0.0.1:{port}"), "retries": 0})
        });
        json!({"GreeterClient": greeter, "UserServiceClient": users})
    }
}

/// Starts a provider, and waits until it can be called.
fn serve(
    program: &Program,
    name: &str,
    mut flags: Vec<String>,
    folder: &Path,
) -> Result<Peer, Failure> {
    flags.extend([
        format!("--application={name}"),
        "--until-stdin-ends".to_owned(),
    ]);
    let peer = Peer::start(program, &flags, folder.join(format!("{name}.log")))?;
    peer.await_notice(READY_LIMIT, |notice| notice.event == "ready")?;
    Ok(peer)
}

/// The program, with spans that do not wait for long until they are sent.
fn hasty(program: &Program) -> Program {
    program.with_variables(&[("OTEL_BSP_SCHEDULE_DELAY", "200")])
}

/// The program in Java, observed by the agent of OpenTelemetry.
fn with_agent(
    program: &Program,
    collector: &Collector,
    carrier: Carrier,
) -> Result<Program, Failure> {
    let agent = format!("-javaagent:{}", build::java_agent()?.display());
    let endpoint = format!("http://{}", collector.address);
    let propagators = match carrier {
        Carrier::B3 => "b3,b3multi,baggage",
        Carrier::W3c => "tracecontext,baggage",
    };
    Ok(program.with_variables(&[
        ("JAVA_TOOL_OPTIONS", &agent),
        ("OTEL_SERVICE_NAME", MIDDLE),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_METRICS_EXPORTER", "none"),
        ("OTEL_LOGS_EXPORTER", "none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
        ("OTEL_PROPAGATORS", propagators),
    ]))
}

/// The agent takes its time.
const READY_LIMIT: Duration = Duration::from_mins(1);
