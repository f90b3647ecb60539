//! Taking connections in, come what may.

use std::{io, time::Duration};

use tokio::time::Instant;

/// Where connections come from.
pub(crate) trait Accept: Send {
    /// One connection.
    type Connection: Send;

    /// Waits for the next one.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Connection>> + Send;
}

impl Accept for tokio::net::TcpListener {
    type Connection = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<Self::Connection> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }
}

/// Hands every connection to `take`, until `stop` is done.
///
/// An error never ends it: a connection that was gone before it was taken costs nothing, and when the process has no
/// descriptor left for one, that passes.
pub(crate) async fn accept_until<A: Accept>(
    listener: A,
    stop: impl Future<Output = ()>,
    mut take: impl FnMut(A::Connection),
) {
    let mut stop = std::pin::pin!(stop);
    let mut trouble = Trouble::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(connection) => take(connection),
            Err(error) if is_of_one_connection(&error) => {
                tracing::debug!(%error, "a connection was gone before it was accepted");
            }
            Err(error) => {
                if let Some(errors) = trouble.met(Instant::now()) {
                    tracing::warn!(%error, errors, pause = ?PAUSE, "cannot accept connections for now");
                }
                tokio::select! {
                    () = &mut stop => return,
                    () = tokio::time::sleep(PAUSE) => {}
                }
            }
        }
    }
}

/// Errors of a kind of which there may be many and few need to be told.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    told: Option<Instant>,
    /// Since then.
    errors: usize,
}

impl Trouble {
    /// Takes in one more error at `now`: how many there are to tell of, if that is due.
    pub(crate) fn met(&mut self, now: Instant) -> Option<usize> {
        self.errors += 1;
        if self.told.is_some_and(|told| now < told + SILENCE) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.errors))
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

/// Long enough not to burn a processor while there are no descriptors, short enough not to be noticed after.
const PAUSE: Duration = Duration::from_millis(100);
/// How long it is kept quiet about them, once told.
const SILENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use parking_lot::Mutex;

    use super::*;

    /// Gives what it was told to, then waits for ever.
    struct Scripted(Mutex<VecDeque<io::Result<u32>>>);

    impl Accept for Scripted {
        type Connection = u32;

        async fn accept(&self) -> io::Result<u32> {
            let next = self.0.lock().pop_front();
            match next {
                Some(result) => result,
                None => std::future::pending().await,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn errors_delay_but_never_end_accepting() {
        const EMFILE: i32 = 24;
        let listener = Scripted(Mutex::new(VecDeque::from([
            Ok(1),
            Err(io::ErrorKind::ConnectionAborted.into()),
            Ok(2),
            Err(io::Error::from_raw_os_error(EMFILE)),
            Ok(3),
        ])));
        let (taken, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
        let start = Instant::now();
        let stop = async {
            let mut seen = Vec::new();
            while seen.len() < 3 {
                let arrival = arrivals.recv().await.expect("the loop goes on");
                seen.push((arrival, start.elapsed()));
            }
            let none = Duration::ZERO;
            assert_eq!(seen, [(1, none), (2, none), (3, PAUSE)]);
        };
        accept_until(listener, stop, |connection| {
            taken.send(connection).expect("still received");
        })
        .await;
    }

    #[test]
    fn the_first_error_is_told_at_once_and_the_others_together() {
        let start = Instant::now();
        let mut trouble = Trouble::default();
        let told: Vec<_> = (0..=250_u32)
            .filter_map(|n| Some((n, trouble.met(start + PAUSE * n)?)))
            .collect();
        assert_eq!(told, [(0, 1), (100, 100), (200, 100)]);
        assert_eq!(trouble.met(start + Duration::from_hours(1)), Some(51));
    }
}
