//! Calls with a tag go to the providers with it, others to those without; a rule tags providers while they run.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::future::ready;

use dubbo::{Instance, Status, config::ReferenceConfig};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named = |name: &'static str| {
        Answering(move |caller: String| ready(Ok(format!("Hello, {caller}, from {name}!"))))
    };
    let (_plain, plain) = serve("greeters", 0, named("plain")).await?;
    let (_gray, gray) = serve("greeters", 0, named("gray")).await?;
    let (_late, late) = serve("greeters", 0, named("late")).await?;
    let late_address = late.split(['/', '?']).nth(2).unwrap_or_default().to_owned();

    let consumer =
        Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/router-tag.yaml"))?.build()?;
    // A provider says `tag: gray` in its own configuration, and a registry hands it on as `dubbo.tag`.
    let options = ReferenceConfig::new().url([plain, format!("{gray}&dubbo.tag=gray"), late]);
    let greeter: GreeterClient = consumer.refer_with(options).await?;

    say("gray", &greeter, "gray", false).await?;
    say("unknown", &greeter, "unknown", false).await?;
    say("unknown, forced", &greeter, "unknown", true).await?;

    // As dubbo-admin writes it into a config center, under the key `greeters.tag-router`.
    let rule = format!(
        "configVersion: v3.0\nforce: true\ntags: [{{name: blue, addresses: ['{late_address}']}}]"
    );
    consumer.rules().put("greeters.tag-router", Some(&rule));
    say("blue, by a rule", &greeter, "blue", false).await?;
    Ok(())
}

/// Calls with `tag` and says who answered.
async fn say(what: &str, greeter: &GreeterClient, tag: &str, force: bool) -> Result<(), Status> {
    let call = greeter
        .greet(from("you"))
        .attach("dubbo.tag", tag.to_owned());
    let call = if force {
        call.attach("dubbo.force.tag", "true")
    } else {
        call
    };
    match call.await {
        Ok(response) => println!("{what}: {}", response.message().greeting),
        Err(status) => println!("{what}: {status}"),
    }
    Ok(())
}
