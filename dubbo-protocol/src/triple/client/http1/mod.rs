//! Calls over HTTP/1.1, where a connection carries one at a time.
//!
//! The connections to one address are one link to those who choose among providers: it is there as long as one of them is.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the link |
//! | `dial` | opening a connection |
//! | `lane` | a connection that a call has to itself |
//! | `driver` | moving the bytes of all of them |
//! | `exchange` | one attempt |
//! | `body`, `received` | what is sent, what is received |
//! | `failure` | what goes wrong, in words |

mod body;
mod dial;
mod driver;
mod exchange;
mod failure;
mod lane;
mod received;

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};

pub(super) use self::received::Received;
use self::{
    body::RequestBody,
    dial::{Dial, Moving},
    driver::Driver,
    lane::Idle,
};
use super::{life::Life, options::ConnectOptions};
use crate::{
    endpoint::{Link, Opened, Opener},
    net::Connector,
};

/// Opens connections to one address.
pub(super) struct Http1 {
    dial: Dial,
    options: ConnectOptions,
}

impl Http1 {
    /// Connects by `connector` to `address`, as `options` say.
    pub(super) fn new(
        connector: Arc<dyn Connector>,
        address: Arc<str>,
        options: ConnectOptions,
    ) -> Self {
        let dial = Dial {
            connector,
            address,
            timeout: options.timeout,
        };
        Self { dial, options }
    }
}

impl Opener for Http1 {
    type Link = Lanes;

    fn address(&self) -> &Arc<str> {
        &self.dial.address
    }

    async fn open(&self) -> Result<Opened<Lanes>, String> {
        let ConnectOptions {
            connections,
            keep_alive,
            ..
        } = self.options;
        let (sender, moving) = self.dial.connect().await?;
        let life = Life::begin(LASTING);
        let (started, more) = mpsc::unbounded_channel();
        let driver = Driver::new(moving, more, Arc::clone(&life));
        let link = Lanes {
            dial: self.dial.clone(),
            trusted: keep_alive.map(|keep_alive| keep_alive.interval),
            idle: Mutex::new(vec![Idle::now(sender)]),
            room: Arc::new(Semaphore::new(connections)),
            started,
            life,
        };
        Ok(Opened {
            link: Arc::new(link),
            driver: Box::pin(driver.run()),
        })
    }
}

/// The connections to one address. Dropping the last handle closes each when its call has ended.
pub(super) struct Lanes {
    dial: Dial,
    /// For how long a connection that was silent is taken to be there.
    trusted: Option<Duration>,
    /// Those without a call, the one that was used last at the end.
    idle: Mutex<Vec<Idle>>,
    /// One place for each that may carry a call.
    room: Arc<Semaphore>,
    /// Whoever opens one more hands it to the driver.
    started: mpsc::UnboundedSender<Moving>,
    life: Arc<Life>,
}

impl Link for Lanes {
    fn is_usable(&self) -> bool {
        self.life.is_usable()
    }

    fn in_flight(&self) -> usize {
        self.life.in_flight()
    }

    fn retire(&self, reason: String) {
        self.life.retire(|| reason);
    }

    async fn retired(&self) {
        self.life.retired().await;
    }

    fn reason(&self) -> Option<&str> {
        self.life.reason()
    }

    fn was_useful(&self) -> bool {
        self.life.was_useful()
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.life.fmt(f)
    }
}

/// Servers close connections of HTTP/1.1 that nobody uses, some after a few seconds: that is no failure.
const LASTING: Duration = Duration::from_secs(1);
