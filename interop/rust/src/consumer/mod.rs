//! The calls that the runner asks for, case by case. It reports and does not judge.

mod calls;
mod cases;
mod discovery;
mod generic;
mod life;
mod load;
mod messages;
mod outcome;
mod rate;
mod shutdown;
mod streams;
mod text;
mod told;
mod user;
mod user_cases;
mod values;

use std::{collections::HashMap, time::Duration};

use dubbo::{Call, Client, Instance, config::ReferenceConfig, java::GenericClient};
use tokio::{sync::OnceCell, time::Instant};

use crate::{
    Arguments, CASE_KEY,
    contract::GreeterClient,
    user::{USER_SERVICE, UserServiceClient},
};

use self::outcome::Fault;
pub use self::{discovery::discover, outcome::Report, told::obey};

/// Calls the provider, at an address for each protocol.
#[derive(Debug)]
pub struct Consumer {
    instance: Instance,
    addresses: HashMap<String, String>,
    /// Most cases share one client, and so its connection.
    greeter: OnceCell<GreeterClient>,
    users: HashMap<String, OnceCell<UserServiceClient>>,
}

impl Consumer {
    /// A consumer that has not called anything yet.
    ///
    /// # Errors
    ///
    /// What the framework has against its configuration.
    pub fn new(arguments: &Arguments) -> Result<Self, dubbo::Error> {
        let instance = Instance::builder()
            .application("interop-rust-consumer")
            .build()?;
        Ok(Self {
            instance,
            addresses: ["tri", "dubbo"]
                .into_iter()
                .filter_map(|protocol| {
                    let address = arguments.get(protocol)?;
                    Some((protocol.to_owned(), address.to_owned()))
                })
                .collect(),
            greeter: OnceCell::new(),
            users: ["tri", "dubbo"]
                .map(|p| (p.to_owned(), OnceCell::new()))
                .into(),
        })
    }

    /// Runs a case, `PROTOCOL/NAME`.
    ///
    /// # Errors
    ///
    /// There is no such case, or no address for its protocol.
    pub async fn run(&self, label: &str) -> Result<Report, String> {
        let start = Instant::now();
        let (protocol, case) = label.split_once('/').unwrap_or(("", label));
        let address = self
            .addresses
            .get(protocol)
            .ok_or_else(|| format!("no address for `{label}`: give --{protocol}=HOST:PORT"))?;
        let target = Target {
            consumer: self,
            address,
            protocol,
            case,
            label,
        };
        let outcome = match cases::run(&target).await {
            Some(outcome) => Some(outcome),
            None => user_cases::run(&target).await,
        };
        let outcome = outcome.ok_or_else(|| format!("no case named `{label}`"))?;
        Ok(Report::new(label, outcome, start.elapsed()))
    }
}

/// The provider, as one case sees it.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    consumer: &'a Consumer,
    address: &'a str,
    protocol: &'a str,
    case: &'a str,
    /// The two with a slash between them.
    label: &'a str,
}

impl Target<'_> {
    async fn greeter(&self) -> Result<&GreeterClient, Fault> {
        self.consumer
            .greeter
            .get_or_try_init(|| self.refer(|options| options))
            .await
    }

    async fn user(&self) -> Result<&UserServiceClient, Fault> {
        self.consumer.users[self.protocol]
            .get_or_try_init(|| self.refer(|options| options))
            .await
    }

    async fn generic(&self) -> Result<GenericClient, Fault> {
        let instance = &self.consumer.instance;
        Ok(instance.generic_with(USER_SERVICE, self.options()).await?)
    }

    /// A client whose options differ from the usual ones.
    async fn refer<C: Client>(
        &self,
        change: impl FnOnce(ReferenceConfig) -> ReferenceConfig,
    ) -> Result<C, Fault> {
        let options = change(self.options());
        Ok(self.consumer.instance.refer_with(options).await?)
    }

    fn options(&self) -> ReferenceConfig {
        ReferenceConfig::new()
            .url([format!("{}://{}", self.protocol, self.address)])
            .retries(0)
            .timeout(Duration::from_secs(3))
    }

    /// Says which case a call belongs to.
    fn label<'c, O>(&self, call: Call<'c, O>) -> Call<'c, O> {
        call.attach(CASE_KEY, self.label.to_owned())
    }
}
