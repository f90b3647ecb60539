//! A provider that browsers and `curl` can call, and a router of axum beside its service, on one port.
//!
//! `cargo run -p examples --bin http-json` calls both once and ends; with `-- --serve` it serves until Ctrl-C.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use axum::{
    Router,
    extract::{Path, Request},
    http::HeaderValue,
    middleware::{self, Next},
    response::Response,
    routing::get,
};
use dubbo::Instance;
use examples::{Polite, asking::ask, greet::GreeterServer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/http-json.yaml"))?
        .provide(GreeterServer::new(Polite))
        .http("/shop", shop())
        .build()?;
    instance.start().await?;

    let address = instance.exported()[0].address();
    println!("Try, in another terminal, while `-- --serve` runs:");
    println!(
        "  curl -d '{{\"name\":\"curl\"}}' -H 'content-type: application/json' http://{address}/greet.Greeter/Greet"
    );
    println!("  curl -i -H 'origin: http://localhost:3000' http://{address}/shop/7");
    if std::env::args().any(|arg| arg == "--serve") {
        println!("serving");
        instance.serve().await?;
        return Ok(());
    }

    let json =
        "origin: http://localhost:3000\r\ncontent-type: application/json\r\ncontent-length: 16\r\n";
    let greeting =
        format!("POST /greet.Greeter/Greet HTTP/1.1\r\n{json}\r\n{{\"name\":\"Dubbo\"}}");
    println!("{}", ask(&address, &greeting).await?);
    println!("{}", ask(&address, "GET /shop/7 HTTP/1.1\r\n\r\n").await?);
    instance.shutdown(std::time::Duration::from_secs(1)).await;
    Ok(())
}

/// What is served beside the service: its paths are the whole ones.
fn shop() -> Router {
    Router::new()
        .route("/shop/{item}", get(item))
        .layer(middleware::from_fn(stamp))
}

async fn item(Path(item): Path<u32>) -> String {
    format!("item {item} of the shop")
}

async fn stamp(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert("x-shop", HeaderValue::from_static("open"));
    response
}
