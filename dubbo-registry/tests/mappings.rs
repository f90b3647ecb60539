//! Many applications that map one interface at a time: the acceptance test 22 of `docs/spec/metadata.md` §9 on what is here
//! to be tested on.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use dubbo_core::{extension::Extensions, metadata::MetadataReport, url::Url};
use dubbo_metadata::mapping::{Registrar, RegistrarOptions};
use dubbo_registry as _;
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_a22_fifty_applications_map_one_interface_in_memory() {
    let report = report(&Url::new("memory", "fifty"));
    fifty_map_one_interface(&[report]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_a22_fifty_applications_map_one_interface_in_files() {
    let folder = format!("dubbo-mappings-{}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    let url = Url::new("file", folder.to_string_lossy());
    let (one, other) = (report(&url), report(&url));
    fifty_map_one_interface(&[Arc::clone(&one), Arc::clone(&other)]).await;
    one.close().await;
    other.close().await;
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[cfg(feature = "nacos")]
mod nacos {
    use dubbo_test::{
        nacos::{ConfigKey, Delays, ScriptedNacos},
        soon,
    };

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn metadata_a22_fifty_applications_map_one_interface_on_nacos() {
        let nacos = start().await;
        let programs: Vec<_> = (0..10).map(|_| report_on(&nacos)).collect();
        fifty_map_one_interface(&programs).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn metadata_a22_nacos_compares_by_the_digest_of_what_was_read() {
        let nacos = start().await;
        let key = ConfigKey::new("", "mapping", "a.B");
        nacos.publish_config(&key, "order-service");
        let registrar = registrar("order", report_on(&nacos));
        registrar.register("a.B").await.expect("in the background");
        soon("both names", async {
            while nacos.config(&key).expect("is there").content != "order-service,order" {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        let request = &nacos.requests("ConfigPublishRequest")[0];
        assert_eq!(request["casMd5"], "be899d1f7f4b1410455bc8ef6b0605f0");
    }

    /// A server that does in a tenth of a second what takes Nacos a second.
    async fn start() -> ScriptedNacos {
        let nacos = ScriptedNacos::start().await;
        nacos.set_delays(Delays::default().faster(10));
        nacos
    }

    /// The report of a program of its own.
    fn report_on(nacos: &ScriptedNacos) -> Arc<dyn MetadataReport> {
        let url = format!("nacos://{}?poll-interval=500ms", nacos.address());
        report(&url.parse().expect("a URL"))
    }
}

/// Each name is there once, soon, and no write has moved one that was there. That 30 s are enough is tested where time is
/// not that of this machine.
async fn fifty_map_one_interface(reports: &[Arc<dyn MetadataReport>]) {
    let start = Instant::now();
    // One name is a part of another.
    let names = ["order".to_owned(), "order-service".to_owned()];
    let names: Vec<_> = names
        .into_iter()
        .chain((2..50).map(|index| format!("app-{index}")))
        .collect();
    let registrars: Vec<_> = names
        .iter()
        .zip(reports.iter().cycle())
        .map(|(name, report)| registrar(name, Arc::clone(report)))
        .collect();
    for registrar in &registrars {
        registrar.register("a.B").await.expect("in the background");
    }
    let want: BTreeSet<_> = names.into_iter().collect();
    let mut seen = Vec::new();
    loop {
        let (mapping, _) = reports[0].mapping("a.B").await.expect("reads");
        seen.push(mapping.applications().to_vec());
        if seen.last().is_some_and(|last| last.len() == want.len()) {
            break;
        }
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "{:?}",
            seen.last()
        );
        sleep(Duration::from_millis(20)).await;
    }
    let last = seen.last().expect("one").clone();
    assert_eq!(last.iter().cloned().collect::<BTreeSet<_>>(), want);
    for earlier in &seen {
        assert!(
            last.starts_with(earlier),
            "{earlier:?} is no beginning of {last:?}"
        );
    }
    for registrar in &registrars {
        registrar.close().await;
    }
}

fn registrar(name: &str, report: Arc<dyn MetadataReport>) -> Arc<Registrar> {
    let reports = vec![("r".to_owned(), report)];
    let seed = name.len() as u64;
    Registrar::new(RegistrarOptions::new(name, reports, seed)).expect("a name")
}

fn report(url: &Url) -> Arc<dyn MetadataReport> {
    let extensions = Extensions::linked().expect("linked");
    let made = extensions.create::<dyn MetadataReport>(url.protocol(), url);
    made.expect("made")
}
