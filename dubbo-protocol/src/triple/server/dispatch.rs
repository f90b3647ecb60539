//! Who answers a request: its method, its path and its content type say it.

use std::{pin::Pin, sync::Arc};

use http::{Method, Request, Response, request::Parts};

use super::{
    bare::{Bare, is_got},
    call::{Call, Refused},
    pace::Pace,
    received::Received,
    refusal,
    reply::ReplyBody,
    rest::discard,
    site::Site,
    web::{self, is_web},
};
use crate::triple::headers::is_grpc;

/// What answers a request.
pub(super) struct Answering<A> {
    /// Dropping it cancels the call.
    pub(super) answer: A,
    /// How soon it is there, where somebody keeps account of it.
    pub(super) pace: Option<Pace>,
}

/// Answers one request.
pub(super) fn answer(
    site: &Site,
    request: Request<Received>,
) -> Answering<impl Future<Output = Response<ReplyBody>> + Send + use<>> {
    let (head, body) = request.into_parts();
    let mut call = if let Some(refusal) = refusal::of_host(&head) {
        discard(body);
        Err(at_once(refusal))
    } else if head.method == Method::POST && is_grpc(&head.headers) {
        Call::of(site, head, body).map_err(|refused| unmade(site, *refused))
    } else {
        Err(other(site, head, body))
    };
    let pace = call.as_ref().ok().and_then(Call::pace);
    // This future is moved several times before it runs: the call is in it once and stays where it is.
    let answer = async move {
        match &mut call {
            Ok(call) => call.run().await,
            Err(other) => other.await,
        }
    };
    Answering { answer, pace }
}

/// What is not worth room in the task of every call.
type Other = Pin<Box<dyn Future<Output = Response<ReplyBody>> + Send>>;

/// Answers a gRPC caller whose call is none of a service. What is mounted may take it, if it speaks gRPC.
fn unmade(site: &Site, refused: Refused<Received>) -> Other {
    let Refused { head, body, answer } = refused;
    let routes = site.catalog.routes();
    let mount = routes.mount(head.uri.path());
    let mount = mount.filter(|_| routes.find(&head.uri, &head.headers).is_err());
    let Some(mount) = mount.cloned() else {
        discard(body);
        return at_once(answer);
    };
    let peer = Arc::clone(&site.peer);
    Box::pin(async move {
        let answered = mount.answer(head, body, peer).await;
        if is_grpc(answered.headers()) {
            answered
        } else {
            answer
        }
    })
}

/// Answers whoever does not speak gRPC.
fn other(site: &Site, head: Parts, body: Received) -> Other {
    let Some(cors) = &site.settings.cors else {
        return served(site, head, body);
    };
    let asking = match cors.before(&head, methods_at(site, &head)) {
        Ok(Some(asking)) => asking,
        Ok(None) => return served(site, head, body),
        Err(answer) => {
            discard(body);
            return at_once(*answer);
        }
    };
    let has_status = is_web(&head.headers);
    let answering = served(site, head, body);
    let settings = Arc::clone(&site.settings);
    Box::pin(async move {
        let mut answer = answering.await;
        if let Some(cors) = &settings.cors {
            cors.after(&asking, has_status, answer.headers_mut());
        }
        answer
    })
}

fn served(site: &Site, head: Parts, body: Received) -> Other {
    let refusal = if let Some(refusal) = refusal::of_headers(&head, &site.settings) {
        refusal
    } else {
        let routes = site.catalog.routes();
        let asked = routes.find(&head.uri, &head.headers);
        if asked.is_err()
            && let Some(mount) = routes.mount(head.uri.path())
        {
            let (mount, peer) = (mount.clone(), Arc::clone(&site.peer));
            return Box::pin(mount.answer(head, body, peer));
        }
        if head.method == Method::POST && is_web(&head.headers) {
            return Box::pin(web::answer(site, head, body));
        }
        let asked = asked.map_err(|status| Box::new(refusal::unknown(status, &head)));
        match asked.and_then(|asked| Bare::of(site, asked, &head)) {
            Ok(bare) => return Box::pin(bare.answer(head, body)),
            Err(refusal) => *refusal,
        }
    };
    discard(body);
    at_once(refusal)
}

/// The methods of HTTP that there are at the path that `head` names.
fn methods_at(site: &Site, head: &Parts) -> &'static [Method] {
    let routes = site.catalog.routes();
    match routes.find(&head.uri, &head.headers) {
        Ok((_, method)) if is_got(&method) => &[Method::GET, Method::POST],
        Err(_) if routes.mount(head.uri.path()).is_some() => &[
            Method::DELETE,
            Method::GET,
            Method::HEAD,
            Method::PATCH,
            Method::POST,
            Method::PUT,
        ],
        _ => &[Method::POST],
    }
}

fn at_once(response: Response<ReplyBody>) -> Other {
    Box::pin(std::future::ready(response))
}
