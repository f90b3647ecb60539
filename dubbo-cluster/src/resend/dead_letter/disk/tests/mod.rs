//! Letters in a file.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use dubbo_test::logs::Logs;
use redb::{Database, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _};

use super::{
    super::{
        letter::Reason,
        tests::{letter, letters},
        *,
    },
    *,
};

/// A file that is gone with the value.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let name = format!("dubbo-letters-{}", fastrand::u64(..));
        Self(std::env::temp_dir().join(name).join("letters.redb"))
    }

    fn open(&self, options: DiskOptions) -> Arc<DiskStore> {
        Arc::new(DiskStore::open(&self.0, options).expect("opens"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(folder) = self.0.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

async fn all(store: &DiskStore) -> Vec<Arc<DeadLetter>> {
    store.page(None, usize::MAX).await.expect("reads")
}

#[tokio::test]
async fn what_is_kept_is_there_when_the_file_is_opened_again() {
    for sync in [SyncMode::Always, SyncMode::Batch] {
        let place = Place::new();
        let options = DiskOptions {
            sync,
            ..DiskOptions::default()
        };
        let mut kept: Vec<_> = (0..300)
            .map(|_| Arc::new(letter("First", Reason::Exhausted)))
            .collect();
        kept.sort_by_key(|letter| letter.id);
        let store = place.open(options);
        let puts = kept.iter().map(|letter| store.put(Arc::clone(letter)));
        let puts = futures_util::future::join_all(puts).await;
        assert!(puts.iter().all(Result::is_ok), "{puts:?}");
        assert!(store.remove(kept[7].id).await.expect("writes"));
        assert!(
            !store.remove(kept[7].id).await.expect("writes"),
            "only once"
        );
        kept.remove(7);
        store.close().await;
        let closed = store.put(Arc::clone(&kept[0])).await;
        assert!(matches!(closed, Err(StoreError::Closed { .. })));

        let store = place.open(options);
        assert_eq!(all(&store).await, kept);
        let page = store.page(Some(kept[99].id), 100).await.expect("reads");
        assert_eq!(page, kept[100..200]);
        let one = store.get(kept[5].id).await.expect("reads");
        assert_eq!(one.as_ref(), Some(&kept[5]));
        assert_eq!(store.unreadable(), 0);
    }
}

#[tokio::test]
async fn a_batch_is_on_the_disk_soon_without_anybody_asking() {
    let place = Place::new();
    let options = DiskOptions {
        sync: SyncMode::Batch,
        ..DiskOptions::default()
    };
    let store = place.open(options);
    store
        .put(Arc::new(letter("First", Reason::Budget)))
        .await
        .expect("kept");
    // What a process that dies leaves behind is what a copy of the file has.
    let copy = place.0.with_extension("copy");
    let has_it = async {
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            std::fs::copy(&place.0, &copy).expect("copied");
            if raw_count(&copy) == Some(1) {
                break;
            }
        }
    };
    dubbo_test::soon("the disk", has_it).await;
}

/// How many records the file at `path` has, if it has a table.
fn raw_count(path: &Path) -> Option<u64> {
    let database = Database::open(path).ok()?;
    let read = database.begin_read().ok()?;
    read.open_table(file::LETTERS).ok()?.len().ok()
}

#[tokio::test]
async fn a_full_file_refuses_and_replaces() {
    let place = Place::new();
    let options = DiskOptions {
        capacity: 3,
        ..DiskOptions::default()
    };
    let store = place.open(options);
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(letter("First", Reason::Budget));
        let letter = Arc::new(kept[kept.len() - 1].clone());
        store.put(letter).await.expect("room");
    }
    let full = store.put(Arc::new(letter("First", Reason::Budget))).await;
    assert!(
        matches!(full, Err(StoreError::Full { capacity: 3, .. })),
        "{full:?}"
    );
    kept[1].held = true;
    store
        .put(Arc::new(kept[1].clone()))
        .await
        .expect("it is there");
    let again = store.get(kept[1].id).await.expect("reads");
    assert!(again.expect("is there").held);
}

#[tokio::test]
async fn a_damaged_record_is_left_out_and_told_and_the_others_are_there() {
    let place = Place::new();
    let store = place.open(DiskOptions::default());
    let mut ids = Vec::new();
    for _ in 0..5 {
        let letter = letter("First", Reason::Exhausted);
        ids.push(letter.id);
        store.put(Arc::new(letter)).await.expect("kept");
    }
    ids.sort_unstable();
    store.close().await;
    drop(store);
    {
        let database = Database::open(&place.0).expect("opens");
        let write = database.begin_write().expect("writes");
        {
            let mut table = write.open_table(file::LETTERS).expect("is there");
            let mut bytes = {
                let record = table.get(ids[2].number()).expect("reads");
                record.expect("is there").value().to_vec()
            };
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            table.insert(ids[2].number(), &*bytes).expect("writes");
        }
        write.commit().expect("writes");
    }
    let (logs, _recording) = Logs::record();
    let store = place.open(DiskOptions::default());
    let told = logs.with(&ids[2].to_string());
    assert!(
        told.len() == 1 && told[0].contains("its checksum does not match"),
        "{told:?}"
    );
    assert_eq!(store.unreadable(), 1);
    let left = all(&store).await;
    assert!(
        left.iter()
            .map(|letter| letter.id)
            .eq([0, 1, 3, 4].map(|at| ids[at]))
    );
    let error = store
        .get(ids[2])
        .await
        .expect_err("it is damaged")
        .to_string();
    assert!(
        error.contains("cannot be read: its checksum does not match"),
        "{error}"
    );
    // It is somebody's evidence until that one removes it.
    assert!(store.remove(ids[2]).await.expect("writes"));
}

#[tokio::test]
async fn one_file_is_not_for_two_and_no_file_is_an_error() {
    let place = Place::new();
    let _store = place.open(DiskOptions::default());
    let error = DiskStore::open(&place.0, DiskOptions::default()).expect_err("it is open");
    let text = error.to_string();
    assert!(
        text.contains("letters.redb") && text.contains("cannot share one file"),
        "{text}"
    );
    let folder = std::env::temp_dir();
    DiskStore::open(&folder, DiskOptions::default()).expect_err("a folder");
    let other = place.0.with_extension("txt");
    std::fs::write(&other, "no database").expect("written");
    let error = DiskStore::open(&other, DiskOptions::default()).expect_err("no database");
    assert!(
        error.to_string().contains("has to be moved away"),
        "{error}"
    );
}

#[tokio::test]
async fn letters_of_a_program_are_on_disk_by_its_configuration() {
    let place = Place::new();
    let extensions = dubbo_core::extension::Extensions::linked().expect("no duplicates");
    let options = DeadLetterOptions {
        store: Some("disk".to_owned()),
        path: Some(place.0.display().to_string()),
        ..DeadLetterOptions::default()
    };
    let before = letters();
    before.open(&extensions, &options).expect("opens");
    let kept = letter("First", Reason::Shutdown);
    let id = kept.id;
    before.keep(None, kept).await.expect("kept");
    before.close(tokio::time::Instant::now()).await;
    drop(before);
    let after = DeadLetters::default();
    after.open(&extensions, &options).expect("opens");
    assert_eq!(
        after.get(id).await.expect("reads").expect("is there").id,
        id
    );
}
