//! The client against members that are played, on paused time.

mod member;
mod requests;
mod session;
mod watches;

use std::{sync::Arc, time::Duration};

use dubbo_core::{registry::RegistryError, url::Url};
use tokio::{sync::Notify, time::timeout};

use self::member::World;
use super::{Connection, Options};
use crate::backend::{Hint, Session};

/// A client of `world` at `url`.
fn connection(world: &Arc<World>, url: &str) -> Connection {
    let url: Url = url.parse().expect(url);
    let options = Options::of_url(&url).expect("valid");
    Connection::over(options, world.dial())
}

/// Waits until the session is up: its number, and that of the connection.
async fn up(connection: &Connection) -> (u64, u64) {
    let mut sessions = connection.session();
    let up = sessions.wait_for(|state| matches!(state, Session::Up { .. }));
    let state = timeout(LONG, up).await.expect("is up").expect("goes on");
    let Session::Up {
        session,
        connection,
    } = *state
    else {
        unreachable!("it was waited for");
    };
    (session, connection)
}

/// Waits until the session is down for a reason.
async fn down(connection: &Connection) -> Arc<RegistryError> {
    let mut sessions = connection.session();
    let down = sessions.wait_for(|state| matches!(state, Session::Down(Some(_))));
    let state = timeout(LONG, down)
        .await
        .expect("is down")
        .expect("goes on");
    let Session::Down(Some(error)) = &*state else {
        unreachable!("it was waited for");
    };
    Arc::clone(error)
}

fn hint() -> (Hint, Arc<Notify>) {
    let notify = Arc::new(Notify::new());
    (Hint(Arc::clone(&notify)), notify)
}

/// Longer than anything takes here.
const LONG: Duration = Duration::from_mins(2);
