//! Conditions say which providers a call may go to. They change while the program runs, and can be tried without a call.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::future::ready;

use dubbo::{
    Instance, Url,
    config::ReferenceConfig,
    route::{Request, dry_run},
};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named = |name: &'static str| {
        Answering(move |caller: String| ready(Ok(format!("Hello, {caller}, from {name}!"))))
    };
    let (_hz, hz) = serve("greeters", 0, named("Hangzhou")).await?;
    let (_sh, sh) = serve("greeters", 0, named("Shanghai")).await?;
    let urls = [format!("{hz}&region=hz"), format!("{sh}&region=sh")];
    let consumer = Instance::load(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/router-condition.yaml"
    ))?
    .build()?;
    let options = ReferenceConfig::new().url(urls.clone());
    let greeter: GreeterClient = consumer.refer_with(options).await?;
    let say = async |user: &'static str| {
        let call = greeter.greet(from(user)).attach("user", user);
        match call.await {
            Ok(response) => println!("{}", response.message().greeting),
            Err(status) => println!("{user}: {status}"),
        }
    };

    say("vip-1").await;

    // What another rule would do, before it does.
    let rule = "configVersion: v3.0\nforce: true\nconditions: ['attachments[user]=vip* => region=sh', 'attachments[user]=banned => ']";
    let providers: Vec<Url> = urls
        .iter()
        .map(|url| url.parse())
        .collect::<Result<_, _>>()?;
    let request = Request::new("greet.Greeter", "Greet").attachment("user", "vip-1");
    println!("{}", dry_run(rule, &providers, &request)?);

    // The key is that of the service: interface, version and group.
    consumer
        .rules()
        .put("greet.Greeter::.condition-router", Some(rule));
    say("vip-1").await;
    say("banned").await;
    Ok(())
}
