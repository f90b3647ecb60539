//! A wire to a real server that can be cut.

use std::{io, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// Listens for a client of a server, and carries what both say, as long as it is whole.
#[derive(Debug, Clone)]
pub struct Wire(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    port: u16,
    /// Whether it is whole, and how often it was cut.
    state: watch::Sender<(bool, u64)>,
    tasks: Mutex<JoinSet<()>>,
}

impl Wire {
    /// A wire to `server`, which is `host:port`. Clients of some servers use more ports, which are `offsets` away from the
    /// first one; they are carried as well, at the same distance.
    pub async fn to(server: &str, offsets: &[u16]) -> Self {
        let (host, port) = server.rsplit_once(':').expect("`host:port`");
        let port: u16 = port.parse().expect("a port");
        let listeners = listen(offsets).await;
        let first = listeners[0].local_addr().expect("it listens").port();
        let wire = Self(Arc::new(Inner {
            port: first,
            state: watch::Sender::new((true, 0)),
            tasks: Mutex::default(),
        }));
        for (listener, offset) in listeners
            .into_iter()
            .zip(std::iter::once(&0).chain(offsets))
        {
            let server = format!("{host}:{}", port + offset);
            let state = wire.0.state.subscribe();
            wire.0.tasks.lock().spawn(carry(listener, server, state));
        }
        wire
    }

    /// Where clients find the server.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.0.port)
    }

    /// Cuts all connections. Clients may connect again at once.
    pub fn blink(&self) {
        self.0.state.send_modify(|(_, cuts)| *cuts += 1);
    }

    /// Cuts all connections, and takes no new ones for `outage`.
    pub async fn cut(&self, outage: Duration) {
        self.0.state.send_modify(|(whole, cuts)| {
            *whole = false;
            *cuts += 1;
        });
        tokio::time::sleep(outage).await;
        self.0.state.send_modify(|(whole, _)| *whole = true);
    }
}

/// Takes connections and carries each; one that comes while the wire is cut ends at once.
async fn carry(listener: TcpListener, server: String, state: watch::Receiver<(bool, u64)>) {
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let mut state = state.clone();
        let (is_whole, cuts) = *state.borrow_and_update();
        if !is_whole {
            continue;
        }
        let server = server.clone();
        connections.spawn(async move {
            let carried = async {
                let mut server = TcpStream::connect(server).await?;
                copy_bidirectional(&mut client, &mut server).await
            };
            tokio::select! {
                _ = carried => {}
                _ = state.wait_for(|(_, now)| *now > cuts) => {}
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Listens on a port that is free, and on those that are `offsets` away from it.
async fn listen(offsets: &[u16]) -> Vec<TcpListener> {
    loop {
        let first = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = first.local_addr().expect("it listens").port();
        let mut listeners = vec![first];
        for offset in offsets {
            match at(port, *offset).await {
                Ok(listener) => listeners.push(listener),
                Err(_) => break,
            }
        }
        if listeners.len() == offsets.len() + 1 {
            return listeners;
        }
    }
}

async fn at(port: u16, offset: u16) -> io::Result<TcpListener> {
    let port = port
        .checked_add(offset)
        .ok_or(io::ErrorKind::AddrNotAvailable)?;
    TcpListener::bind(("127.0.0.1", port)).await
}
