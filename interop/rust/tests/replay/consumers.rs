//! What consumers of other makes ask of our server, whatever the outcome of a call is (`docs/spec/triple.md` §13.1).

use std::collections::HashSet;

use dubbo::Instance;
use interop::contract::{FailRequest, GreetRequest, SleepRequest, fail_request::Kind};
use prost::Message;

use crate::{
    body::envelope,
    raw_client::{RawClient, Until},
    reading::Outcome,
    record::{Half, Headers},
    server_side::serve,
};

/// dubbo-go ignores `grpc-status` beside any other HTTP status, and Dubbo Java ends the call without a word when a
/// reserved name is repeated or the code is 17.
#[tokio::test]
async fn every_outcome_is_told_under_http_status_200_once_and_to_java_without_code_17() {
    let go = [("user-agent", "grpc-go-triple/0.1.0 (go1.26.8)")];
    let java = [("tri-consumer-appname", "java-consumer")];
    for (agent, business) in [(&go, 17), (&java, 2)] {
        let mut caller = Caller::new(agent).await;
        let greet = envelope(&GreetRequest::default().encode_to_vec());
        let sleep = envelope(&SleepRequest { millis: 60_000 }.encode_to_vec());
        for (path, header, data, code) in [
            (GREET, USUAL, greet.clone(), 0),
            (GREET_SERVER_STREAM, USUAL, stream(0), 0),
            (GREET_SERVER_STREAM, USUAL, stream(5), 5),
            (GREET_SERVER_STREAM, USUAL, stream(17), business),
            (FAIL, USUAL, fail(Kind::Status, 5), 5),
            (FAIL, USUAL, fail(Kind::Status, 17), business),
            (FAIL, USUAL, fail(Kind::Plain, 0), business),
            (FAIL, USUAL, fail(Kind::Panic, 0), 13),
            (SLEEP, ("grpc-timeout", "1000u"), sleep, 4),
            ("/no.such.Service/Greet", USUAL, greet.clone(), 12),
            ("/dubbo.interop.v1.Greeter/NoSuch", USUAL, greet.clone(), 12),
            ("/Greet", USUAL, greet.clone(), 12),
            (GREET, ("tri-service-group", "other"), greet.clone(), 12),
            (GREET, ("grpc-encoding", "br"), greet.clone(), 12),
            (
                GREET,
                ("content-type", "application/grpc+thrift"),
                greet.clone(),
                12,
            ),
            (GREET, ("grpc-timeout", "5x"), greet, 3),
            (GREET, USUAL, vec![], 12),
            (GREET, USUAL, b"\0\0\0\0\x09short".to_vec(), 3),
            (GREET, USUAL, b"\0\0\0\0\x01\xff".to_vec(), 3),
            (GREET, USUAL, b"\x01\0\0\0\x01x".to_vec(), 3),
        ] {
            let answer = caller.call(path, header, &data).await;
            let case = format!("{agent:?} {path} {header:?} {data:x?}: {answer:?}");
            assert_eq!(
                answer.headers.text(":status").as_deref(),
                Some("200"),
                "{case}"
            );
            let last = answer.trailers.as_ref().unwrap_or(&answer.headers);
            assert_eq!(
                Outcome::of(last).map(|outcome| outcome.code),
                Some(code),
                "{case}"
            );
            let mut names = HashSet::new();
            for (name, _) in answer
                .headers
                .0
                .iter()
                .chain(answer.trailers.iter().flat_map(|t| &t.0))
            {
                assert!(names.insert(name), "`{name}` is repeated: {case}");
            }
        }
    }
}

/// A caller and the server it calls.
pub(crate) struct Caller {
    client: RawClient,
    /// Serves for as long as it is there.
    _instance: Instance,
    /// What it says on every call.
    usual: Vec<(&'static str, &'static str)>,
}

impl Caller {
    pub(crate) async fn new(own: &[(&'static str, &'static str)]) -> Self {
        let (instance, address) = serve(false).await;
        let mut usual = vec![
            ("content-type", "application/grpc+proto"),
            ("grpc-timeout", "5000000u"),
            ("grpc-accept-encoding", "gzip"),
            USUAL,
        ];
        usual.extend(own);
        Self {
            client: RawClient::connect(address).await,
            _instance: instance,
            usual,
        }
    }

    /// Sends `data` to `path`, with `header` in place of the usual one.
    pub(crate) async fn call(&mut self, path: &str, header: (&str, &str), data: &[u8]) -> Half {
        let mut all = vec![(":path", path), header];
        all.extend(self.usual.iter().filter(|(name, _)| *name != header.0));
        let mut exchange = self.client.call(&Headers::of(&all), data).await;
        exchange.read(Until::End).await.clone()
    }
}

fn stream(fail_code: i32) -> Vec<u8> {
    let request = GreetRequest {
        count: 2,
        fail_after: i32::from(fail_code > 0),
        fail_code,
        ..GreetRequest::default()
    };
    envelope(&request.encode_to_vec())
}

fn fail(kind: Kind, code: i32) -> Vec<u8> {
    let request = FailRequest {
        kind: kind.into(),
        code,
        message: "boom".to_owned(),
        details: vec!["why".to_owned()],
    };
    envelope(&request.encode_to_vec())
}

/// What changes nothing.
pub(crate) const USUAL: (&str, &str) = ("te", "trailers");

const FAIL: &str = "/dubbo.interop.v1.Greeter/Fail";
const GREET: &str = "/dubbo.interop.v1.Greeter/Greet";
const GREET_SERVER_STREAM: &str = "/dubbo.interop.v1.Greeter/GreetServerStream";
const SLEEP: &str = "/dubbo.interop.v1.Greeter/Sleep";
