//! `dubbo mapping`: which applications provide an interface.

use serde_json::json;

use crate::{
    console::Console,
    fail::Failure,
    reach::{self, Registries},
    table::Table,
};

/// Prints which applications provide an interface, as each metadata report has it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The interface
    interface: String,
    #[command(flatten)]
    registries: Registries,
}

impl Args {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        let instance = self.registries.instance(None)?;
        let done = self.show(console, &instance).await;
        reach::end(instance).await;
        done
    }

    async fn show(&self, console: &Console, instance: &dubbo::Instance) -> Result<(), Failure> {
        let mut table = Table::new(["report", "applications"]);
        let mut json = Vec::new();
        let mut is_mapped = false;
        for registry in instance.registries() {
            let Some(report) = registry.report else {
                continue;
            };
            let (mapping, _) = report.mapping(&self.interface).await?;
            is_mapped |= !mapping.is_empty();
            table.row([registry.address.clone(), mapping.applications().join(", ")]);
            json.push(json!({
                "report": registry.address,
                "applications": mapping.applications(),
            }));
        }
        let interface = &self.interface;
        console.show(|| json!({"interface": interface, "reports": json}), table)?;
        if is_mapped {
            return Ok(());
        }
        let failure = Failure::no(format!("{interface} is mapped to no application"));
        Err(failure.advise(
            "its providers may be registered by the interface alone: ask `dubbo ls --service`",
        ))
    }
}
