//! The thread that has the file.

use std::sync::{
    Arc,
    mpsc::{Receiver, RecvTimeoutError},
};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    super::{
        letter::{DeadLetter, LetterId},
        store::StoreError,
    },
    file::{BATCH, File},
};

/// Where an answer goes.
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the thread is to do.
pub(super) enum Command {
    Close(oneshot::Sender<()>),
    Get {
        id: LetterId,
        reply: Reply<Option<Arc<DeadLetter>>>,
    },
    Page {
        after: Option<LetterId>,
        limit: usize,
        reply: Reply<Vec<Arc<DeadLetter>>>,
    },
    Put {
        id: LetterId,
        bytes: Bytes,
        reply: Reply<()>,
    },
    Remove {
        id: LetterId,
        reply: Reply<bool>,
    },
}

/// A change that is made, and waits to be committed before it is told.
enum Made {
    Put(Reply<()>, Result<(), StoreError>),
    Remove(Reply<bool>, Result<bool, StoreError>),
}

/// Does what it is told until it is closed, or nobody is left to tell it.
pub(super) fn run(mut file: File, commands: &Receiver<Command>) {
    let mut next = None;
    while let Some(command) = next.take().or_else(|| await_next(&mut file, commands)) {
        match command {
            // Answers that nobody waits for any more are nobody's.
            Command::Close(done) => {
                file.close();
                let _ = done.send(());
                return;
            }
            Command::Get { id, reply } => {
                let _ = reply.send(file.get(id));
            }
            Command::Page {
                after,
                limit,
                reply,
            } => {
                let _ = reply.send(file.page(after, limit));
            }
            change @ (Command::Put { .. } | Command::Remove { .. }) => {
                next = together(&mut file, change, commands);
            }
        }
    }
    file.close();
}

/// The next command; `None` when there will be none. What the disk does not have yet, it gets after a while without one.
fn await_next(file: &mut File, commands: &Receiver<Command>) -> Option<Command> {
    if file.is_behind() {
        match commands.recv_timeout(BATCH) {
            Ok(command) => return Some(command),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => file.catch_up(),
        }
    }
    commands.recv().ok()
}

/// Makes `first` and the changes that wait behind it in one commit. The command behind them, which is none.
fn together(file: &mut File, first: Command, commands: &Receiver<Command>) -> Option<Command> {
    let mut made = Vec::new();
    let mut next = None;
    let committed = file.change(|changes| {
        let mut command = Some(first);
        while let Some(change) = command.take() {
            match change {
                Command::Put { id, bytes, reply } => {
                    made.push(Made::Put(reply, changes.put(id, &bytes)));
                }
                Command::Remove { id, reply } => {
                    made.push(Made::Remove(reply, changes.remove(id)));
                }
                other => {
                    next = Some(other);
                    break;
                }
            }
            if made.len() < MOST_TOGETHER {
                command = commands.try_recv().ok();
            }
        }
    });
    for made in made {
        match made {
            Made::Put(reply, result) => {
                let _ = reply.send(committed.clone().and(result));
            }
            Made::Remove(reply, result) => {
                let _ = reply.send(committed.clone().and(result));
            }
        }
    }
    next
}

/// So many changes are committed at once.
const MOST_TOGETHER: usize = 1024;
