//! Calls of whichever provider a registry has.

use std::{error::Error, io, num::NonZeroU32, thread, time::Duration};

use dubbo::{Status, config::ReferenceConfig};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};

use super::{
    calls::named,
    load::Load,
    rate::{CountRetries, Rate},
};
use crate::{
    Arguments,
    contract::GreeterClient,
    registries,
    user::{USER_SERVICE, UserServiceClient},
};

/// Calls one method of each contract in turn until the standard input ends. Prints a line whenever it is answered by
/// another provider or fails in another way, and the totals at the end. With `--load=MILLIS` it calls that often, once each
/// time, and with `--rate=CALLS` so many times a second, whether the calls before are answered or not; then it tells how the
/// calls went so far.
///
/// # Errors
///
/// What the framework has against the configuration.
pub async fn discover(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let retried = [GREETER, USER].map(CountRetries::of);
    let mut builder = registries::builder(arguments, "interop-rust-consumer")?;
    for count in &retried {
        builder = count.register(builder);
    }
    let instance = builder.build()?;
    let load = arguments.get("load").map(str::parse).transpose()?;
    let load = load.map(Duration::from_millis);
    let rate: Option<NonZeroU32> = arguments.get("rate").map(str::parse).transpose()?;
    // Where nothing is said it retries as often, and waits as long, as the framework does by itself.
    let options = |protocol: &str| {
        let options = ReferenceConfig::new().protocol(protocol).check(false);
        match (load, rate) {
            (_, Some(_)) => options.filter(retried.iter().map(|count| count.filter.to_owned())),
            (Some(_), None) => options.timeout(PROMPT).retries(0),
            (None, None) => options.timeout(PROMPT),
        }
    };
    let greeter: GreeterClient = instance.refer_with(options("tri")).await?;
    let user: UserServiceClient = instance.refer_with(options("dubbo")).await?;
    let greet = async || {
        let answer = greeter.greet(named("dubbo")).await?;
        Ok(answer.into_message().greeting)
    };
    let hello = async || Ok(user.hello("dubbo".to_owned()).await?.into_message());
    let over = end_of_input();
    if let Some(a_second) = rate {
        let [of_greeter, of_user] = &retried;
        let rate = |retried| Rate {
            a_second,
            retried,
            over: over.clone(),
        };
        tokio::join!(rate(of_greeter).run(greet), rate(of_user).run(hello));
    } else if let Some(every) = load {
        let load = |contract, interface| Load {
            contract,
            interface,
            every,
            instance: &instance,
            over: over.clone(),
        };
        tokio::join!(
            load(GREETER, "dubbo.interop.v1.Greeter").run(greet),
            load(USER, USER_SERVICE).run(hello),
        );
    } else {
        tokio::join!(
            keep_calling(GREETER, over.clone(), greet),
            keep_calling(USER, over, hello),
        );
    }
    instance.shutdown(Duration::ZERO).await;
    Ok(())
}

/// Is closed when the standard input ends.
fn end_of_input() -> watch::Receiver<()> {
    let (sender, over) = watch::channel(());
    thread::spawn(move || {
        // However the input ends, its writer is gone.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(sender);
    });
    over
}

async fn keep_calling(
    contract: &str,
    mut over: watch::Receiver<()>,
    call: impl AsyncFn() -> Result<String, Status>,
) {
    let mut tick = interval(CALL_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = Value::Null;
    let (mut calls, mut failed) = (0_u64, 0_u64);
    let say = |mut line: Value, calls: u64, failed: u64| {
        line["contract"] = contract.into();
        line["calls"] = calls.into();
        line["failed"] = failed.into();
        println!("{line}");
    };
    loop {
        tokio::select! {
            _ = over.changed() => break,
            _ = tick.tick() => {}
        }
        calls += 1;
        let now = match call().await {
            Ok(answer) => {
                let by = answer.split_once(" from ").map_or("", |(_, name)| name);
                json!({"event": "answered", "by": by})
            }
            Err(status) => {
                failed += 1;
                json!({"event": "failed", "error": status.message()})
            }
        };
        if now != last {
            say(now.clone(), calls, failed);
            last = now;
        }
    }
    say(json!({"event": "totals"}), calls, failed);
}

const GREETER: &str = "tri/greeter";
const USER: &str = "dubbo/user";
const CALL_EVERY: Duration = Duration::from_millis(100);
/// How long a call may take where one waits for the other.
const PROMPT: Duration = Duration::from_secs(1);
