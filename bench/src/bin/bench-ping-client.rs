//! Calls `ping` over the classic protocol as it is told to on its standard input; `xtask/src/bench/dubbo.rs` has the
//! commands.

use std::{error::Error, sync::Arc};

use bench::{
    clock::Clock,
    commands,
    load::{self, CALLERS, Load},
    ping::PingServiceClient,
};
use dubbo::{Instance, config::ReferenceConfig};
use tokio::task::JoinSet;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let reference = ReferenceConfig::new()
        .url([format!("dubbo://{}", bench::address())])
        .timeout(std::time::Duration::from_secs(10));
    let client: PingServiceClient = runtime.block_on(async {
        let instance = Instance::builder().application("bench").build()?;
        instance.start().await?;
        instance.refer_with(reference).await
    })?;
    let client = Arc::new(client);
    commands::serve(|words| runtime.block_on(round(&client, Load::parse(words)?)))?;
    Ok(())
}

async fn round(client: &Arc<PingServiceClient>, load: Load) -> Result<String, String> {
    let payload = load.payload();
    let clock = Clock::start();
    let mut callers: JoinSet<Result<u64, String>> = JoinSet::new();
    for _ in 0..CALLERS {
        let (client, payload) = (Arc::clone(client), payload.clone());
        callers.spawn(async move {
            let mut calls = 0;
            while clock.elapsed() < load.time {
                let answer = client
                    .ping(payload.clone())
                    .await
                    .map_err(|e| e.to_string())?;
                load::check(answer.message(), &payload)?;
                calls += 1;
            }
            Ok(calls)
        });
    }
    let mut calls = 0;
    while let Some(called) = callers.join_next().await {
        calls += called.map_err(|e| e.to_string())??;
    }
    Ok(format!("{calls} {}", clock.elapsed().as_nanos()))
}
