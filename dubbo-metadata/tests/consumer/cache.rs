//! What a consumer knows after a restart.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use dubbo_metadata::{cache::Cache, cache::record, model::MetadataInfo};
use tokio::time::{Instant, sleep};

use crate::fakes::{Answer, World, addresses, info, instances};

const STRONG: &str = "222f165004459af76f0540482d98ac81";
const WEAK: &str = "5915580501";

#[tokio::test(start_paused = true)]
async fn metadata_a17_a_restart_knows_strong_revisions_when_nobody_answers() {
    let folder = Folder::new("a17");
    before(&folder, &[STRONG]).await;
    let mut file = folder.read("metadata.v1");
    let json = String::from_utf8(weak_info().to_json().to_vec()).expect("JSON");
    assert!(record::append(&mut file, ["zk1", "app", WEAK, &json]));
    folder.write("metadata.v1", &file);

    for (blocked, at_once) in [(Answer::Refused, true), (Answer::Silence, false)] {
        let (world, cache) = world(&folder);
        world.report.fail("a.B", "connection refused");
        let mut list = instances("app", STRONG, 1, 10);
        list.extend(instances("app", WEAK, 2, 5));
        world.registry.list("app", list);
        for revision in [STRONG, WEAK] {
            world
                .instances
                .answer(&format!("app/{revision}"), blocked.clone());
        }
        let start = Instant::now();
        let mut following = world.follow("a.B").await;
        assert_eq!(following.addresses().len(), 10);
        // Another revision that is asked for is waited for as ever.
        let limit = Duration::from_millis(if at_once { 100 } else { 3_000 });
        assert!(start.elapsed() <= limit, "{:?}", start.elapsed());
        let asked = world.instances.calls();
        assert!(asked.iter().all(|call| call.revision == WEAK), "{asked:?}");
        assert!(!asked.is_empty());
        let step = following.step("metadata");
        assert!(
            step.starts_with(&format!(
                "metadata: 1 of 2 revisions known; revision {WEAK} of app"
            )),
            "{step}"
        );
        let step = following.step("mapping");
        assert!(
            step.starts_with("mapping: a.B was provided by app before"),
            "{step}"
        );
        close(&world, &cache).await;
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_a17_a_damaged_file_loses_what_is_damaged_and_nothing_else() {
    let strong: Vec<_> = (0..4)
        .map(|index| format!("{index}{}", &STRONG[1..]))
        .collect();
    let names: Vec<_> = strong.iter().map(String::as_str).collect();
    let cut = |file: &mut Vec<u8>| file.truncate(file.len() - 1);
    let flip = |file: &mut Vec<u8>| {
        let middle = file.len() / 2;
        file[middle] ^= 1;
    };
    let grow = |file: &mut Vec<u8>| file.extend(b"what is that?");
    let title = |file: &mut Vec<u8>| file.truncate(5);
    let damages: [(&str, Damage<'_>, usize); 4] = [
        ("cut", &cut, 3),
        ("flipped", &flip, 3),
        ("longer", &grow, 4),
        ("title", &title, 0),
    ];
    for (damage, change, left) in damages {
        let folder = Folder::new(&format!("damaged-{damage}"));
        before(&folder, &names).await;
        let mut file = folder.read("metadata.v1");
        change(&mut file);
        folder.write("metadata.v1", &file);

        let (world, cache) = world(&folder);
        world.report.fail("a.B", "connection refused");
        list_all(&world, &names);
        for revision in &strong {
            world
                .instances
                .answer(&format!("app/{revision}"), Answer::Refused);
        }
        let mut following = world.follow("a.B").await;
        let found = following
            .0
            .current()
            .state
            .map_or(0, |state| state.providers.len());
        assert_eq!(found, left, "{damage}");

        // What was lost is fetched and written again.
        for revision in &strong {
            world.instances.serve(info("app", revision, &["a.B:tri"]));
        }
        following.until(4).await;
        close(&world, &cache).await;
        let file = folder.read("metadata.v1");
        let records = record::read::<4>(&file[TITLE.len()..]);
        assert_eq!((records.sound.len(), records.damaged), (4, 0), "{damage}");
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_a23_a_mapping_of_the_last_start_comes_first_and_the_reports_is_added_to_it() {
    let folder = Folder::new("a23");
    let (first, cache) = world(&folder);
    first.report.map("a.B", "C");
    serve(&first, "C", 1, 10);
    first.follow("a.B").await;
    close(&first, &cache).await;

    let (second, cache) = world(&folder);
    serve(&second, "C", 1, 10);
    serve(&second, "D", 2, 5);
    second.report.map("a.B", "C,D");
    second.instances.slow("D/r1", Duration::from_millis(500));
    let mut following = second.follow("a.B").await;
    assert_eq!(following.addresses().len(), 10);
    // What is still unknown of D may be told meanwhile.
    let sizes = sizes_until(&mut following, 15).await;
    assert!(sizes.iter().all(|size| *size == 10), "{sizes:?}");
    following.stays_quiet(Duration::from_mins(2)).await;
    close(&second, &cache).await;

    // Nobody is called C any more.
    let (third, _cache) = world(&folder);
    serve(&third, "C", 1, 10);
    serve(&third, "D", 2, 5);
    third.report.map("a.B", "D");
    let mut following = third.follow("a.B").await;
    sleep(Duration::from_mins(2)).await;
    assert_eq!(following.addresses().len(), 15, "C still serves it");
    third.registry.list("C", Vec::new());
    following.until(5).await;
}

#[tokio::test(start_paused = true)]
async fn changes_of_five_seconds_are_written_together() {
    let folder = Folder::new("together");
    let (world, _cache) = world(&folder);
    let start = Instant::now();
    list_all(&world, &["r1"]);
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    world.report.map("a.B", "app");
    let mut following = world.follow("a.B").await;
    sleep(Duration::from_secs(4)).await;
    list_all(&world, &["r1", "r2"]);
    world.instances.serve(info("app", "r2", &["a.B:tri"]));
    following.until(2).await;
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(!folder.has("metadata.v1"));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(revisions(&folder), ["r1", "r2"]);
    assert!(folder.has("mapping.v1"));

    // What is no news is not written.
    for name in ["metadata.v1", "mapping.v1"] {
        fs::remove_file(folder.0.join(APP).join(name)).expect("it is there");
    }
    list_all(&world, &["r1"]);
    following.until(1).await;
    world.report.map("a.B", "app");
    sleep(Duration::from_mins(1)).await;
    assert!(!folder.has("metadata.v1"));
}

#[tokio::test(start_paused = true)]
async fn one_of_two_writes_and_the_other_one_after_it() {
    let folder = Folder::new("two");
    let (first, first_cache) = world(&folder);
    let (second, second_cache) = world(&folder);
    for (world, revision) in [(&first, "r1"), (&second, "r2")] {
        list_all(world, &[revision]);
        world.instances.serve(info("app", revision, &["a.B:tri"]));
        world.report.map("a.B", "app");
        world.follow("a.B").await;
    }
    sleep(Duration::from_secs(10)).await;
    assert_eq!(revisions(&folder), ["r1"], "the other one only reads");
    close(&first, &first_cache).await;

    list_all(&second, &["r3"]);
    second.instances.serve(info("app", "r3", &["a.B:tri"]));
    second.follow("a.B").await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(revisions(&folder), ["r1", "r2", "r3"], "nothing is lost");
    close(&second, &second_cache).await;
}

#[tokio::test(start_paused = true)]
async fn files_of_another_kind_are_left_alone() {
    let folder = Folder::new("foreign");
    for name in ["metadata.v1", "mapping.v1"] {
        folder.write(name, b"dubbo-rust something 2\nelse");
    }
    before(&folder, &[STRONG]).await;
    for name in ["metadata.v1", "mapping.v1"] {
        assert_eq!(folder.read(name), b"dubbo-rust something 2\nelse");
    }
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_cannot_be_written_is_done_without() {
    let folder = Folder::new("file");
    fs::write(folder.0.join("file"), b"").expect("it can be written");
    let cache = Cache::in_folder(&folder.0.join("file"), APP, 1 << 20);
    let world = World::with(|options| options.cache = Arc::clone(&cache));
    serve(&world, "C", 1, 10);
    world.report.map("a.B", "C");
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 10);
    sleep(Duration::from_mins(1)).await;
    world.registry.list("C", instances("C", "r1", 1, 11));
    assert_eq!(addresses(&following.next().await).len(), 11);
    close(&world, &cache).await;
}

/// What happens to a file.
type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);

/// A start that gets to know the instances at these revisions, one at each, and ends.
async fn before(folder: &Folder, strong: &[&str]) {
    let (world, cache) = world(folder);
    list_all(&world, strong);
    for revision in strong {
        world.instances.serve(info("app", revision, &["a.B:tri"]));
    }
    world.report.map("a.B", "app");
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), strong.len());
    close(&world, &cache).await;
}

fn world(folder: &Folder) -> (World, Arc<Cache>) {
    let cache = Cache::in_folder(&folder.0, APP, 1 << 20);
    let world = World::with(|options| options.cache = Arc::clone(&cache));
    (world, cache)
}

async fn close(world: &World, cache: &Arc<Cache>) {
    world.consumer.close().await;
    cache.close().await;
}

fn list_all(world: &World, revisions: &[&str]) {
    let list = (1..).zip(revisions);
    let list = list.flat_map(|(net, revision)| instances("app", revision, net, 1));
    world.registry.list("app", list.collect());
}

fn serve(world: &World, app: &str, net: u8, count: usize) {
    world.registry.list(app, instances(app, "r1", net, count));
    world.instances.serve(info(app, "r1", &["a.B:tri"]));
}

fn weak_info() -> MetadataInfo {
    info("app", WEAK, &["a.B:tri"])
}

/// How many addresses there are in each state before there are `count`.
async fn sizes_until(following: &mut crate::fakes::Following, count: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    loop {
        match addresses(&following.next().await).len() {
            size if size == count => return sizes,
            size => sizes.push(size),
        }
    }
}

fn revisions(folder: &Folder) -> Vec<String> {
    let file = folder.read("metadata.v1");
    let records = record::read::<4>(&file[TITLE.len()..]);
    assert_eq!(records.damaged, 0);
    let mut revisions: Vec<_> = records
        .sound
        .iter()
        .map(|texts| texts[2].to_owned())
        .collect();
    revisions.sort();
    revisions
}

/// The application that consumes.
const APP: &str = "consumer";

const TITLE: &str = "dubbo-rust metadata 1\n";

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("dubbo-metadata-cache-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join(APP)).expect("a temporary folder can be made");
        Self(folder)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(APP).join(name)).expect("it is there")
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(APP).join(name), bytes).expect("it can be written");
    }

    fn has(&self, name: &str) -> bool {
        Path::exists(&self.0.join(APP).join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that failed has said so already.
        let _ = fs::remove_dir_all(&self.0);
    }
}
