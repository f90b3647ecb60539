//! The recorded answers against our client.

use dubbo::{Instance, config::LoadOptions};
use dubbo_test::{
    peer::h2::{Server, code},
    soon,
};
use tokio::sync::oneshot;

use crate::{
    body, by_hand,
    calls::{Plan, headers_alone_tell},
    messages,
    reading::{self, Outcome, attachments},
    record::{End, Half, RECORDINGS, Stream},
    script::{Script, Seen},
    sheet::{Difference, Sheet},
    table::{Findings, Side, TRIPLE},
    values::Thrown,
};

#[tokio::test]
async fn recorded_calls_are_made_and_understood_as_recorded_or_as_the_table_says() {
    let mut findings = Findings::new(Side::Client);
    for recording in RECORDINGS {
        for stream in recording.streams() {
            let differences = Box::pin(soon(&stream.label, replay(&stream))).await;
            findings.add(recording.name, &stream.label, differences);
        }
    }
    findings.hold_against(TRIPLE, |key| {
        !key.is_of_a_connection() && !by_hand::is(&key.file)
    });
}

/// An instance that only calls.
pub(crate) fn consumer() -> Instance {
    let builder = Instance::builder().application("replay-consumer");
    builder.build().expect("a valid configuration")
}

async fn replay(stream: &Stream) -> Vec<Difference> {
    if messages::are_msgpack(stream) {
        return refused();
    }
    let instance = consumer();
    let server = Server::bind().await;
    let (sign, give_up) = oneshot::channel();
    let plan = Plan::of(stream, give_up);
    let (meant, with_text) = meant(stream, plan.ends());
    let (done, refused) = oneshot::channel::<()>();
    let call = async {
        let told = plan.make(&instance, server.address()).await;
        drop(done);
        told
    };
    let serve = async {
        let mut connection = server.accept().await;
        let request = tokio::select! {
            biased;
            request = connection.request() => request,
            // Without having sent anything.
            _ = refused => return (None, None, connection),
        };
        let script = Script::of(stream);
        let (seen, request) = script.play(&mut connection, request, sign).await;
        (Some(seen), Some(request), connection)
    };
    let (told, (seen, _request, _connection)) = tokio::join!(call, serve);

    let recorded = whole(requested(stream, &as_recorded(stream)), meant);
    let request = seen.map_or_else(Sheet::default, |seen| requested(stream, &seen));
    let ours = whole(request, told.sheet(with_text));
    Sheet::differences(&recorded, &ours)
}

/// A client of ours that should send msgpack is none: its configuration is refused by name.
fn refused() -> Vec<Difference> {
    let text = "dubbo: {consumer: {references: {R: {serialization: msgpack}}}}";
    let builder = Instance::load_with(&LoadOptions::text("replay.yaml", text)).expect("YAML");
    let errors = builder.build().map(drop).expect_err("refused").to_string();
    let named =
        "R.serialization: `msgpack` is not supported; `protobuf`, `json` and `hessian2` are";
    assert!(errors.contains(named), "{errors}");
    vec![Difference {
        kind: "configuration".to_owned(),
        shown: errors,
    }]
}

fn whole(request: Sheet, told: Sheet) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.put_sheet("request", request);
    sheet.put_sheet("caller", told);
    sheet
}

fn as_recorded(stream: &Stream) -> Seen {
    Seen {
        request: stream.request.clone(),
        cancelled: match &stream.response.end {
            End::Reset {
                by_client: true,
                code,
            } => {
                assert_eq!(code, "CANCEL", "{}", stream.label);
                Some(code::CANCEL)
            }
            _ => None,
        },
    }
}

/// What a request says, as far as the recording is complete: a client may have been answered too soon to say all, and
/// its end may not have been recorded.
fn requested(stream: &Stream, seen: &Seen) -> Sheet {
    let cut_short =
        (stream.request.end != End::Complete).then(|| body::messages(&stream.request.data).len());
    let mut sheet = reading::request(&stream.path(), &seen.request, cut_short);
    if stream.response.end != End::Open {
        sheet.put("given up", format!("{:?}", seen.cancelled));
    }
    sheet
}

/// What a caller has to be told of a recorded answer (`docs/spec/triple.md` §3.2, §5.3, §6.2, §7.6, §9), and whether its
/// text came from the server.
fn meant(stream: &Stream, ends: bool) -> (Sheet, bool) {
    let response = &stream.response;
    let exception_code = response.headers.text("tri-exception-code");
    let thrown = messages::thrown(&stream.path(), &response.data);
    if let (Some(code), Some(thrown)) = (exception_code, thrown) {
        return (instead_of_a_result(response, &code, &thrown), true);
    }
    let trailers = response.trailers.as_ref();
    let sent = Outcome::of(trailers.unwrap_or(&response.headers));
    let too_long = body::messages(&response.data)
        .iter()
        .any(|m| m.len() > MAX_MESSAGE);
    let code = match (&sent, &response.end) {
        _ if too_long => Some(RESOURCE_EXHAUSTED),
        (Some(outcome), _) => Some(outcome.code),
        _ if !ends => None,
        (
            None,
            End::Reset {
                by_client: false, ..
            },
        ) => Some(INTERNAL),
        (None, _) if response.headers.0.is_empty() => Some(DEADLINE_EXCEEDED),
        (None, _) if headers_alone_tell(stream) => Some(UNIMPLEMENTED),
        (None, _) => panic!("{}: what does it mean?", stream.label),
    };

    let mut sheet = Sheet::default();
    let mut found = attachments(&response.headers);
    found.extend(trailers.map(attachments).unwrap_or_default());
    sheet.put_lists("attachment", &found);
    let with_text = match (sent, code) {
        (Some(outcome), Some(code)) if outcome.code == code && code != 0 => {
            outcome.put_in(&mut sheet);
            true
        }
        (_, Some(0) | None) => false,
        (_, Some(_)) => {
            sheet.put_all("detail", Vec::<String>::new());
            false
        }
    };
    if let Some(code) = code {
        sheet.put("code", code);
    }
    let readable = !too_long && !headers_alone_tell(stream);
    let nothing = Half::default();
    let read = if readable { response } else { &nothing };
    sheet.put_all("message", messages::results(&stream.path(), read));
    (sheet, with_text)
}

/// An exception in the place of a result is the handler's, unless it is the framework's own and its code says more.
fn instead_of_a_result(response: &Half, code: &str, thrown: &Thrown) -> Sheet {
    let framework = thrown.class.ends_with(".RpcException");
    let code = match code.parse().expect("a number") {
        BIZ_EXCEPTION if framework => UNKNOWN,
        BIZ_EXCEPTION => BUSINESS,
        code => code,
    };
    let mut sheet = Sheet::default();
    sheet.put("code", code);
    if framework {
        sheet.put("text", thrown.message.as_deref().unwrap_or_default());
        sheet.put_all("detail", Vec::<String>::new());
    } else {
        sheet.put_thrown(&thrown.class, thrown.message.as_deref());
    }
    let mut found = attachments(&response.headers);
    found.extend(
        response
            .trailers
            .as_ref()
            .map(attachments)
            .unwrap_or_default(),
    );
    sheet.put_lists("attachment", &found);
    sheet.put_all("message", Vec::<String>::new());
    sheet
}

const UNKNOWN: u32 = 2;
const BIZ_EXCEPTION: u32 = 3;
const BUSINESS: u32 = 17;
const DEADLINE_EXCEEDED: u32 = 4;
const RESOURCE_EXHAUSTED: u32 = 8;
const UNIMPLEMENTED: u32 = 12;
const INTERNAL: u32 = 13;

/// What a client takes if it is not told otherwise (§9.2).
const MAX_MESSAGE: usize = 4 * 1024 * 1024;
