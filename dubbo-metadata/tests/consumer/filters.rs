//! Plugins that look at lists of instances before anybody else does.

use std::sync::Arc;

use dubbo_core::{
    discovery::{InstanceListFilter, ServiceInstance},
    extension::BoxError,
};

use crate::fakes::{World, addresses, at, info};

/// Leaves out what is marked; does not know what to do with what is odd.
struct Marked;

impl InstanceListFilter for Marked {
    fn filter(&self, _: &str, instances: &mut Vec<Arc<ServiceInstance>>) -> Result<(), BoxError> {
        let is = |instance: &ServiceInstance, key: &str| instance.metadata.contains_key(key);
        let odd = instances.iter().any(|instance| is(instance, "odd"));
        instances.retain(|instance| !is(instance, "marked"));
        if odd {
            return Err("something is odd".into());
        }
        Ok(())
    }
}

fn instance(host: &str, mark: &str) -> ServiceInstance {
    let said = [("dubbo.metadata.revision", "r1"), (mark, "1")];
    at("app", host, 20000, &said)
}

#[tokio::test(start_paused = true)]
async fn each_list_is_filtered_before_it_counts() {
    let world = World::with(|options| {
        options.filters = vec![("marked".to_owned(), Arc::new(Marked))];
    });
    world.report.map("a.B", "app");
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    let list = |marks: [&str; 3]| {
        let hosts = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
        let instances = hosts.into_iter().zip(marks);
        let list = instances.map(|(host, mark)| instance(host, mark)).collect();
        world.registry.list("app", list);
    };
    list(["x", "marked", "marked"]);
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses(), ["10.0.0.1:20000"]);
    assert_eq!(
        following.step("instances"),
        "instances: app has 1; the filter `marked` took out 2 -> 1"
    );

    list(["x", "x", "marked"]);
    assert_eq!(addresses(&following.next().await).len(), 2);
    assert_eq!(
        following.step("instances"),
        "instances: app has 2; the filter `marked` took out 1 -> 2"
    );

    // It fails: the list is as the registry has it.
    list(["x", "odd", "marked"]);
    assert_eq!(addresses(&following.next().await).len(), 3);
    assert_eq!(following.step("instances"), "instances: app has 3 -> 3");

    list(["marked", "marked", "marked"]);
    assert_eq!(addresses(&following.next().await).len(), 0);
    assert_eq!(
        following.step("instances"),
        "instances: app has none; the filter `marked` took out 3 -> 0"
    );
}
