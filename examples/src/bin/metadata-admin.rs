//! What an operator sees of the metadata of an application, and of its end: `cargo run -p examples --bin metadata-admin`.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{collections::BTreeMap, error::Error, time::Duration};

use dubbo::{
    Instance,
    config::ReferenceConfig,
    metadata::admin::{
        DiffRequest, ListMetadataRequest, MappingsRequest, MetadataAdminClient,
        WatchInstanceMetadataRequest,
    },
};
use examples::{
    Polite,
    greet::GreeterServer,
    users::{UserServiceServer, Users},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/metadata-admin.yaml");
    let shop = Instance::load(file)?
        .provide(GreeterServer::new(Polite))
        .provide(UserServiceServer::new(Users))
        .build()?;
    shop.start().await?;

    // An operator's program knows the address of one instance, and the token.
    let operator = Instance::builder().application("operator").build()?;
    let at = format!("tri://{}", shop.exported()[0].address());
    let admin: MetadataAdminClient = operator
        .refer_with(ReferenceConfig::new().url([at]))
        .await?;

    let call = admin.list_metadata(ListMetadataRequest::default());
    let mut current = BTreeMap::new();
    for registry in call.attach("token", TOKEN).await?.into_message().registries {
        for revision in registry.revisions.into_iter().filter(|one| one.current) {
            let services: BTreeMap<_, _> = revision.services.into_iter().collect();
            let names: Vec<_> = services.into_keys().collect();
            println!(
                "{}: {} under {}",
                registry.registry,
                names.join(", "),
                revision.revision
            );
            current.insert(registry.registry.clone(), revision.revision);
        }
    }

    let (older, newer) = (current["outside"].clone(), current["inside"].clone());
    let call = admin.diff(DiffRequest { older, newer });
    let diff = call.attach("token", TOKEN).await?.into_message().diff;
    println!("what is only inside: {:?}", diff.unwrap_or_default().added);

    let call = admin.mappings(MappingsRequest {});
    for mapped in call
        .attach("token", TOKEN)
        .await?
        .into_message()
        .registrations
    {
        println!(
            "{} in the report of {}: {}",
            mapped.interface, mapped.report, mapped.written
        );
    }

    let call = admin.watch_instance_metadata(WatchInstanceMetadataRequest {
        registry: "outside".to_owned(),
    });
    let mut watch = call.attach("token", TOKEN).await?.into_message();
    let mut ending = None;
    while let Some(event) = watch.message().await? {
        for instance in &event.instances {
            println!("{} has {}:{}", event.registry, instance.host, instance.port);
            // Something to watch: the shop closes.
            let shop = shop.clone();
            let end = async move { shop.shutdown(Duration::from_secs(5)).await };
            ending.get_or_insert_with(|| tokio::spawn(end));
        }
        if event.instances.is_empty() {
            println!("{} has nobody any more", event.registry);
        }
    }
    if let Some(ending) = ending {
        ending.await?;
    }

    let call = admin.list_metadata(ListMetadataRequest::default());
    let refused = call.attach("token", TOKEN).await;
    println!("the shop is closed: {}", refused.is_err());
    operator.shutdown(Duration::from_secs(1)).await;
    Ok(())
}

const TOKEN: &str = "s3cret";
