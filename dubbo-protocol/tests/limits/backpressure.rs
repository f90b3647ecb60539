//! Who is not read from waits, and holds nothing: a gibibyte either way takes the memory of its windows.

use std::{future::poll_fn, time::Duration};

use bytes::Bytes;
use dubbo_test::attack::Caller;
use tokio::time::timeout;

use crate::{
    process::Server,
    service::{ECHO, PARCEL, PROGRESS, STEP, STREAM, TAKE, number, request},
};

/// How many parcels are a gibibyte.
const ALL: usize = (1 << 30) / PARCEL;

async fn ask(caller: &Caller, path: &str, value: u64) -> u64 {
    let answer = caller.call(path, &[], request(value, "")).await;
    let answer = answer.expect("other calls go on");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    number(&answer.body)
}

#[tokio::test]
async fn a_handler_makes_no_more_than_its_caller_takes() {
    let server = Server::start("").await;
    let attack = async {
        let caller = Caller::connect(server.address).await;
        let mut opened = caller.open(STREAM, &[]).await.expect("open");
        let sent = opened.body.send_data(request(ALL as u64, ""), true);
        sent.expect("open");
        let mut parcels = opened.answer.await.expect("answered").into_body();
        let mut read = 0;
        for _ in 0..5 {
            while read < PARCEL {
                let chunk = parcels.data().await.expect("more").expect("open");
                let released = parcels.flow_control().release_capacity(chunk.len());
                released.expect("it was received");
                read += chunk.len();
            }
            read -= PARCEL;
            // On the same connection.
            assert_eq!(ask(&caller, ECHO, 9).await, 9);
        }
        let made = ask(&caller, PROGRESS, 0).await;
        assert!((5..40).contains(&made), "{made} parcels");
    };
    server.under(attack).await.within(4 << 20);
}

#[tokio::test]
async fn a_caller_sends_no_more_than_the_handler_takes() {
    let server = Server::start("").await;
    let attack = async {
        let caller = Caller::connect(server.address).await;
        let mut opened = caller.open(TAKE, &[]).await.expect("open");
        let parcel = request(0, Bytes::from(vec![0; PARCEL]));
        let mut sent = 0;
        for taken in [0, 30, 60] {
            if taken > 0 {
                ask(&caller, STEP, 30).await;
            }
            // Until there is no room for more.
            loop {
                opened.body.reserve_capacity(parcel.len());
                let room = poll_fn(|cx| opened.body.poll_capacity(cx));
                let Ok(room) = timeout(STUCK, room).await else {
                    break;
                };
                let room = room.expect("open").expect("open");
                if room >= parcel.len() {
                    opened.body.send_data(parcel.clone(), false).expect("open");
                    sent += 1;
                }
            }
            assert!(sent < ALL);
            assert!((taken..taken + 40).contains(&sent), "{sent} of {taken}");
            assert_eq!(ask(&caller, PROGRESS, 0).await, taken as u64);
        }
    };
    server.under(attack).await.within(8 << 20);
}

/// How long there is no room before there is none.
const STUCK: Duration = Duration::from_millis(300);
