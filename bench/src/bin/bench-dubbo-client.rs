//! Ours, calling over Triple as it is told to on its standard input, with the default filters.

use std::{error::Error, time::Duration};

use bench::calls::{self, Caller};
use bytes::Bytes;
use dubbo::{
    Instance,
    config::{Environment, LoadOptions, ReferenceConfig},
};

#[allow(clippy::pedantic, missing_docs, unreachable_pub)]
mod pb {
    dubbo::include_proto!("dubbo.interop.v1");
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let reference = ReferenceConfig::new()
        .url([format!("tri://{}", bench::address())])
        .timeout(Duration::from_secs(30));
    let client = runtime.block_on(async {
        // The environment may say more, such as what is observed.
        let options = LoadOptions::text("bench.yaml", "dubbo: {}");
        let options = options.environment(Environment::of_process());
        let instance = Instance::load_with(&options)?
            .application("bench")
            .build()?;
        instance.start().await?;
        instance.refer_with(reference).await
    })?;
    calls::serve(&runtime, &Ours(client))?;
    Ok(())
}

#[derive(Clone)]
struct Ours(pb::GreeterClient);

impl Caller for Ours {
    async fn ping(&self, payload: Bytes) -> Result<Bytes, String> {
        let answer = self.0.ping(pb::PingMessage { payload }).await;
        Ok(answer
            .map_err(|error| error.to_string())?
            .into_message()
            .payload)
    }

    async fn stream(&self, name: String, count: u32) -> Result<u32, String> {
        let request = pb::GreetRequest {
            name,
            count: count.cast_signed(),
        };
        let greetings = self.0.greet_server_stream(request).await;
        let mut greetings = greetings.map_err(|error| error.to_string())?.into_message();
        let mut came = 0;
        while let Some(greeting) = greetings.message().await.map_err(|e| e.to_string())? {
            drop(greeting);
            came += 1;
        }
        Ok(came)
    }
}
