//! A port for operators, and who is on it.

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use dubbo_core::invocation::Peer;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Routes, http, telnet};
use crate::net::accept_until;

/// A port that is open for as long as this is there: dropping it closes the port, and hangs up on everybody.
#[must_use = "dropping it closes the port"]
pub struct Listener {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Listener {
    /// Opens `port` of `host`, an address or a name, and answers there by `routes`. Port 0 is a free one.
    ///
    /// # Errors
    ///
    /// The address cannot be bound.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves nothing open.
    pub async fn bind(host: &str, port: u16, routes: Routes) -> io::Result<Self> {
        let listener = TcpListener::bind((host, port)).await?;
        let open = Self {
            address: listener.local_addr()?,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let (stop, tasks) = (open.stop.clone(), open.tasks.clone());
        let routes = Arc::new(routes);
        open.tasks.spawn(async move {
            let stopped = stop.clone().cancelled_owned();
            accept_until(listener, stopped, |stream| {
                let Ok(room) = Arc::clone(&room).try_acquire_owned() else {
                    tracing::debug!(
                        most = MOST_CONNECTIONS,
                        "too many connections for operators: one is closed"
                    );
                    return;
                };
                let routes = Arc::clone(&routes);
                let cut = stop.clone().cancelled_owned();
                tasks.spawn(async move {
                    let _room = room;
                    tokio::select! {
                        () = serve(stream, &routes) => {}
                        () = async { cut.await; sleep(LAST_ANSWERS).await } => {}
                    }
                });
            })
            .await;
        });
        Ok(open)
    }

    /// Where it listens, the port never 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the port, gives what is being answered a moment, and hangs up on everybody.
    ///
    /// # Cancel safety
    ///
    /// It goes on when the future is dropped.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.address).finish()
    }
}

/// Serves one connection, whatever it speaks.
async fn serve(stream: TcpStream, routes: &Arc<Routes>) {
    let ends = stream.peer_addr().and_then(|remote| {
        let local = stream.local_addr()?;
        Ok(Peer::new(remote, local))
    });
    let Ok(peer) = ends else {
        // It is gone already.
        return;
    };
    // Answers are written whole, and few.
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    let speaks_http = match timeout(SILENCE, stream.peek(&mut first)).await {
        Ok(Ok(0) | Err(_)) => return,
        Ok(Ok(_)) => first[0].is_ascii_uppercase(),
        // Somebody waits for a prompt.
        Err(_) => false,
    };
    let remote = peer.remote;
    if speaks_http {
        http::serve(stream, peer, Arc::clone(routes)).await;
    } else if let Some(shell) = routes.lines()
        && let Err(error) = telnet::serve(stream, &peer, &**shell).await
    {
        tracing::debug!(%error, %remote, "a connection of lines broke off");
    }
}

/// So many are talked to at a time: operators, probes and what reads metrics are few.
const MOST_CONNECTIONS: usize = 64;

/// Who says nothing for so long is no caller of HTTP.
const SILENCE: Duration = Duration::from_millis(500);

/// What an answer that is under way may take when the port closes.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
