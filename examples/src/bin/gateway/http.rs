//! The server: a few routes over hyper.

use std::{convert::Infallible, error::Error, sync::Arc};

use dubbo::Status;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, RETRY_AFTER},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::{
    backend::Backend,
    calls::{Services, told},
    letters,
};

/// What the routes lead to.
pub(crate) struct Gateway {
    /// Whom calls go to.
    pub(crate) services: Services,
    /// What stands behind them.
    pub(crate) backend: Backend,
}

/// Serves until the listener fails.
pub(crate) async fn serve(listener: TcpListener, gateway: Arc<Gateway>) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(&gateway, request));
            // A connection that breaks is its client's affair.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    gateway: &Gateway,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let response = route(gateway, request).await;
    Ok(response.unwrap_or_else(|error| plain(StatusCode::BAD_REQUEST, format!("{error}\n"))))
}

async fn route(
    gateway: &Gateway,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Box<dyn Error + Send + Sync>> {
    let instance = &gateway.services.instance;
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, LARGEST_BODY).collect().await?.to_bytes();
    let body = std::str::from_utf8(&body)?;
    let path: Vec<&str> = parts.uri.path().trim_matches('/').split('/').collect();
    Ok(match (parts.method, &path[..]) {
        (Method::GET, ["dead-letters"]) => html(letters::page(instance.dead_letters()).await?),
        (Method::POST, ["dead-letters", "replay"]) => plain(
            StatusCode::OK,
            letters::replay(instance.dead_letters()).await?,
        ),
        (Method::GET, ["switches"]) => plain(
            StatusCode::OK,
            format!("{:#?}\n", instance.resend().switches()),
        ),
        // As an operator writes it into a config center, under this key.
        (Method::PUT, ["switches"]) => {
            dubbo::resend::Switches::parse("the request", body)?;
            instance.rules().put("gateway.switches", Some(body));
            plain(StatusCode::OK, "switched\n".to_owned())
        }
        (Method::POST, ["mend"]) => {
            gateway.backend.mend();
            plain(StatusCode::OK, "mended\n".to_owned())
        }
        (Method::POST, [interface, method]) => {
            let call = gateway
                .services
                .call(interface, method, &parts.headers, body);
            match call.await {
                Ok(json) => content("application/json", json),
                Err(status) => refusal(&status),
            }
        }
        _ => plain(
            StatusCode::NOT_FOUND,
            "POST /INTERFACE/METHOD with a JSON array\n".to_owned(),
        ),
    })
}

fn refusal(status: &Status) -> Response<Full<Bytes>> {
    let (code, wait, text) = told(status);
    let mut response = plain(code, text);
    if let Some(wait) = wait {
        response.headers_mut().insert(RETRY_AFTER, wait.into());
    }
    response
}

fn plain(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = content("text/plain; charset=utf-8", text);
    *response.status_mut() = status;
    response
}

fn html(page: String) -> Response<Full<Bytes>> {
    content("text/html; charset=utf-8", page)
}

fn content(kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    let kind = hyper::header::HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

const LARGEST_BODY: usize = 1 << 20;
