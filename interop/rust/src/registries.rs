//! The flags that tell a peer where providers and consumers meet.

use std::error::Error;

use dubbo::{Instance, InstanceBuilder, config::LoadOptions};
use serde_json::{Value, json};

use crate::{Arguments, traces};

/// Names of the flags.
pub const FLAGS: [&str; 7] = [
    "registry",
    "registry-address",
    "registry-type",
    "metadata-type",
    "metadata-port",
    "application",
    "retry-mode",
];

/// An instance with the name, the registry and the spans that the flags have. It is configured as programs are, by YAML.
///
/// # Errors
///
/// A flag that belongs to another is missing, or what the framework has against the configuration.
pub fn builder(
    arguments: &Arguments,
    application: &str,
) -> Result<InstanceBuilder, Box<dyn Error>> {
    let name = arguments.get("application").unwrap_or(application);
    let mut configuration = json!({"dubbo": {"application": {"name": name}}});
    let root = &mut configuration["dubbo"];
    if let Some(registry) = arguments.get("registry") {
        meet(root, registry, arguments)?;
    }
    if let Some(otel) = traces::section(arguments)? {
        root["otel"] = otel;
    }
    if let Some(mode) = arguments.get("retry-mode") {
        root["retry"] = json!({"mode": mode});
    }
    // JSON is YAML.
    let options = LoadOptions::text("flags.yaml", configuration.to_string());
    Ok(Instance::load_with(&options)?)
}

/// Adds the registry to the configuration below `root`.
fn meet(root: &mut Value, registry: &str, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let flag = |name: &str| {
        arguments
            .get(name)
            .ok_or_else(|| format!("--{name}=… is missing: --registry needs it"))
    };
    root["application"]["metadata-type"] = flag("metadata-type")?.into();
    if let Some(port) = arguments.get("metadata-port") {
        root["application"]["metadata-service-port"] = port.parse::<u16>()?.into();
    }
    root["registries"] = json!({"meeting": {
        "address": format!("{registry}://{}", flag("registry-address")?),
        "registry-type": flag("registry-type")?,
    }});
    // Every framework's consumers find it in the registry and send it: who did not would see no provider.
    root["metadata"] = json!({"token": "interop"});
    Ok(())
}
