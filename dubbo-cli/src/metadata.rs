//! `dubbo metadata diff`: what differs between two revisions or two instances.

use std::collections::BTreeSet;

use dubbo::{
    Instance,
    config::ReferenceConfig,
    metadata::{
        MetadataInfo, ServiceDiff,
        admin::{DiffRequest, MetadataAdminClient},
    },
};
use serde_json::{Value, json};

use crate::{
    console::Console,
    fail::{Class, Failure},
    reach::{self, Registries, Target},
};

/// Looks at the metadata of applications
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Diff(Diff),
}

/// Prints what differs between what two revisions of an application serve
///
/// With `--app`, the two are revisions or instances, `host:port`, that a registry lists. With `--at`, they are revisions that
/// the process there answers for, which needs `dubbo.metadata.admin`. It ends with exit code 1 if they differ.
#[derive(Debug, clap::Args)]
struct Diff {
    /// The older one; `0` with `--at` stands for nothing at all
    older: String,
    /// The newer one
    newer: String,
    /// The application
    #[arg(long, value_name = "NAME", required_unless_present = "at")]
    app: Option<String>,
    /// The process that is asked
    #[arg(long, value_name = "tri://HOST:PORT", conflicts_with = "app")]
    at: Option<String>,
    /// The `dubbo.metadata.token` of that process
    #[arg(long, requires = "at")]
    token: Option<String>,
    #[command(flatten)]
    registries: Registries,
}

/// What differs, in the form in which it is printed.
struct Differences {
    older: String,
    newer: String,
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<(String, Vec<String>)>,
}

impl Args {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        let Command::Diff(diff) = self.command;
        let target = diff.at.as_deref().map(str::parse::<Target>).transpose()?;
        let instance = diff.registries.instance(target.as_ref())?;
        let found = match (&target, &diff.app) {
            (Some(target), _) => diff.of_process(&instance, target).await,
            (None, application) => {
                let application = application.as_deref().unwrap_or_default();
                diff.of_registry(&instance, application).await
            }
        };
        reach::end(instance).await;
        let found = found?;
        console.show(|| found.to_json(), found.to_text())?;
        if found.is_empty() {
            Ok(())
        } else {
            Err(Failure::no("they differ"))
        }
    }
}

impl Diff {
    /// As a process of this framework says it.
    async fn of_process(&self, instance: &Instance, at: &Target) -> Result<Differences, Failure> {
        let options = ReferenceConfig::new()
            .url([at.as_str()])
            .timeout(self.registries.timeout)
            .retries(0);
        let admin: MetadataAdminClient = instance.refer_with(options).await?;
        let mut call = admin.diff(DiffRequest {
            older: self.older.clone(),
            newer: self.newer.clone(),
        });
        if let Some(token) = &self.token {
            call = call.attach("token", token.clone());
        }
        let answer = call.await.map_err(|status| {
            Failure::from(status).during(&format!("cannot ask {}", at.as_str()))
        })?;
        let diff = answer.into_message().diff.unwrap_or_default();
        let changed = diff.changed.into_iter().map(|(service, change)| {
            let parts = parts(
                (change.port_changed, change.path_changed),
                &change.params_added,
                &change.params_removed,
                &change.params_changed,
            );
            (service, parts)
        });
        let mut changed: Vec<_> = changed.collect();
        changed.sort_unstable();
        Ok(Differences {
            older: diff.older,
            newer: diff.newer,
            added: diff.added,
            removed: diff.removed,
            changed,
        })
    }

    /// As the instances themselves or the metadata reports have it.
    async fn of_registry(
        &self,
        instance: &Instance,
        application: &str,
    ) -> Result<Differences, Failure> {
        let older = info(instance, application, &self.older).await?;
        let newer = info(instance, application, &self.newer).await?;
        let diff = newer.describe(&older);
        let changed = diff.changed.into_iter();
        let changed = changed.map(|(service, change)| (service, parts_of(&change)));
        Ok(Differences {
            older: diff.older,
            newer: diff.newer,
            added: diff.added.into_iter().collect(),
            removed: diff.removed.into_iter().collect(),
            changed: changed.collect(),
        })
    }
}

/// What an instance or a revision serves. A revision need not be that of an instance any more.
async fn info(
    instance: &Instance,
    application: &str,
    which: &str,
) -> Result<MetadataInfo, Failure> {
    let mut known = BTreeSet::new();
    let registries = instance.registries();
    for registry in &registries {
        let Some(discovery) = &registry.applications else {
            continue;
        };
        for member in &discovery.snapshot(application).await? {
            let revision = member.metadata.get("dubbo.metadata.revision");
            // The first letters of a revision are enough, as with commits.
            if member.id() == which
                || revision.is_some_and(|it| which.len() >= 4 && it.starts_with(which))
            {
                return Ok(instance.metadata_of(member).await?);
            }
            known.insert(member.id());
            known.extend(revision.map(str::to_owned));
        }
    }
    for report in registries
        .iter()
        .filter_map(|registry| registry.report.as_ref())
    {
        if let Some(json) = report.app(application, which).await? {
            return MetadataInfo::from_json(&json)
                .map_err(|error| Failure::new(Class::Refused, error.to_string()));
        }
    }
    let known: Vec<_> = known.into_iter().collect();
    let failure = Failure::usage(format!(
        "{application} has neither an instance nor a revision `{which}`"
    ));
    Err(failure.advise(match &known[..] {
        [] => "nobody of this name is registered: `dubbo ls` lists the applications".to_owned(),
        known => format!("it has {}", known.join(", ")),
    }))
}

impl Differences {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    fn to_text(&self) -> String {
        let mut lines = vec![format!("{} -> {}", self.older, self.newer)];
        if self.is_empty() {
            lines.push("  the same services".to_owned());
        }
        lines.extend(self.added.iter().map(|service| format!("+ {service}")));
        lines.extend(self.removed.iter().map(|service| format!("- {service}")));
        for (service, parts) in &self.changed {
            lines.push(format!("~ {service}"));
            lines.extend(parts.iter().map(|part| format!("    {part}")));
        }
        lines.join("\n")
    }

    fn to_json(&self) -> Value {
        let changed: serde_json::Map<_, _> = self
            .changed
            .iter()
            .map(|(service, parts)| (service.clone(), json!(parts)))
            .collect();
        json!({
            "older": self.older,
            "newer": self.newer,
            "added": self.added,
            "removed": self.removed,
            "changed": changed,
        })
    }
}

fn parts_of(change: &ServiceDiff) -> Vec<String> {
    parts(
        (change.port, change.path),
        &change.params_added,
        &change.params_removed,
        &change.params_changed,
    )
}

/// What has changed of one service, one a line.
fn parts<'n>(
    (port, path): (bool, bool),
    added: impl IntoIterator<Item = &'n String>,
    removed: impl IntoIterator<Item = &'n String>,
    changed: impl IntoIterator<Item = &'n String>,
) -> Vec<String> {
    let fields = [(port, "~ port"), (path, "~ path")];
    let fields = fields.into_iter().filter(|(is_other, _)| *is_other);
    let mut parts: Vec<_> = fields.map(|(_, text)| text.to_owned()).collect();
    parts.extend(added.into_iter().map(|name| format!("+ {name}")));
    parts.extend(removed.into_iter().map(|name| format!("- {name}")));
    parts.extend(changed.into_iter().map(|name| format!("~ {name}")));
    parts
}
