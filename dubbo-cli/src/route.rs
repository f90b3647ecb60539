//! `dubbo route dry-run`: what a rule would do, before anybody goes by it.

use std::{fs, path::PathBuf};

use dubbo::{Instance, Url, route};
use serde_json::json;

use crate::{
    call::until_interrupted,
    callee::{Attached, split_method},
    console::Console,
    fail::Failure,
    reach::{self, Reach},
};

/// Tries rules that route calls
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    DryRun(DryRun),
}

/// Prints which providers a rule would leave for a call, and what drops the others
///
/// What kind of rule it is is told from its text: a condition rule, a tag rule, an affinity rule, a script or a mesh rule.
/// Providers are given, or taken from registries. Nothing is called. It ends with exit code 1 if the rule leaves nobody.
#[derive(Debug, clap::Args)]
struct DryRun {
    /// The file with the rule
    rule: PathBuf,
    /// The method that is called, `package.Service/Method`
    method: String,
    /// A provider, such as `tri://10.0.0.1:50051/?region=hz`; may be repeated, and is in place of registries
    #[arg(long, value_name = "URL", conflicts_with_all = ["registry", "config"])]
    provider: Vec<String>,
    /// What the consumer says about itself; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    consumer: Vec<(String, String)>,
    /// The host that the consumer is at
    #[arg(long, value_name = "HOST")]
    from: Option<String>,
    /// The text of an argument of the call; may be repeated
    #[arg(long, value_name = "TEXT")]
    arg: Vec<String>,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    attached: Attached,
}

impl Args {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        let Command::DryRun(dry_run) = self.command;
        dry_run.run(console).await
    }
}

impl DryRun {
    async fn run(self, console: &Console) -> Result<(), Failure> {
        let file = self.rule.display();
        let rule = fs::read_to_string(&self.rule)
            .map_err(|error| Failure::usage(format!("cannot read {file}: {error}")))?;
        let (interface, method) = split_method(&self.method)?;
        let providers = self.providers(interface).await?;
        let run = route::dry_run(&rule, &providers, &self.request(interface, method))
            .map_err(|error| Failure::usage(format!("{file} is no rule: {error}")))?;
        let json = || {
            let providers = run.providers.iter().map(
                |outcome| json!({"provider": outcome.provider, "droppedBy": outcome.dropped_by}),
            );
            let steps = run.steps.iter();
            let steps = steps.map(|(what, left)| json!({"step": what, "left": left}));
            json!({
                "kind": format!("{:?}", run.kind).to_lowercase(),
                "providers": providers.collect::<Vec<_>>(),
                "steps": steps.collect::<Vec<_>>(),
            })
        };
        console.show(json, run.to_string().trim_end())?;
        match run.kept().next() {
            Some(_) => Ok(()),
            None => Err(Failure::no("the rule leaves no provider for this call")),
        }
    }

    async fn providers(&self, interface: &str) -> Result<Vec<Url>, Failure> {
        if self.provider.is_empty() {
            let instance = self.reach.instance(None)?;
            let listed = until_interrupted(self.listed(&instance, interface)).await;
            reach::end(instance).await;
            return listed;
        }
        let read = |text: &String| {
            let url: Url = text
                .parse()
                .map_err(|error| Failure::usage(format!("`{text}` is no provider: {error}")))?;
            Ok(url.with_path(interface))
        };
        self.provider.iter().map(read).collect()
    }

    async fn listed(&self, instance: &Instance, interface: &str) -> Result<Vec<Url>, Failure> {
        let key = self.reach.service_key(interface);
        let mut providers: Vec<Url> = Vec::new();
        for listed in instance.listed(&key).await? {
            for url in listed.providers.unwrap_or_default() {
                // One that is found in two ways is one.
                if providers.iter().all(|other| other.origin() != url.origin()) {
                    providers.push(url);
                }
            }
        }
        if providers.is_empty() {
            let failure = Failure::unreachable(format!("no registry lists a provider of {key}"));
            return Err(failure.advise("say `--provider URL` whom the rule would choose among"));
        }
        Ok(providers)
    }

    fn request(&self, interface: &str, method: &str) -> route::Request {
        let mut request = route::Request::new(interface, method);
        let of_reach = [
            ("group", self.reach.group.as_deref()),
            ("version", self.reach.service_version.as_deref()),
        ];
        for (key, value) in of_reach {
            if let Some(value) = value {
                request = request.consumer(key, value);
            }
        }
        for (key, value) in &self.consumer {
            request = request.consumer(key, value);
        }
        if let Some(host) = &self.from {
            request = request.from_host(host);
        }
        for text in &self.arg {
            request = request.argument(text.clone());
        }
        for (name, value) in &self.attached.attachments {
            request = request.attachment(name.clone(), value.clone());
        }
        request
    }
}

/// Reads `KEY=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write `KEY=VALUE`".to_owned()),
    }
}
