//! A folder of rule files.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, ErrorKind, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::yaml::MAX_BYTES;
use tokio::{
    sync::{mpsc, oneshot},
    time::{MissedTickBehavior, interval},
};

use super::book::Shared;

/// What a look at one file has found.
pub(super) struct Look {
    pub(super) path: PathBuf,
    /// `None`: there is no such file.
    pub(super) text: Option<Arc<str>>,
}

/// Looks at the files in `path` every second, and when somebody asks for it, as long as the book lives.
pub(super) async fn follow(
    path: PathBuf,
    book: Weak<Shared>,
    mut asked: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut complaints = Complaints::default();
    loop {
        let mut waiting = Vec::new();
        tokio::select! {
            _ = ticks.tick() => {}
            ask = asked.recv() => match ask {
                Some(ask) => waiting.push(ask),
                None => return,
            }
        }
        while let Ok(ask) = asked.try_recv() {
            waiting.push(ask);
        }
        let Some(keys) = book.upgrade().map(|book| book.keys()) else {
            return;
        };
        let folder = path.clone();
        let Ok(found) = tokio::task::spawn_blocking(move || look(&folder, keys)).await else {
            return;
        };
        let Some(book) = book.upgrade() else {
            return;
        };
        let mut looks = Vec::new();
        complaints.begin();
        match found {
            Ok(found) => {
                for (key, look) in found {
                    match look {
                        Ok(look) => looks.push((key, look)),
                        Err((file, error)) => complaints.about(file, &error),
                    }
                }
            }
            Err(error) => complaints.about(path.clone(), &error),
        }
        book.hear_files(looks);
        for ask in waiting {
            // Who asked may not wait any more.
            let _ = ask.send(());
        }
    }
}

type Found = Vec<(Arc<str>, Result<Look, (PathBuf, io::Error)>)>;

/// One look at the names there are, and then only at those that matter: there may be a thousand keys and no file.
fn look(folder: &Path, keys: Vec<Arc<str>>) -> io::Result<Found> {
    let names: HashSet<_> = match fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| Ok(entry?.file_name()))
            .collect::<io::Result<_>>()?,
        // A folder that is still to be made has no files.
        Err(error) if error.kind() == ErrorKind::NotFound => HashSet::new(),
        Err(error) => return Err(error),
    };
    let looks = keys.into_iter().map(|key| {
        let name = format!("{key}.yaml");
        // A name from a listing is never a path, whatever a key may hold.
        let path = folder.join(&name);
        let is_there = names.contains(std::ffi::OsStr::new(&name));
        let text = if is_there { read(&path) } else { Ok(None) };
        let look = match text {
            Ok(text) => Ok(Look { path, text }),
            Err(error) => Err((path, error)),
        };
        (key, look)
    });
    Ok(looks.collect())
}

fn read(path: &Path) -> io::Result<Option<Arc<str>>> {
    // A pipe would be waited for without end.
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = File::open(path)?;
    let mut text = String::new();
    let limit = MAX_BYTES as u64;
    file.take(limit + 1).read_to_string(&mut text)?;
    if text.len() > MAX_BYTES {
        let reason = format!("it has more than the {MAX_BYTES} bytes that are read");
        return Err(io::Error::new(ErrorKind::InvalidData, reason));
    }
    Ok(Some(text.into()))
}

/// What was wrong with files in the last look, so that each is warned of once.
#[derive(Default)]
struct Complaints {
    before: HashSet<(PathBuf, String)>,
    now: HashSet<(PathBuf, String)>,
}

impl Complaints {
    fn begin(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    fn about(&mut self, path: PathBuf, error: &io::Error) {
        let complaint = (path, error.to_string());
        if !self.before.contains(&complaint) {
            tracing::warn!(path = %complaint.0.display(), %error, "rules cannot be read; the last good ones stay");
        }
        self.now.insert(complaint);
    }
}

const PERIOD: Duration = Duration::from_secs(1);
