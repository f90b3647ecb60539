//! Who answers a request: its method, its path and its content type say it.

use std::{convert::Infallible, pin::Pin};

use http::{Method, Request, Response, request::Parts};
use hyper::body::Incoming;

use super::{bare::Bare, call::Call, refusal, reply::ReplyBody, rest::discard, site::Site};
use crate::triple::headers::is_grpc;

/// Answers one request. Dropping the future cancels the call.
pub(super) fn answer(
    site: &Site,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<ReplyBody>, Infallible>> + Send + use<> {
    let (head, body) = request.into_parts();
    let mut call = if head.method == Method::POST && is_grpc(&head.headers) {
        Call::of(site, head, body).map_err(at_once)
    } else {
        Err(other(site, head, body))
    };
    // A task is made of this future, and moved several times on the way: the call is in it once and stays where it is.
    async move {
        Ok(match &mut call {
            Ok(call) => call.run().await,
            Err(other) => other.await,
        })
    }
}

/// What is not worth room in the task of every call.
type Answering = Pin<Box<dyn Future<Output = Response<ReplyBody>> + Send>>;

/// Answers whoever does not speak gRPC.
fn other(site: &Site, head: Parts, body: Incoming) -> Answering {
    let routes = site.catalog.routes();
    let refusal = if let Some(refusal) = refusal::of_headers(&head, &site.settings) {
        refusal
    } else if let Some(pages) = routes.pages(head.uri.path()) {
        pages.answer(&head)
    } else {
        let asked = routes.find(&head.uri, &head.headers);
        let asked = asked.map_err(|status| refusal::unknown(status, &head));
        match asked.and_then(|asked| Bare::of(site, asked, &head)) {
            Ok(bare) => return Box::pin(bare.answer(head, body)),
            Err(refusal) => refusal,
        }
    };
    discard(body);
    at_once(refusal)
}

fn at_once(response: Response<ReplyBody>) -> Answering {
    Box::pin(std::future::ready(response))
}
