//! The recorded answers against our client.

use std::time::Duration;

use dubbo_test::{
    peer::dubbo::{Connection, Frame, Server},
    soon,
};
use prost::Message as _;
use tokio::sync::oneshot;

use super::{
    calls::{Call, RECORDINGS, Request, types},
    reading::{has_text, meant, request},
};
use crate::{
    calls::Plan,
    client_side::consumer,
    raw_client::Until,
    sheet::{Difference, Sheet},
    table::{DUBBO, Findings, Side},
    told::words,
    wrapped::Wrapper,
};

#[tokio::test]
async fn recorded_calls_are_made_and_understood_as_recorded_or_as_the_table_says() {
    let mut findings = Findings::new(Side::Client);
    for recording in RECORDINGS {
        for call in recording.calls() {
            // Our client makes no request in another serialization.
            let Some(request) = Request::of(&call.request) else {
                continue;
            };
            let finding = soon(&call.label, Box::pin(replay(&call, &request))).await;
            findings.add(recording.name, &call.label, finding);
        }
    }
    findings.hold_against(DUBBO, |_| true);
}

async fn replay(call: &Call, asked: &Request) -> Vec<Difference> {
    let instance = consumer();
    let server = Server::bind().await;
    let (_patience, give_up) = oneshot::channel();
    let (done, end) = oneshot::channel::<()>();
    let plan = plan(asked, give_up);
    let make = async {
        let told = plan.make(&instance, server.address()).await;
        drop(done);
        told
    };
    let serve = async {
        let mut connection = server.accept().await;
        let mut seen = None;
        tokio::select! {
            biased;
            // It goes on until the caller has what it wants.
            () = answer(&mut connection, call, &mut seen) => {}
            _ = end => {}
        }
        (seen, connection)
    };
    let (told, (seen, _connection)) = tokio::join!(make, serve);

    let with_text = call.answer.as_ref().is_some_and(has_text);
    let (means, text) = call
        .answer
        .as_ref()
        .map_or_else(|| (silence(call), None), meant);
    let mut caller = told.sheet(with_text);
    // What the provider said is quoted.
    if let (Some(text), Some(Err(status))) = (text, &told.outcome)
        && words(status).contains(&text)
    {
        caller.put("text", text);
    }
    let mut recorded = Sheet::default();
    recorded.put_sheet("request", request(&call.request));
    recorded.put_sheet("caller", means);
    let mut ours = Sheet::default();
    ours.put_sheet(
        "request",
        seen.as_ref().map_or_else(Sheet::default, request),
    );
    ours.put_sheet("caller", caller);
    Sheet::differences(&recorded, &ours)
}

/// Answers calls as the recorded provider did, and keeps the first.
async fn answer(connection: &mut Connection, call: &Call, seen: &mut Option<Frame>) {
    while let Some(came) = connection.frame_or_end().await {
        if came.is_heartbeat() {
            connection.send(Frame::answer(&came, 20, *b"N")).await;
            continue;
        }
        if let Some(recorded) = &call.answer {
            let mut answer = Frame::answer(&came, recorded.status, recorded.body.clone());
            answer.flags = recorded.flags;
            connection.send(answer).await;
        }
        seen.get_or_insert(came);
    }
}

fn plan(asked: &Request, give_up: oneshot::Receiver<()>) -> Plan {
    let values = asked.arguments.iter();
    let values = values.map(|value| dubbo::hessian2::to_vec(value).expect("a value"));
    let wrapper = Wrapper {
        serialize_type: "hessian2".to_owned(),
        values: values.collect(),
        types: types(&asked.descriptor),
    };
    let some = |text: &str| (!text.is_empty() && text != "0.0.0").then(|| text.to_owned());
    let timeout = asked.attachment("timeout");
    let timeout = timeout
        .and_then(|millis| millis.parse().ok())
        .filter(|millis| *millis > 0);
    Plan {
        scheme: "dubbo",
        path: format!("/{}/{}", asked.path, asked.method),
        json: false,
        generic: asked.attachment("generic").map(str::to_owned),
        group: asked.attachment("group").and_then(some),
        version: some(&asked.version),
        messages: vec![wrapper.encode_to_vec()],
        attachments: Vec::new(),
        timeout: timeout.map(Duration::from_millis),
        stays_open: false,
        until: Until::End,
        give_up,
    }
}

/// What a caller has to be told when nobody answers: that its time is over, unless it waits for nothing.
fn silence(call: &Call) -> Sheet {
    let mut sheet = Sheet::default();
    if call.request.is_two_way() {
        sheet.put("code", DEADLINE_EXCEEDED);
        sheet.put_all("detail", Vec::<String>::new());
        sheet.put_all("message", Vec::<String>::new());
    } else {
        sheet.put("code", 0);
        sheet.put_all("message", ["null"]);
    }
    sheet
}

const DEADLINE_EXCEEDED: u32 = 4;
