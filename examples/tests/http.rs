//! A router of axum on the port of a service.

use std::time::Duration;

use axum::{
    Router,
    body::Body,
    extract::{Path, Request},
    http::{HeaderValue, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use dubbo::{
    Instance,
    config::{CorsConfig, ProtocolConfig, TripleConfig},
};
use examples::{
    Polite,
    greet::{GreetRequest, GreeterClient, GreeterServer},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

fn router() -> Router {
    Router::new()
        .route(
            "/api/items/{item}",
            get(|Path(item): Path<u32>| async move { item.to_string() }),
        )
        .route(
            "/api/echo",
            post(|request: Request| async { Response::new(request.into_body()) }),
        )
        .route("/api/stream", get(stream))
        .fallback(|| async { (StatusCode::NOT_FOUND, "no such page").into_response() })
        .layer(middleware::from_fn(counted))
}

async fn stream() -> Response {
    let chunks = ["one ", "two ", "three"].map(Ok::<_, std::io::Error>);
    Response::new(Body::from_stream(futures_util::stream::iter(chunks)))
}

async fn counted(request: Request, next: Next) -> Response {
    let length = request.uri().path().len();
    let mut response = next.run(request).await;
    response
        .headers_mut()
        .insert("x-length", HeaderValue::from(length));
    response
}

async fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("listening");
    let host = format!("\r\nhost: {address}\r\nconnection: close\r\n");
    let request = request.replacen("\r\n", &host, 1);
    stream.write_all(request.as_bytes()).await.expect("open");
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    let read = tokio::time::timeout(Duration::from_secs(20), read).await;
    read.expect("in time").expect("open");
    answer
}

fn local() -> ProtocolConfig {
    ProtocolConfig::tri().ip("127.0.0.1").port(0)
}

#[tokio::test]
async fn a_router_serves_routes_middleware_and_streams_beside_a_service() {
    let instance = Instance::builder()
        .protocol("tri", local())
        .provide(GreeterServer::new(Polite))
        .http("/", router())
        .build()
        .expect("sound");
    instance.start().await.expect("started");
    let exported = instance.exported();
    let address = exported[0].address();
    assert_eq!(instance.mounted()[0].address(), address);

    for (request, status, ends) in [
        ("GET /api/items/7 HTTP/1.1\r\n\r\n", 200, "\r\n\r\n7"),
        ("GET /api/items/x HTTP/1.1\r\n\r\n", 400, "`u32`"),
        (
            "POST /api/echo HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello",
            200,
            "hello",
        ),
        ("GET /api/nothing HTTP/1.1\r\n\r\n", 404, "no such page"),
        ("DELETE /api/items/7 HTTP/1.1\r\n\r\n", 405, "\r\n\r\n"),
        ("GET /elsewhere HTTP/1.1\r\n\r\n", 404, "no such page"),
    ] {
        let answer = ask(&address, request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answer}"
        );
        let path = request.split(' ').nth(1).expect("a path");
        assert!(
            answer.contains(&format!("x-length: {}\r\n", path.len())),
            "{answer}"
        );
        assert!(
            answer.trim_end_matches('"').contains(ends),
            "{request}: {answer}"
        );
    }
    let answer = ask(&address, "GET /api/stream HTTP/1.1\r\n\r\n").await;
    assert!(answer.contains("transfer-encoding: chunked"), "{answer}");
    for chunk in ["4\r\none \r\n", "4\r\ntwo \r\n", "5\r\nthree\r\n0\r\n"] {
        assert!(answer.contains(chunk), "{chunk:?}: {answer}");
    }
    let upgrade = "GET /api/items/7 HTTP/1.1\r\nupgrade: websocket\r\n\r\n";
    let answer = ask(&address, upgrade).await;
    assert!(answer.starts_with("HTTP/1.1 501 "), "{answer}");
    assert!(answer.contains("WebSocket is not served here"), "{answer}");

    let greeter: GreeterClient = instance
        .refer_with(dubbo::config::ReferenceConfig::new().url([format!("tri://{address}")]))
        .await
        .expect("a client");
    let name = "axum's neighbour".to_owned();
    let greeting = greeter.greet(GreetRequest { name }).await.expect("greeted");
    assert_eq!(greeting.message().greeting, "Hello, axum's neighbour!");
    instance.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_program_may_serve_http_alone_and_say_who_may_ask() {
    let triple = TripleConfig::new().cors(CorsConfig::new().allow_origins(["https://a.test"]));
    let instance = Instance::builder()
        .protocol("tri", local().triple(triple))
        .http("/api", router())
        .http(
            "/api/items/special",
            Router::new().fallback(|| async { "special" }),
        )
        .build()
        .expect("sound");
    instance.start().await.expect("started");
    let mounted = instance.mounted();
    assert_eq!(mounted.len(), 2);
    let address = mounted[0].address();
    assert_eq!(mounted[1].address(), address);
    let answer = ask(
        &address,
        "GET /api/items/special HTTP/1.1\r\norigin: https://a.test\r\n\r\n",
    )
    .await;
    assert!(answer.ends_with("special"), "{answer}");
    assert!(
        answer.contains("access-control-allow-origin: https://a.test\r\n"),
        "{answer}"
    );
    let answer = ask(
        &address,
        "GET /api/items/1 HTTP/1.1\r\norigin: https://b.test\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let answer = ask(&address, "GET / HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    instance.shutdown(Duration::from_secs(1)).await;
    assert!(TcpStream::connect(&*address).await.is_err(), "it is closed");
}

#[test]
fn what_cannot_be_mounted_is_refused_before_anything_starts() {
    let twice = Instance::builder()
        .http("/api", router())
        .http("api/", router());
    let nowhere = Instance::builder()
        .protocol("inside", ProtocolConfig::new().name("injvm"))
        .http("/api", router());
    for (builder, says) in [
        (twice, "`http` was called twice for `api/`"),
        (
            nowhere,
            "`http` was called for `/api`, and none of the protocols is `tri`",
        ),
    ] {
        let error = builder.build().expect_err("refused").to_string();
        assert!(error.contains(says), "{error}");
    }
}
