//! The stacks: a server of each, and its own client.

use std::{net::SocketAddr, process::Command};

use crate::{
    bench::{
        server::{Server, free_address},
        worker::Worker,
    },
    failure::Failure,
    interop, process,
};

/// Whose server and client they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stack {
    Dubbo,
    DubboGo,
    GrpcGo,
    Hyper,
    Java,
    /// Ours with numbers and spans on, of which one trace in a hundred is recorded and sent.
    Observed,
    /// Ours with numbers and spans on, all of them recorded and sent.
    Recorded,
    Tonic,
}

impl Stack {
    /// All but ours.
    pub(super) const PEERS: [Self; 5] = [
        Self::Hyper,
        Self::Tonic,
        Self::GrpcGo,
        Self::DubboGo,
        Self::Java,
    ];

    /// Those that are measured when they are named.
    pub(super) const NAMED: [Self; 7] = [
        Self::Hyper,
        Self::Tonic,
        Self::GrpcGo,
        Self::DubboGo,
        Self::Java,
        Self::Observed,
        Self::Recorded,
    ];

    /// What the report calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dubbo => "dubbo",
            Self::DubboGo => "dubbo_go",
            Self::GrpcGo => "grpc_go",
            Self::Hyper => "hyper",
            Self::Java => "java",
            Self::Observed => "observed",
            Self::Recorded => "recorded",
            Self::Tonic => "tonic",
        }
    }

    /// How many times as long as others it has to be called before it is as fast as it gets: Java compiles meanwhile.
    pub(super) fn warm_up(self) -> u32 {
        match self {
            Self::Java => 6,
            _ => 1,
        }
    }

    fn is_observed(self) -> bool {
        matches!(self, Self::Observed | Self::Recorded)
    }

    /// Starts both; what they are built from is there, or an error says what to install.
    pub(super) fn start(self) -> Result<Pair, Failure> {
        let name = self.name();
        let address = free_address()?;
        let collector = self.is_observed().then(collector).transpose()?;
        let server = &mut self.server()?;
        server.arg(match self {
            Self::Dubbo | Self::Hyper | Self::Observed | Self::Recorded | Self::Tonic => {
                address.to_string()
            }
            Self::DubboGo | Self::GrpcGo | Self::Java => format!("--tri={}", address.port()),
        });
        let client = &mut self.client()?;
        client.arg(match self {
            Self::Dubbo | Self::Hyper | Self::Observed | Self::Recorded | Self::Tonic => {
                address.to_string()
            }
            Self::DubboGo => format!("--dubbo-go={address}"),
            Self::GrpcGo => format!("--grpc-go={address}"),
            Self::Java => format!("--tri={address}"),
        });
        if let Some(collector) = &collector {
            let settings = observed(self, collector.address);
            for program in [&mut *server, &mut *client] {
                program.envs(settings.iter().map(|(name, value)| (name, value)));
            }
        }
        Ok(Pair {
            stack: self,
            server: Server::start(name, address, server)?,
            client: Worker::start(name, client)?,
            _collector: collector,
        })
    }

    fn server(self) -> Result<Command, Failure> {
        match self {
            Self::Dubbo | Self::Hyper | Self::Observed | Self::Recorded | Self::Tonic => {
                Ok(self.rust(""))
            }
            Self::DubboGo => interop::go_program("provider").map(Command::new),
            Self::GrpcGo => interop::go_program("grpc-server").map(Command::new),
            Self::Java => interop::java_command("org.apache.dubbo.interop.provider.Provider"),
        }
    }

    fn client(self) -> Result<Command, Failure> {
        match self {
            Self::Dubbo | Self::Hyper | Self::Observed | Self::Recorded | Self::Tonic => {
                Ok(self.rust("-client"))
            }
            Self::DubboGo | Self::GrpcGo => interop::go_program("triple-bench").map(Command::new),
            Self::Java => interop::java_command("org.apache.dubbo.interop.TripleBench"),
        }
    }

    fn rust(self, suffix: &str) -> Command {
        let name = match self {
            Self::Observed | Self::Recorded => Self::Dubbo.name(),
            other => other.name(),
        };
        let program = format!("release/bench-{name}{suffix}");
        Command::new(process::target_dir().join(program))
    }
}

/// A server, and the client that calls it.
pub(super) struct Pair {
    pub(super) stack: Stack,
    pub(super) server: Server,
    pub(super) client: Worker,
    /// Where spans are sent.
    _collector: Option<Server>,
}

/// What takes spans: any server that answers each call of gRPC with status 0.
fn collector() -> Result<Server, Failure> {
    let address = free_address()?;
    let command = &mut Stack::Hyper.rust("");
    Server::start("collector", address, command.arg(address.to_string()))
}

/// What the environment of a program says so that it shows numbers and sends spans: all of them, or some.
fn observed(stack: Stack, collector: SocketAddr) -> [(&'static str, String); 7] {
    let ratio = if stack == Stack::Recorded {
        "1.0"
    } else {
        "0.01"
    };
    [
        ("DUBBO_METRICS_ENABLE", "true".to_owned()),
        ("DUBBO_OTEL_TRACING_ENABLE", "true".to_owned()),
        ("DUBBO_OTEL_TRACING_EXPORTER", "otlp-grpc".to_owned()),
        ("DUBBO_OTEL_TRACING_ENDPOINT", collector.to_string()),
        ("DUBBO_OTEL_TRACING_INSECURE", "true".to_owned()),
        ("DUBBO_OTEL_TRACING_SAMPLE_MODE", "ratio".to_owned()),
        ("DUBBO_OTEL_TRACING_SAMPLE_RATIO", ratio.to_owned()),
    ]
}

/// Builds all that is in Rust, with one profile. What observes is in ours only where that is measured.
pub(super) fn build(stacks: &[Stack]) -> Result<(), Failure> {
    let mut cargo = process::cargo(["build", "--release", "--package=bench"]);
    if stacks.iter().any(|stack| stack.is_observed()) {
        cargo.arg("--features=observed");
    }
    for name in ["dubbo", "hyper", "tonic"] {
        cargo.arg(format!("--bin=bench-{name}"));
        cargo.arg(format!("--bin=bench-{name}-client"));
    }
    process::run(&mut cargo, "see what cargo said above")
}
