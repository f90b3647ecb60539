//! Which providers a call may go to is said by `router-static.yaml`, or by code, before anything runs.
//!
//! The examples `router-tag` and `router-condition` have rules that come and change while the program runs.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::future::ready;

use dubbo::{
    Instance,
    config::{ConfiguredRule, ReferenceConfig},
};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut urls = Vec::new();
    let mut providers = Vec::new();
    for (city, region) in [("Hangzhou", "hz"), ("Shanghai", "sh"), ("Beijing", "bj")] {
        let greets = move |caller: String| ready(Ok(format!("Hello, {caller}, from {city}!")));
        let (provider, url) = serve("greeters", 0, Answering(greets)).await?;
        providers.push(provider);
        urls.push(format!("{url}&region={region}"));
    }
    let options = || ReferenceConfig::new().url(urls.clone());

    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/router-static.yaml");
    let by_file = Instance::load(file)?.build()?;
    let greeter: GreeterClient = by_file.refer_with(options()).await?;
    say(&greeter, "vip-1", "").await;
    say(&greeter, "gray", "gray").await;
    say(&greeter, "vip-2", "gray").await;

    // The same in code. The key says whom the rule is for, here a service (interface, version and group), and its kind.
    let rule = ConfiguredRule::new(
        "greet.Greeter::.condition-router",
        "conditions: ['=> region=bj']",
    );
    let by_code = Instance::builder().router([rule]).build()?;
    let greeter: GreeterClient = by_code.refer_with(options()).await?;
    say(&greeter, "anybody", "").await;
    Ok(())
}

/// Calls as `user` with a tag, and says who answered.
async fn say(greeter: &GreeterClient, user: &'static str, tag: &'static str) {
    let mut call = greeter.greet(from(user)).attach("user", user);
    if !tag.is_empty() {
        call = call.attach("dubbo.tag", tag);
    }
    match call.await {
        Ok(response) => println!("{}", response.message().greeting),
        Err(status) => println!("{user}: {status}"),
    }
}
