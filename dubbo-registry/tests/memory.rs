//! The memory registry holds under many threads.

use dubbo_core::{registry::Registry as _, url::Url};
use dubbo_registry::memory::MemoryRegistry;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_whole_lists_in_order_while_many_write() {
    let shared = MemoryRegistry::new(Url::new("memory", "busy"));
    let consumer = Url::new("consumer", "c").with_path("a.B");
    let mut subscription = shared.subscribe(&consumer).await.expect("open");
    let writers: Vec<_> = (1..=8_u16)
        .map(|writer| {
            let handle = shared.clone();
            tokio::spawn(async move {
                let stays = Url::new("tri", "p").with_port(writer).with_path("a.B");
                let flaps = stays.with_param("flaps", "true");
                handle.register(&stays).await.expect("open");
                for _ in 0..200 {
                    handle.register(&flaps).await.expect("open");
                    handle.unregister(&flaps).await.expect("open");
                }
                handle
            })
        })
        .collect();
    let (mut epoch, mut settled) = (0, 0);
    while settled < 8 {
        let update = subscription.changed().await.expect("open");
        assert!(update.epoch > epoch, "{} after {epoch}", update.epoch);
        epoch = update.epoch;
        let providers = update.state.expect("never fails").providers;
        let now = providers
            .iter()
            .filter(|url| url.param("flaps").is_none())
            .count();
        assert!(now >= settled, "nobody who stays is ever missing");
        settled = now;
    }
    let mut handles = Vec::new();
    for writer in writers {
        handles.push(writer.await.expect("no panic"));
    }
    let left = shared.lookup(&consumer).await.expect("open").providers;
    assert_eq!(left.len(), 8, "{left:?}");
    drop(handles);
    dubbo_test::soon("handles that are gone show nothing", async {
        while !subscription
            .current()
            .state
            .expect("never fails")
            .providers
            .is_empty()
        {
            subscription.changed().await.expect("open");
        }
    })
    .await;
}
