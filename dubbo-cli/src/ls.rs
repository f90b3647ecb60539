//! `dubbo ls`: what registries list, and what a process serves and calls.

use std::collections::{BTreeMap, BTreeSet};

use dubbo::{Instance, Url, spi::discovery::ServiceInstance};
use serde_json::{Value, json};

use crate::{
    admin::Admin,
    console::Console,
    fail::Failure,
    reach::{self, Registries},
    table::Table,
};

/// Lists the applications and services of registries, or what a running process serves and calls
///
/// Without `--app` and `--service`, the applications that are registered and the services that are registered by their
/// interfaces.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Lists the instances of this application
    #[arg(long, value_name = "NAME", conflicts_with_all = ["admin", "service"])]
    app: Option<String>,
    /// Lists the providers of this service, `[group/]interface[:version]`
    #[arg(long, value_name = "SERVICE", conflicts_with = "admin")]
    service: Option<String>,
    #[command(flatten)]
    registries: Registries,
    #[command(flatten)]
    admin: Admin,
}

impl Args {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        if self.admin.is_asked() {
            let path = if console.is_json() { "/status" } else { "/ls" };
            return self
                .admin
                .show(console, path, self.registries.timeout)
                .await;
        }
        let instance = self.registries.instance(None)?;
        let listed = match (&self.app, &self.service) {
            (Some(application), _) => instances(console, &instance, application).await,
            (None, Some(service)) => providers(console, &instance, service).await,
            (None, None) => all(console, &instance).await,
        };
        reach::end(instance).await;
        listed
    }
}

/// The applications, then the services that are registered each by itself.
async fn all(console: &Console, instance: &Instance) -> Result<(), Failure> {
    let mut applications = Table::new(["application", "instances", "revisions", "registry"]);
    let mut services = Table::new(["service", "providers", "applications", "registry"]);
    let mut json = Vec::new();
    for registry in instance.registries() {
        let mut found = json!({"registry": registry.address});
        if let Some(discovery) = &registry.applications {
            let mut list = Vec::new();
            for name in discovery.applications().await? {
                let members = discovery.snapshot(&name).await?;
                let revisions = members.iter().filter_map(|one| revision(one));
                let revisions: BTreeSet<_> = revisions.map(short).collect();
                let count = members.iter().count();
                let revisions = revisions.into_iter().collect::<Vec<_>>().join(", ");
                applications.row([&name, &count.to_string(), &revisions, &registry.address]);
                list.push(json!({"application": name, "instances": count}));
            }
            found["applications"] = list.into();
        }
        if let Some(interfaces) = &registry.interfaces {
            let everything = Url::new("consumer", "0.0.0.0").with_params([
                ("interface", "*"),
                ("group", "*"),
                ("version", "*"),
                ("category", "providers"),
            ]);
            let snapshot = interfaces.lookup(&everything).await?;
            let mut list = Vec::new();
            for (service, (count, of)) in by_service(snapshot.providers.iter()) {
                let of = of.into_iter().collect::<Vec<_>>();
                let (number, names) = (count.to_string(), of.join(", "));
                services.row([&service, &number, &names, &registry.address]);
                list.push(json!({"service": service, "providers": count, "applications": of}));
            }
            found["services"] = list.into();
        }
        json.push(found);
    }
    console.show(
        || json!({ "registries": json }),
        format!("{applications}\n\n{services}"),
    )
}

/// The services of these providers, with how many each has, and of which applications.
fn by_service<'u>(
    providers: impl Iterator<Item = &'u Url>,
) -> BTreeMap<String, (usize, BTreeSet<&'u str>)> {
    let mut services: BTreeMap<String, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for provider in providers {
        let service = services.entry(provider.service_key().to_string());
        let (count, applications) = service.or_default();
        *count += 1;
        applications.extend(provider.param("application"));
    }
    services
}

async fn instances(
    console: &Console,
    instance: &Instance,
    application: &str,
) -> Result<(), Failure> {
    let mut table = Table::new(["instance", "state", "weight", "revision", "registry"]);
    let mut json = Vec::new();
    for registry in instance.registries() {
        let Some(discovery) = &registry.applications else {
            continue;
        };
        let members = discovery.snapshot(application).await?;
        for member in &members {
            let revision = revision(member).unwrap_or_default();
            table.row([
                &member.id(),
                state(member),
                &member.weight.to_string(),
                &short(revision),
                &registry.address,
            ]);
            let metadata: serde_json::Map<_, _> = member
                .metadata
                .iter()
                .map(|(key, value)| (key.to_owned(), Value::from(value)))
                .collect();
            json.push(json!({
                "instance": member.id(),
                "healthy": member.healthy,
                "enabled": member.enabled,
                "weight": member.weight,
                "metadata": metadata,
                "registry": registry.address,
            }));
        }
    }
    let is_nobody = json.is_empty();
    let json = || json!({"application": application, "instances": json});
    console.show(json, table)?;
    if is_nobody {
        return Err(Failure::no(format!("{application} has no instance")));
    }
    Ok(())
}

async fn providers(console: &Console, instance: &Instance, service: &str) -> Result<(), Failure> {
    let mut table = Table::new(["provider", "application", "found by", "registry"]);
    let mut json = Vec::new();
    let mut unknown = Vec::new();
    for listed in instance.listed(service).await? {
        let providers = match listed.providers {
            Ok(providers) => providers,
            Err(error) => {
                unknown.push(format!("by {}: {error}", listed.path));
                continue;
            }
        };
        for provider in providers {
            let application = provider.param("application").unwrap_or_default();
            let (url, path) = (provider.origin(), listed.path.to_string());
            table.row([&url, application, &path, &listed.registry]);
            json.push(json!({
                "provider": url,
                "application": application,
                "foundBy": path,
                "registry": listed.registry,
                "service": provider.service_key().to_string(),
            }));
        }
    }
    let is_nobody = json.is_empty();
    let json = || json!({"service": service, "providers": json, "unknown": unknown});
    console.show(json, table)?;
    if !is_nobody {
        return Ok(());
    }
    let why = match &unknown[..] {
        [] => String::new(),
        unknown => format!(" ({})", unknown.join("; ")),
    };
    Err(Failure::no(format!("{service} has no provider{why}"))
        .advise(format!("`dubbo explain {service}` says why, step by step")))
}

fn revision(instance: &ServiceInstance) -> Option<&str> {
    instance.metadata.get("dubbo.metadata.revision")
}

/// As much of a revision as tells it from others.
fn short(revision: &str) -> String {
    revision.chars().take(12).collect()
}

fn state(instance: &ServiceInstance) -> &'static str {
    match (instance.enabled, instance.healthy) {
        (true, true) => "up",
        (true, false) => "unhealthy",
        (false, _) => "disabled",
    }
}
