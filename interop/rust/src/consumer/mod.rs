//! The calls that the runner asks for, case by case. It reports and does not judge.

mod calls;
mod cases;
mod messages;
mod outcome;
mod shutdown;
mod streams;

use std::time::Duration;

use dubbo::{Call, Client, Instance, config::ReferenceConfig};
use tokio::{sync::OnceCell, time::Instant};

use crate::{CASE_KEY, contract::GreeterClient};

use self::outcome::Fault;
pub use self::outcome::Report;

/// Calls the provider at one address.
#[derive(Debug)]
pub struct Consumer {
    instance: Instance,
    address: String,
    /// Most cases share one client, and so its connection.
    greeter: OnceCell<GreeterClient>,
}

impl Consumer {
    /// A consumer that has not called anything yet.
    ///
    /// # Errors
    ///
    /// What the framework has against its configuration.
    pub fn new(address: &str) -> Result<Self, dubbo::Error> {
        let instance = Instance::builder()
            .application("interop-rust-consumer")
            .build()?;
        Ok(Self {
            instance,
            address: address.to_owned(),
            greeter: OnceCell::new(),
        })
    }

    /// Runs a case.
    ///
    /// # Errors
    ///
    /// There is no such case.
    pub async fn run(&self, case: &str) -> Result<Report, String> {
        let start = Instant::now();
        let target = Target {
            consumer: self,
            case,
        };
        let outcome = cases::run(&target)
            .await
            .ok_or_else(|| format!("no case named `{case}`"))?;
        Ok(Report::new(case, outcome, start.elapsed()))
    }
}

/// The provider, as one case sees it.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    consumer: &'a Consumer,
    case: &'a str,
}

impl Target<'_> {
    async fn greeter(&self) -> Result<&GreeterClient, Fault> {
        self.consumer
            .greeter
            .get_or_try_init(|| self.refer(|options| options))
            .await
    }

    /// A client whose options differ from the usual ones.
    async fn refer<C: Client>(
        &self,
        change: impl FnOnce(ReferenceConfig) -> ReferenceConfig,
    ) -> Result<C, Fault> {
        let options = ReferenceConfig::new()
            .url([format!("tri://{}", self.consumer.address)])
            .retries(0)
            .timeout(Duration::from_secs(3));
        Ok(self.consumer.instance.refer_with(change(options)).await?)
    }

    /// Says which case a call belongs to.
    fn label<'c, O>(&self, call: Call<'c, O>) -> Call<'c, O> {
        call.attach(CASE_KEY, self.case.to_owned())
    }
}
