//! The file itself. The only one that names the `redb` crate.

use std::{
    fmt::Display,
    ops::Bound,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redb::{
    Database, Durability, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _,
    Table, TableDefinition,
};
use tokio::time::Instant;

use super::{
    super::{
        letter::{DeadLetter, LetterId},
        options::SyncMode,
        store::StoreError,
    },
    DiskOptions, NAME, failed,
};

/// Letters by id, encoded.
pub(super) const LETTERS: TableDefinition<'_, u128, &[u8]> = TableDefinition::new("dead-letters");

/// A database in a file.
pub(super) struct File {
    database: Database,
    path: PathBuf,
    options: DiskOptions,
    /// Since when there is something that the disk may not have yet.
    behind_since: Option<Instant>,
    unreadable: Arc<AtomicU64>,
}

impl File {
    pub(super) fn open(
        path: &Path,
        options: DiskOptions,
        unreadable: Arc<AtomicU64>,
    ) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| failed(path, &format!("no folder for it: {error}")))?;
        }
        let database = Database::create(path).map_err(|error| {
            failed(
                path,
                &format!("{error}; two programs or instances cannot share one file, and one that is damaged has to be moved away"),
            )
        })?;
        let file = Self {
            database,
            path: path.to_owned(),
            options,
            behind_since: None,
            unreadable,
        };
        file.look_over()?;
        Ok(file)
    }

    /// Makes the table, and counts what cannot be read in it.
    fn look_over(&self) -> Result<(), StoreError> {
        let made = self.database.begin_write().map_err(|e| self.failed(&e))?;
        made.open_table(LETTERS).map_err(|e| self.failed(&e))?;
        made.commit().map_err(|e| self.failed(&e))?;
        let read = self.database.begin_read().map_err(|e| self.failed(&e))?;
        let letters = read.open_table(LETTERS).map_err(|e| self.failed(&e))?;
        let mut unreadable = 0;
        for record in letters.iter().map_err(|e| self.failed(&e))? {
            let (id, bytes) = record.map_err(|e| self.failed(&e))?;
            if let Err(error) = DeadLetter::decode(bytes.value()) {
                unreadable += 1;
                let id = LetterId::of_number(id.value());
                tracing::error!(path = %self.path.display(), %id, %error, "a dead letter cannot be read; it is left out");
            }
        }
        self.unreadable.store(unreadable, Ordering::Relaxed);
        metrics::counter!("dubbo_dead_letters_unreadable_total", "store" => NAME)
            .increment(unreadable);
        Ok(())
    }

    /// Whether there is something that the disk may not have yet.
    pub(super) fn is_behind(&self) -> bool {
        self.behind_since.is_some()
    }

    /// Makes changes in one commit; without an error they are kept as [`DiskOptions::sync`] says.
    pub(super) fn change(
        &mut self,
        make: impl FnOnce(&mut Changes<'_, '_>),
    ) -> Result<(), StoreError> {
        let now = Instant::now();
        let waits = match (self.options.sync, self.behind_since) {
            (SyncMode::Always, _) => false,
            (SyncMode::Batch, None) => true,
            (SyncMode::Batch, Some(since)) => now < since + BATCH,
        };
        let mut commit = self.database.begin_write().map_err(|e| self.failed(&e))?;
        if waits {
            let durability = commit.set_durability(Durability::None);
            durability.map_err(|e| self.failed(&e))?;
        }
        {
            let table = commit.open_table(LETTERS).map_err(|e| self.failed(&e))?;
            make(&mut Changes { table, file: self });
        }
        commit.commit().map_err(|e| self.failed(&e))?;
        self.behind_since = waits.then(|| self.behind_since.unwrap_or(now));
        Ok(())
    }

    /// Has the disk get all that it does not have yet. What fails is tried again with the next commit.
    pub(super) fn catch_up(&mut self) {
        if !self.is_behind() {
            return;
        }
        let caught_up = self
            .database
            .begin_write()
            .map_err(|e| self.failed(&e))
            .and_then(|commit| commit.commit().map_err(|e| self.failed(&e)));
        match caught_up {
            Ok(()) => self.behind_since = None,
            Err(error) => tracing::error!(%error, "dead letters are not on the disk yet"),
        }
    }

    pub(super) fn get(&self, id: LetterId) -> Result<Option<Arc<DeadLetter>>, StoreError> {
        let read = self.database.begin_read().map_err(|e| self.failed(&e))?;
        let letters = read.open_table(LETTERS).map_err(|e| self.failed(&e))?;
        let record = letters.get(id.number()).map_err(|e| self.failed(&e))?;
        let Some(record) = record else {
            return Ok(None);
        };
        match DeadLetter::decode(record.value()) {
            Ok(letter) => Ok(Some(Arc::new(letter))),
            Err(error) => Err(self.failed(&format!("the letter {id} cannot be read: {error}"))),
        }
    }

    pub(super) fn page(
        &self,
        after: Option<LetterId>,
        limit: usize,
    ) -> Result<Vec<Arc<DeadLetter>>, StoreError> {
        let read = self.database.begin_read().map_err(|e| self.failed(&e))?;
        let letters = read.open_table(LETTERS).map_err(|e| self.failed(&e))?;
        let from = match after.map(LetterId::number) {
            Some(number) => Bound::Excluded(number),
            None => Bound::Unbounded,
        };
        let records = letters
            .range::<u128>((from, Bound::Unbounded))
            .map_err(|e| self.failed(&e))?;
        let mut page = Vec::new();
        let mut unreadable = 0;
        for record in records {
            if page.len() == limit {
                break;
            }
            let (_, bytes) = record.map_err(|e| self.failed(&e))?;
            match DeadLetter::decode(bytes.value()) {
                Ok(letter) => page.push(Arc::new(letter)),
                // They have been told of when the file was opened.
                Err(_) => unreadable += 1,
            }
        }
        if unreadable > 0 {
            tracing::debug!(path = %self.path.display(), unreadable, "dead letters were left out");
        }
        Ok(page)
    }

    /// Has the disk get everything, and lets go of the file.
    pub(super) fn close(mut self) {
        self.catch_up();
    }

    fn failed(&self, error: &dyn Display) -> StoreError {
        failed(&self.path, &error.to_string())
    }
}

/// Changes on their way into one commit.
pub(super) struct Changes<'f, 't> {
    table: Table<'t, u128, &'static [u8]>,
    file: &'f File,
}

impl Changes<'_, '_> {
    pub(super) fn put(&mut self, id: LetterId, bytes: &[u8]) -> Result<(), StoreError> {
        let failed = |error: redb::StorageError| self.file.failed(&error);
        let capacity = self.file.options.capacity.max(1);
        let held = self.table.len().map_err(failed)?;
        if held >= capacity && self.table.get(id.number()).map_err(failed)?.is_none() {
            return Err(StoreError::Full {
                store: NAME.to_owned(),
                capacity: usize::try_from(capacity).unwrap_or(usize::MAX),
            });
        }
        self.table.insert(id.number(), bytes).map_err(failed)?;
        Ok(())
    }

    pub(super) fn remove(&mut self, id: LetterId) -> Result<bool, StoreError> {
        let removed = self.table.remove(id.number());
        let was_there = removed.map(|record| record.is_some());
        was_there.map_err(|error| self.file.failed(&error))
    }
}

/// So long a batch takes at most.
pub(super) const BATCH: Duration = Duration::from_millis(10);
