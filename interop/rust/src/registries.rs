//! The flags that tell a peer where providers and consumers meet.

use std::error::Error;

use dubbo::{Instance, InstanceBuilder, config::LoadOptions};
use serde_json::{Value, json};

use crate::Arguments;

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

/// An instance with the name and the registry that the flags have. It is configured as programs are, by YAML.
///
/// # Errors
///
/// A flag that belongs to another is missing, or what the framework has against the configuration.
pub fn builder(
    arguments: &Arguments,
    application: &str,
) -> Result<InstanceBuilder, Box<dyn Error>> {
    let name = arguments.get("application").unwrap_or(application);
    let Some(registry) = arguments.get("registry") else {
        return Ok(Instance::builder().application(name));
    };
    let flag = |name: &str| {
        arguments
            .get(name)
            .ok_or_else(|| format!("--{name}=… is missing: --registry needs it"))
    };
    let mut application = json!({"name": name, "metadata-type": flag("metadata-type")?});
    if let Some(port) = arguments.get("metadata-port") {
        application["metadata-service-port"] = port.parse::<u16>()?.into();
    }
    let mut configuration: Value = json!({"dubbo": {
        "application": application,
        "registries": {"meeting": {
            "address": format!("{registry}://{}", flag("registry-address")?),
            "registry-type": flag("registry-type")?,
        }},
        // Every framework's consumers find it in the registry and send it: who did not would see no provider.
        "metadata": {"token": "interop"},
    }});
    if let Some(mode) = arguments.get("retry-mode") {
        configuration["dubbo"]["retry"] = json!({"mode": mode});
    }
    // JSON is YAML.
    let options = LoadOptions::text("flags.yaml", configuration.to_string());
    Ok(Instance::load_with(&options)?)
}
