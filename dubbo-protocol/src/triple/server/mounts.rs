//! HTTP services beside the calls: who answers at which path, and how a request gets there.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use dubbo_core::{
    context::ReplyContext,
    extension::BoxError,
    http::{HttpBody, HttpHandler},
    invocation::Peer,
    panics::guard_plugin,
    status::Status,
};
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{CONTENT_LENGTH, UPGRADE},
    request::Parts,
};
use http_body::{Body, Frame, SizeHint};

use super::{failure::Failure, received::Received, reply::ReplyBody, rest::Unread};
use crate::triple::headers::PeerKind;

/// What is mounted on a server, by path.
#[derive(Clone, Default)]
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    /// The same mounts and one more; `None` when there is one at its path already.
    pub(super) fn with(&self, mount: Mount) -> Option<Self> {
        if self.0.iter().any(|other| other.path == mount.path) {
            return None;
        }
        let mut mounts = self.clone();
        let longer = |other: &Mount| other.path.len() > mount.path.len();
        let at = mounts.0.iter().position(|other| !longer(other));
        mounts.0.insert(at.unwrap_or(mounts.0.len()), mount);
        Some(mounts)
    }

    /// The same mounts without the one at the path of `mount`.
    pub(super) fn without(&self, mount: &Mount) -> Self {
        let mut mounts = self.clone();
        mounts.0.retain(|other| other.path != mount.path);
        mounts
    }

    /// Who answers at `path`: of several, that with the longest path.
    pub(super) fn find(&self, path: &str) -> Option<&Mount> {
        self.0.iter().find(|mount| mount.has(path))
    }
}

/// A handler of HTTP requests, and the path that it answers at.
#[derive(Clone)]
pub(super) struct Mount {
    /// With a slash before each of its parts and none at the end: empty for all paths there are.
    path: Arc<str>,
    handler: Arc<dyn HttpHandler>,
}

impl Mount {
    /// Mounts `handler` at `path` and all that is below.
    ///
    /// # Errors
    ///
    /// No request has such a path.
    pub(super) fn new(path: &str, handler: Arc<dyn HttpHandler>) -> Result<Self, String> {
        let path = match path.trim_matches('/') {
            "" => String::new(),
            path => format!("/{path}"),
        };
        let uri = Uri::try_from(if path.is_empty() { "/" } else { &path });
        if !uri.is_ok_and(|uri| path.is_empty() || uri.path() == path && uri.query().is_none()) {
            return Err(format!(
                "no request has the path {path:?}: what is not plain in it is percent-encoded"
            ));
        }
        Ok(Self {
            path: path.into(),
            handler,
        })
    }

    /// Whether `path` is its own, or below it.
    fn has(&self, path: &str) -> bool {
        path.strip_prefix(&*self.path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Answers a request. Dropping the future, or the body of the answer, drops what the handler does.
    pub(super) async fn answer(
        self,
        head: Parts,
        body: Received,
        peer: Arc<Peer>,
    ) -> Response<ReplyBody> {
        if asks_for_websocket(&head.headers) {
            let text = "WebSocket is not served here: a request over HTTP/1.1 or HTTP/2 is answered, and its connection goes on";
            let status = Status::unimplemented(text);
            return refuse(StatusCode::NOT_IMPLEMENTED, status, &head.headers);
        }
        let (is_head, caller) = (head.method == Method::HEAD, PeerKind::of(&head.headers));
        let mut request = Request::from_parts(head, HttpBody::new(Unread::new(body)));
        // Those of the library that reads requests are no promise of ours.
        request.extensions_mut().clear();
        request.extensions_mut().insert(Arc::unwrap_or_clone(peer));
        let mut answering = None;
        let answered = std::future::poll_fn(|cx| {
            let polled = guard_plugin(|| {
                // It may panic before it has given a future, too.
                let future = answering
                    .get_or_insert_with(|| self.handler.handle(std::mem::take(&mut request)));
                Ok(future.as_mut().poll(cx))
            });
            match polled {
                Ok(polled) => polled.map(Ok),
                Err(panicked) => Poll::Ready(Err(panicked)),
            }
        })
        .await;
        match answered {
            Ok(response) => into_reply(response, is_head),
            Err(panicked) => {
                tracing::error!(mounted = %self, error = %panicked, "a handler of HTTP requests panicked");
                let status = Status::internal(format!("what is {self} panicked"));
                failed(StatusCode::INTERNAL_SERVER_ERROR, status, caller)
            }
        }
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "/"
        } else {
            &*self.path
        };
        write!(f, "mounted at {path}")
    }
}

/// The body of a handler's answer. A panic in it is an error of it, which breaks the answer off.
pub(super) struct Guarded(HttpBody);

impl Body for Guarded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = guard_plugin(|| Ok(Pin::new(&mut self.0).poll_frame(cx)));
        let polled = polled.unwrap_or_else(|panicked| Poll::Ready(Some(Err(panicked))));
        if let Poll::Ready(Some(Err(error))) = &polled {
            tracing::warn!(%error, "the answer to an HTTP request breaks off");
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

fn into_reply(response: Response<HttpBody>, is_head: bool) -> Response<ReplyBody> {
    let (mut head, body) = response.into_parts();
    if is_head {
        // Not every handler knows that the answer has no body then; its length is that of the one it would have.
        if let Some(len) = body.size_hint().exact().filter(|len| *len > 0) {
            let known = head.headers.entry(CONTENT_LENGTH);
            known.or_insert_with(|| HeaderValue::from(len));
        }
        return Response::from_parts(head, ReplyBody::Empty);
    }
    Response::from_parts(head, ReplyBody::Http(Guarded(body)))
}

/// Over HTTP/1.1. Over HTTP/2 it takes a setting of the server that is not made here, so nobody asks.
fn asks_for_websocket(headers: &HeaderMap) -> bool {
    let protocols = headers.get_all(UPGRADE).iter();
    let mut protocols = protocols.filter_map(|value| value.to_str().ok());
    protocols.any(|list| {
        let mut names = list.split(',');
        names.any(|name| name.trim().eq_ignore_ascii_case("websocket"))
    })
}

fn refuse(http: StatusCode, status: Status, headers: &HeaderMap) -> Response<ReplyBody> {
    failed(http, status, PeerKind::of(headers))
}

fn failed(http: StatusCode, status: Status, caller: PeerKind) -> Response<ReplyBody> {
    Failure::of(http, status).answer(caller, &ReplyContext::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    #[async_trait::async_trait]
    impl HttpHandler for Nobody {
        async fn handle(&self, _request: Request<HttpBody>) -> Response<HttpBody> {
            unreachable!("nobody asks")
        }
    }

    fn mount(path: &str) -> Mount {
        Mount::new(path, Arc::new(Nobody)).expect(path)
    }

    #[test]
    fn a_mount_has_its_path_and_what_is_below_it() {
        let docs = mount("docs/api/");
        for (path, want) in [
            ("/docs/api", true),
            ("/docs/api/", true),
            ("/docs/api/a/b", true),
            ("/docs/apis", false),
            ("/docs", false),
            ("/", false),
            ("/x/docs/api", false),
        ] {
            assert_eq!(docs.has(path), want, "{path}");
        }
        for path in ["", "/", "//"] {
            let root = mount(path);
            assert!(root.has("/") && root.has("/a/b"), "{path:?}");
            assert_eq!(root.to_string(), "mounted at /");
        }
    }

    #[test]
    fn the_longest_path_that_fits_answers() {
        let mounts = ["/a", "/", "/a/b/c", "/a/b"].into_iter();
        let mounts = mounts.fold(Mounts::default(), |mounts, path| {
            mounts.with(mount(path)).expect("free")
        });
        for (path, want) in [
            ("/a/b/c/d", "/a/b/c"),
            ("/a/b/cd", "/a/b"),
            ("/a/bc", "/a"),
            ("/ab", ""),
            ("*", "none"),
        ] {
            let found = mounts.find(path).map_or("none", |mount| &*mount.path);
            assert_eq!(found, want, "{path}");
        }
        assert!(mounts.with(mount("a/")).is_none());
        let without = mounts.without(&mount("/a"));
        assert_eq!(without.find("/a/x").map(|mount| &*mount.path), Some(""));
        assert!(without.with(mount("/a")).is_some());
    }

    #[test]
    fn a_path_that_no_request_has_is_refused() {
        for path in ["a b", "a?b", "a#b"] {
            assert!(Mount::new(path, Arc::new(Nobody)).is_err(), "{path:?}");
        }
    }
}
