use dubbo_core::{
    cluster::{Cluster, LoadBalance},
    discovery::{InstanceCustomizer, InstanceListFilter},
    extension::Extensions,
    filter::Filter,
    metadata::MetadataParamsFilter,
    protocol::Protocol,
    registry::Registry,
};

use super::*;

mod center;
mod documented;
mod formats;
mod instances;
mod layers;
mod model;
mod page;
mod registries;
mod report;
mod triple_limits;

/// What `load` says about a text: the errors, then the warnings, one a line.
fn report(text: &str) -> String {
    outcome(&load(&LoadOptions::text("t.yaml", text), &linked()))
}

fn outcome(result: &Result<Loaded, ConfigErrors>) -> String {
    let mut lines = match result {
        Ok(_) => Vec::new(),
        Err(errors) => vec![errors.to_string()],
    };
    let warnings = result.iter().flat_map(|loaded| &loaded.warnings);
    lines.extend(warnings.map(|warning| format!("warning: {warning}")));
    lines
        .into_iter()
        .fold(String::new(), |text, line| text + &line + "\n")
}

/// What a text means; nothing may be wrong with it.
fn config(text: &str) -> Config {
    let loaded = load(&LoadOptions::text("t.yaml", text), &linked());
    loaded.unwrap_or_else(|errors| panic!("{errors}")).config
}

/// Plugins by name, none of which is ever made.
fn linked() -> Extensions {
    let mut extensions = Extensions::none();
    for name in ["failfast", "failover"] {
        extensions.register::<dyn Cluster>(name, |_| Err("never made".into()));
    }
    for name in ["random", "roundrobin"] {
        extensions.register::<dyn LoadBalance>(name, |_| Err("never made".into()));
    }
    for name in ["injvm", "tri"] {
        extensions.register::<dyn Protocol>(name, |_| Err("never made".into()));
    }
    for name in ["audit", "echo"] {
        extensions.register::<dyn Filter>(name, |_| Err("never made".into()));
    }
    extensions.register::<dyn MetadataParamsFilter>("quiet", |_| Err("never made".into()));
    extensions.register::<dyn InstanceCustomizer>("zone", |_| Err("never made".into()));
    extensions.register::<dyn InstanceListFilter>("near", |_| Err("never made".into()));
    extensions.register::<dyn Registry>("memory", |_| Err("never made".into()));
    extensions
}
