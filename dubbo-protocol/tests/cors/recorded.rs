//! What dubbo-go answered to a browser's questions, this server answers too.

use std::sync::Arc;

use dubbo_core::{
    provider::Service,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
};
use serde_json::Value;

use crate::{
    greeter::{Provider, Req, Resp, hello},
    support::{Answer, Caller},
    url,
};

#[tokio::test]
async fn a_browser_is_answered_as_dubbo_go_answers_it() {
    let method = MethodDescriptor::new("Greet", CallKind::Unary);
    let descriptor = ServiceDescriptor::new("dubbo.interop.v1.Greeter", vec![method]);
    let service = Service::builder(Arc::new(descriptor), "Greeter")
        .unary::<Req, Resp, _, _>(0, |request| async move {
            Ok(hello(&request.message().name).into())
        })
        .build();
    let at = url().with_path("dubbo.interop.v1.Greeter");
    let provider = Provider::at(&at, service).await;
    let recording = include_str!("../../../dubbo-test/golden/go/triple-cors.jsonl");
    let lines = recording
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let exchanges: Vec<Value> = lines
        .filter(|line: &Value| line["kind"] == "stream")
        .collect();
    assert_eq!(exchanges.len(), 6);
    for exchange in &exchanges {
        let label = exchange["label"].as_str().expect("a label");
        let request = &exchange["request"];
        let headers = headers(request);
        let of = |name: &str| {
            let found = headers.iter().find(|(key, _)| *key == name);
            found.unwrap_or_else(|| panic!("{label}: no {name}")).1
        };
        let fields: Vec<_> = headers
            .iter()
            .copied()
            .filter(|(name, _)| !name.starts_with(':'))
            .collect();
        let body = request["data_text"].as_str().unwrap_or_default();
        for mut caller in Caller::both(provider.address).await {
            let answer = caller
                .call(of(":method"), of(":path"), &fields, body.to_owned())
                .await;
            compare(label, &answer, &exchange["response"]);
        }
    }
}

/// Compares what is about a browser, and the answer itself. Where dubbo-go refuses without a word, this server says why.
fn compare(label: &str, answer: &Answer, recorded: &Value) {
    let want = headers(recorded);
    let status = answer.status.to_string();
    assert!(want.contains(&(":status", &status)), "{label}: {status}");
    let is_refused = answer.status == 403;
    let is_compared = |name: &str| {
        name.starts_with("access-control-")
            || name == "vary"
            || !is_refused && ["content-type", "content-length"].contains(&name)
    };
    let mut want: Vec<_> = want
        .into_iter()
        .filter(|(name, _)| is_compared(name))
        .collect();
    let mut got: Vec<_> = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().expect("text")))
        .filter(|(name, _)| is_compared(name))
        .collect();
    want.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, want, "{label}");
    let body = recorded["data_text"].as_str().unwrap_or_default();
    if is_refused {
        assert_eq!(
            (body, &*answer.refused().1),
            ("", "permission_denied"),
            "{label}"
        );
    } else {
        assert_eq!(answer.text(), body, "{label}");
    }
}

fn headers(of: &Value) -> Vec<(&str, &str)> {
    let pairs = of["headers"].as_array().expect("headers").iter();
    pairs
        .map(|pair| {
            let text = |at: usize| pair[at].as_str().expect("a text");
            (text(0), text(1))
        })
        .collect()
}
