//! A provider and a consumer of a user: built by `cargo xtask ci outside` on `dubbo` and `dubbo-build` alone.

mod outside {
    dubbo::include_proto!("outside");
}

use std::{error::Error, time::Duration};

use dubbo::{
    Instance, Request, Response, Status,
    config::{LoadOptions, ProtocolConfig, ReferenceConfig},
};
use outside::{PingRequest, PingResponse, Pinger, PingerClient, PingerServer};

struct Echo;

impl Pinger for Echo {
    async fn ping(&self, request: Request<PingRequest>) -> Result<Response<PingResponse>, Status> {
        let text = request.into_message().text;
        Ok(Response::new(PingResponse { text }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let instance = Instance::builder()
        .application("outside")
        .protocol("triple", ProtocolConfig::tri().ip("127.0.0.1").port(0))
        .provide(PingerServer::new(Echo))
        .build()?;
    instance.start().await?;

    let url = format!("tri://{}", instance.exported()[0].address());
    let pinger: PingerClient = instance
        .refer_with(ReferenceConfig::new().url([url]))
        .await?;
    let request = PingRequest {
        text: "from outside".to_owned(),
    };
    let response = pinger.ping(request).await?;
    assert_eq!(response.message().text, "from outside");

    instance.shutdown(Duration::from_secs(5)).await;
    a_registry_that_is_not_built_in_says_which_feature_to_add();
    Ok(())
}

/// Here no other crate switches features on.
fn a_registry_that_is_not_built_in_says_which_feature_to_add() {
    for (registry, feature) in [
        ("zookeeper", "zookeeper"),
        ("nacos", "nacos"),
        ("etcdv3", "etcd"),
    ] {
        let yaml = format!("dubbo: {{registries: {{r: {{address: '{registry}://127.0.0.1:1'}}}}}}");
        let builder = Instance::load_with(&LoadOptions::text("t.yaml", yaml)).expect("is YAML");
        let error = builder.build().expect_err("is not built in").to_string();
        let want = format!(
            "dubbo.registries.r.address: the registry `{registry}` is not built in: \
             add the feature `{feature}` to the dependency `dubbo`; linked: file, memory"
        );
        assert!(error.contains(&want), "{error}");
    }
}
