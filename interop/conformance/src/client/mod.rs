//! The client under test.

mod call;
mod duplex;
mod outcome;
mod servers;
mod timing;

use std::{error::Error, io, sync::Arc};

use tokio::{
    io::{BufReader, Stdout, stdin, stdout},
    sync::{Mutex, Semaphore},
    task::JoinSet,
};

use self::servers::Servers;
use crate::{
    read,
    suite::{
        ClientCompatRequest, ClientCompatResponse, ClientErrorResult,
        client_compat_response::Result as Told,
    },
    write,
};

/// Reads from standard input which calls to make until there are no more, makes several at once, and tells on standard
/// output what became of each.
///
/// # Errors
///
/// Standard input has something else, or nobody reads what is told.
pub async fn run() -> Result<(), Box<dyn Error>> {
    let mut input = BufReader::new(stdin());
    let output = Arc::new(Mutex::new(stdout()));
    let servers = Arc::new(Servers::default());
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut calls = JoinSet::new();
    while let Some(asked) = read(&mut input).await? {
        let place = Arc::clone(&room).acquire_owned().await?;
        let (servers, output) = (Arc::clone(&servers), Arc::clone(&output));
        calls.spawn(async move {
            let told = answer(&servers, asked, &output).await;
            drop(place);
            told
        });
    }
    while let Some(told) = calls.join_next().await {
        told??;
    }
    Ok(())
}

async fn answer(
    servers: &Servers,
    asked: ClientCompatRequest,
    output: &Mutex<Stdout>,
) -> io::Result<()> {
    let called = match servers.client(&asked).await {
        Ok(client) => call::make(&client, &asked).await,
        Err(message) => Err(message),
    };
    let told = ClientCompatResponse {
        test_name: asked.test_name,
        result: Some(match called {
            Ok(result) => Told::Response(result),
            Err(message) => Told::Error(ClientErrorResult { message }),
        }),
    };
    write(&mut *output.lock().await, &told).await
}

/// More would make calls wait for the processor whose deadlines are part of what is tested.
const AT_ONCE: usize = 16;
