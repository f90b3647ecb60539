//! What is wrong with a name of a plugin or with an address, wherever it comes from: files, the environment or code.

use std::fmt;

use dubbo_core::{
    extension::{ExtensionPoint, Extensions},
    protocol::Protocol,
    url::Url,
    yaml::{ProblemKind, nearest},
};

/// What is wrong with a value, without where it stands.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(super) kind: ProblemKind,
    pub(super) message: String,
    pub(super) suggestion: Option<&'static str>,
}

impl Fault {
    fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            suggestion: None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.suggestion {
            Some(suggestion) => write!(f, " (did you mean `{suggestion}`?)"),
            None => Ok(()),
        }
    }
}

/// Whether a plugin of this name is linked.
pub(super) fn plugin<T: ?Sized + ExtensionPoint>(
    extensions: &Extensions,
    name: &str,
) -> Result<(), Fault> {
    if extensions.contains::<T>(name) {
        return Ok(());
    }
    let linked = extensions.names::<T>();
    let instead = match linked.as_slice() {
        [] => "none is linked".to_owned(),
        linked => format!("linked: {}", linked.join(", ")),
    };
    let kind = T::KIND;
    if let Some(feature) = feature_of(name).filter(|_| BEHIND_FEATURES.contains(&kind)) {
        let message = format!(
            "the {kind} `{name}` is not built in: add the feature `{feature}` to the dependency `dubbo`; {instead}"
        );
        return Err(Fault::new(ProblemKind::Unsupported, message));
    }
    if let Some(reason) = no_place_for(kind, name) {
        let message = format!("the {kind} `{name}` has no place here: {reason}");
        return Err(Fault::new(ProblemKind::Unsupported, message));
    }
    if is_of_dubbo(kind, name) {
        let message = format!("the {kind} `{name}` is not supported yet; {instead}");
        return Err(Fault::new(ProblemKind::Unsupported, message));
    }
    Err(Fault {
        kind: ProblemKind::UnknownName,
        message: format!("no {kind} is called `{name}`; {instead}"),
        suggestion: nearest(name, linked),
    })
}

/// The address of a provider that a reference names itself.
pub(crate) fn direct_url(extensions: &Extensions, text: &str) -> Result<Url, Vec<Fault>> {
    let url: Url = text
        .parse()
        .map_err(|error| vec![Fault::new(ProblemKind::Type, format!("{error}"))])?;
    let protocol = url.protocol();
    if protocol.eq_ignore_ascii_case("registry") {
        let message = "`registry://` is not supported; write the registry under `dubbo.registries` and its id under \
                       `registry-ids`";
        return Err(vec![Fault::new(ProblemKind::Unsupported, message)]);
    }
    let mut faults = Vec::new();
    if text.contains(',') && text.matches("://").count() > 1 {
        let message = format!("`{text}` is one address; several are separated by `;`");
        return Err(vec![Fault::new(ProblemKind::Type, message)]);
    }
    if !protocol.is_empty() {
        faults.extend(plugin::<dyn Protocol>(extensions, protocol).err());
    }
    if url.port().is_none() && !protocol.eq_ignore_ascii_case(IN_PROCESS) {
        let message = format!("`{text}` has no port");
        faults.push(Fault::new(ProblemKind::Type, message));
    }
    if faults.is_empty() {
        Ok(url)
    } else {
        Err(faults)
    }
}

/// Whether dubbo-go or Dubbo Java has a plugin of this name (`docs/spec/config.md` §3, `docs/spec/cluster.md` §6): then
/// it is no typing error.
fn is_of_dubbo(kind: &str, name: &str) -> bool {
    OF_DUBBO
        .iter()
        .filter(|(of, _)| *of == kind)
        .flat_map(|(_, names)| names.split(' '))
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// Why nothing here goes by the name of a plugin that dubbo-go or Dubbo Java has, where there never will be one.
fn no_place_for(kind: &str, name: &str) -> Option<&'static str> {
    let mut without = FILTERS_WITHOUT_A_PLACE.into_iter();
    let (_, reason) = without.find(|(names, _)| {
        let mut names = names.split(' ');
        names.any(|known| known.eq_ignore_ascii_case(name))
    })?;
    (kind == "filter").then_some(reason)
}

/// The feature that brings what deals with the server of this name.
fn feature_of(name: &str) -> Option<&'static str> {
    let mut features = FEATURES.into_iter();
    let (feature, _) = features.find(|(_, names)| {
        let mut names = names.split(' ');
        names.any(|known| known.eq_ignore_ascii_case(name))
    })?;
    Some(feature)
}

/// The kinds of plugins that the features of [`FEATURES`] bring.
const BEHIND_FEATURES: [&str; 5] = [
    "config center",
    "dead letter store",
    "metadata report",
    "registry",
    "service discovery",
];

/// Features of this crate, with the names that plugins have behind them.
const FEATURES: [(&str, &str); 4] = [
    ("durable", "disk"),
    ("etcd", "etcdv3 etcd"),
    ("nacos", "nacos"),
    ("zookeeper", "zookeeper"),
];

/// The parameter of a registry that switches files off for what it makes known, as in Dubbo Java.
pub(crate) const FILE_CACHE: &str = "file-cache";

/// What is read of the parameters of a registry or a metadata report by those who use it: discovery, publishing, renewal
/// and definitions of services. Its plugins read others.
pub(super) const OF_USERS: [&str; 10] = [
    "cycle-report",
    "cycle.report",
    "enable-empty-protection",
    FILE_CACHE,
    "metadata.gc.enabled",
    "metadata.gc.window",
    "metadata.renew-on-startup",
    "report-consumer-definition",
    "report-definition",
    "subscribed-services",
];

/// The protocol that has no port.
pub(super) const IN_PROCESS: &str = "injvm";

const OF_DUBBO: [(&str, &str); 4] = [
    (
        "protocol",
        "dubbo rest jsonrpc grpc http hessian thrift rmi",
    ),
    ("config center", "apollo file"),
    ("metadata report", "redis"),
    (
        "registry",
        "polaris consul kubernetes redis multicast multiple xds",
    ),
];

/// Names of filters, with why there is none (`docs/spec/cluster.md` §6.3).
const FILTERS_WITHOUT_A_PLACE: [(&str, &str); 12] = [
    (
        "classloader classloader-callback consumer-classloader",
        "class loaders have no meaning in Rust",
    ),
    (
        "cache",
        "no results are kept; a filter of your own can keep them",
    ),
    (
        "compatible",
        "it converts values for Java's types, which has no meaning in Rust",
    ),
    ("future", "every call is a future"),
    (
        "http-context http-context-callback rest-extension",
        "it is of Java's server for REST",
    ),
    (
        "hystrix_consumer hystrix_provider sentinel-consumer sentinel-provider",
        "breakers are part of the policies of a call, and limits are `tps`, `execute` and `padasvc`",
    ),
    (
        "monitor metrics-beta",
        "there is no monitor center; use `metrics`",
    ),
    (
        "observationreceiver observationsender profiler-server",
        "it is a profiler of the JVM; use `tracing` and `metrics`",
    ),
    (
        "rpc-exception",
        "an `RpcException` is an error like any other",
    ),
    ("seata", "Seata has no client for Rust"),
    (
        "trace",
        "it is of Dubbo's telnet console; use `accesslog` or `tracing`",
    ),
    (
        "validation",
        "there are no annotations to validate by; check arguments in a filter of your own",
    ),
];
