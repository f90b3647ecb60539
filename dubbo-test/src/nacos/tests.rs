//! What nacos-sdk does not show: the wire, and what it never sends.

use prost::Message as _;
use serde_json::{Value, json};

use super::{Instance, ScriptedNacos, ServiceKey, wire::Payload};
use crate::peer::h2::{Call, Client, envelope, kind};

#[tokio::test]
async fn the_bidirectional_stream_has_no_headers_before_its_first_message() {
    let nacos = ScriptedNacos::start().await;
    let mut client = Client::connect(nacos.grpc_address()).await;
    let mut stream = set_up(&nacos, &mut client).await;
    ask(&mut client, "HealthCheckRequest", &json!({})).await;
    let key = json!({"groupName": "G", "serviceName": "s", "subscribe": true});
    ask(&mut client, "SubscribeServiceRequest", &key).await;
    let mut answered = Vec::new();
    while answered.last() != Some(&1) {
        let headers = client.frame("headers", |frame| frame.kind == kind::HEADERS);
        answered.push(headers.await.stream);
    }
    // Headers and trailers of the two calls, and only then of the stream, which came first.
    assert_eq!(answered, [3, 3, 5, 5, 1]);
    assert_eq!(stream.response().await.status, 200);
    let push = decode(&stream.next_data().await.expect("the push"));
    assert_eq!(push.kind(), "NotifySubscriberRequest");
    assert_eq!(push.body()["serviceInfo"]["hosts"], json!([]));
}

#[tokio::test]
async fn requests_are_refused_in_the_order_of_nacos() {
    let nacos = ScriptedNacos::start().await;
    let mut client = Client::connect(nacos.grpc_address()).await;
    let empty = json!({});
    let check = ask(&mut client, "ServerCheckRequest", &empty).await;
    assert_eq!(check.body()["resultCode"], 200, "even before the set-up");
    for (kind, body, code, text) in [
        ("OtherRequest", &empty, 302, "RequestHandler Not Found"),
        (
            "InstanceRequest",
            &empty,
            301,
            "Connection is unregistered.",
        ),
    ] {
        refused(&ask(&mut client, kind, body).await, [500, code], text);
    }
    let _stream = set_up(&nacos, &mut client).await;
    let unread = ask(&mut client, "InstanceRequest", &empty).await;
    refused(
        &unread,
        [500, 502],
        "missing field `type` at line 1 column 2",
    );
    let blank =
        json!({"groupName": " ", "serviceName": "s", "type": "registerInstance", "instance": {}});
    let blank = ask(&mut client, "InstanceRequest", &blank).await;
    let text = "Param 'groupName' is illegal, groupName is blank";
    refused(&blank, [500, 500], text);
    let other = json!({"groupName": "G", "serviceName": "s", "type": "other", "instance": {}});
    let other = ask(&mut client, "InstanceRequest", &other).await;
    refused(&other, [400, 400], "Unsupported request type other");
}

#[tokio::test]
async fn messages_beyond_ten_mebibytes_are_refused_by_grpc() {
    let nacos = ScriptedNacos::start().await;
    let mut client = Client::connect(nacos.grpc_address()).await;
    let mut call = client.post("/Request/request", &[]).await;
    let mut head = vec![0];
    head.extend(10_485_761_u32.to_be_bytes());
    call.data(head, false);
    let response = call.response().await;
    assert_eq!(response.headers["grpc-status"], "8");
    assert_eq!(
        response.headers["grpc-message"],
        "gRPC%20message%20exceeds%20maximum%20size%2010485760%3A%2010485761"
    );
}

#[tokio::test]
async fn a_test_says_what_is_refused_next() {
    let nacos = ScriptedNacos::start().await;
    let mut client = Client::connect(nacos.grpc_address()).await;
    let _stream = set_up(&nacos, &mut client).await;
    nacos.refuse_next("HealthCheckRequest", 503, "busy");
    let mut codes = Vec::new();
    for _ in 0..2 {
        let answer = ask(&mut client, "HealthCheckRequest", &json!({})).await;
        assert_eq!(answer.kind(), "HealthCheckResponse");
        codes.push(answer.body()["errorCode"].clone());
    }
    assert_eq!(codes, [503, 0]);
}

#[tokio::test]
async fn a_client_that_starts_with_the_server_is_turned_away() {
    let nacos = ScriptedNacos::start().await;
    nacos.stop().await;
    nacos.starting().await;
    let mut client = Client::connect(nacos.grpc_address()).await;
    let mut stream = client.post("/BiRequestStream/requestBiStream", &[]).await;
    stream.data(encode("ConnectionSetupRequest", &json!({})), false);
    client.closed().await;
}

#[tokio::test]
async fn what_a_client_registered_goes_with_its_connection() {
    let nacos = ScriptedNacos::start().await;
    let service = ServiceKey::new("ns", "G", "s");
    let other = nacos.client();
    other.register(&service, [Instance::at("h", 1)]);
    let mut client = Client::connect(nacos.grpc_address()).await;
    let _stream = set_up(&nacos, &mut client).await;
    let instance = json!({
        "namespace": "ns", "groupName": "G", "serviceName": "s", "type": "registerInstance",
        "instance": {"ip": "h", "port": 2},
    });
    ask(&mut client, "InstanceRequest", &instance).await;
    assert_eq!(nacos.addresses(&service), ["h:1", "h:2"]);
    drop(client);
    let gone = || nacos.addresses(&service) == ["h:1"];
    nacos.until("the end of the instance", gone).await;
}

async fn set_up(nacos: &ScriptedNacos, client: &mut Client) -> Call {
    let mut stream = client.post("/BiRequestStream/requestBiStream", &[]).await;
    stream.data(encode("ConnectionSetupRequest", &json!({})), false);
    nacos
        .until("the set-up", || !nacos.connections().is_empty())
        .await;
    stream
}

async fn ask(client: &mut Client, kind: &str, body: &Value) -> Payload {
    let mut call = client.post("/Request/request", &[]).await;
    call.data(encode(kind, body), true);
    assert_eq!(call.response().await.status, 200);
    let answer = decode(&call.body().await);
    let trailers = call.trailers().await.expect("there are some");
    assert_eq!(trailers["grpc-status"], "0");
    answer
}

fn refused(answer: &Payload, [result, code]: [i32; 2], text: &str) {
    assert_eq!(answer.kind(), "ErrorResponse");
    let want = json!({"resultCode": result, "errorCode": code, "message": text, "success": false});
    assert_eq!(answer.body(), want);
}

fn encode(kind: &str, body: &Value) -> bytes::Bytes {
    envelope(&Payload::new(kind, body).encode_to_vec())
}

fn decode(bytes: &[u8]) -> Payload {
    Payload::decode(&bytes[5..]).expect("it is one message")
}
