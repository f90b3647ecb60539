//! `dubbo describe`: the methods and messages of a service.

use dubbo::Instance;
use serde_json::json;

use crate::{
    call::until_interrupted,
    callee::{definition_of, provider},
    console::Console,
    fail::{Class, Failure},
    reach::{self, Reach, Target},
    schema::{self, Reflection},
};

/// Prints the methods of a service and their messages, or which services there are
///
/// A service of a proto file is known by the server's reflection, a Java interface by the definition that its provider has
/// written to the metadata report of the registry.
#[derive(Debug, clap::Args)]
#[command(override_usage = "dubbo describe [OPTIONS] [tri://HOST:PORT] [SERVICE]")]
pub(crate) struct Args {
    /// The address, unless there is a registry; the service, without which the services of the address are listed
    #[arg(required = true, num_args = 1..=2, value_name = "WORDS")]
    words: Vec<String>,
    #[command(flatten)]
    reach: Reach,
    /// Takes the service from this set of descriptors
    #[arg(long, value_name = "FILE")]
    descriptor: Option<std::path::PathBuf>,
}

impl Args {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        let (target, words) = Target::split(&self.words)?;
        let service = match words {
            [] => None,
            [service] => Some(service.as_str()),
            [.., last] => return Err(Failure::usage(format!("`{last}` is one word too many"))),
        };
        if let (Some(file), Some(service)) = (&self.descriptor, service) {
            let pool = schema::of_file(file)?;
            let service = schema::service(&pool, service)?;
            return show(console, &service);
        }
        let instance = self.reach.instance(target.as_ref())?;
        let described = self.describe(console, &instance, target, service);
        let done = until_interrupted(described).await;
        reach::end(instance).await;
        done
    }

    async fn describe(
        &self,
        console: &Console,
        instance: &Instance,
        target: Option<Target>,
        service: Option<&str>,
    ) -> Result<(), Failure> {
        let is_direct = target.is_some();
        let target = match (target, service) {
            (Some(target), _) => target,
            (None, Some(service)) => provider(instance, &self.reach, service).await?,
            (None, None) => {
                return Err(Failure::usage("it is not said which service")
                    .advise("`dubbo ls` lists the services of a registry"));
            }
        };
        let reflection = if target.is_triple() {
            Reflection::of(instance, &self.reach, &target).await?
        } else {
            None
        };
        let Some(service) = service else {
            let reflection = reflection.ok_or_else(|| no_reflection(&target))?;
            let services = reflection.services().await?;
            return console.show(|| json!({ "services": services }), services.join("\n"));
        };
        if let Some(reflection) = &reflection
            && let Some(pool) = reflection.schema(service).await?
        {
            return show(console, &schema::service(&pool, service)?);
        }
        if !is_direct
            && let Some(definition) = definition_of(instance, &self.reach, service).await?
        {
            return console.show(|| definition.json().clone(), definition.text());
        }
        Err(match reflection {
            Some(_) => Failure::new(
                Class::Refused,
                format!("{} has no proto file of {service}", target.as_str()),
            )
            .advise(format!(
                "`dubbo describe {}` lists what is served there; a Java interface is known by the registry, so ask with \
                 `--registry`",
                target.as_str()
            )),
            None => no_reflection(&target),
        })
    }
}

fn show(console: &Console, service: &prost_reflect::ServiceDescriptor) -> Result<(), Failure> {
    console.show(
        || schema::service_json(service),
        schema::service_text(service),
    )
}

fn no_reflection(target: &Target) -> Failure {
    let target = target.as_str();
    let text = format!("{target} does not say what it serves: it has no reflection");
    Failure::new(Class::Refused, text).advise(
        "switch `triple.reflection` on there, or give a set of descriptors with `--descriptor`",
    )
}
