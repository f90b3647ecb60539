//! What callers hear who ask for what is not there (`docs/spec/triple.md` §1.6).

use dubbo_core::{
    context::ReplyContext,
    service::{CallKind, MethodRef},
    status::Status,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, HOST, TE, VARY},
    request::Parts,
};

use super::{
    bare,
    failure::Failure,
    reply::{Caller, ReplyBody},
    settings::ServerSettings,
    web::{self, is_web},
};
use crate::triple::headers::{GrpcContent, PeerKind, is_grpc};

/// Refuses a path that is none of a method.
pub(super) fn unknown(status: Status, head: &Parts) -> Response<ReplyBody> {
    say(head, StatusCode::NOT_FOUND, status)
}

/// Refuses what HTTP would do with a method beside calling it.
pub(super) fn not_allowed(head: &Parts, method: &MethodRef) -> Response<ReplyBody> {
    let (allowed, instead) = if bare::is_got(method) {
        ("GET, POST", "use GET or POST")
    } else {
        ("POST", "use POST")
    };
    let text = format!(
        "{} does not call {method:?}: which method is called, the path says; {instead}",
        head.method
    );
    let refusal = if is_grpc(&head.headers) || is_web(&head.headers) {
        say_in_grpc(head, &Status::unimplemented(text))
    } else {
        say(head, StatusCode::METHOD_NOT_ALLOWED, Status::unknown(text))
    };
    with(refusal, ALLOW, HeaderValue::from_static(allowed))
}

/// Refuses what a page of another origin may not do. Its browser keeps the answer from it; people see it there.
pub(super) fn forbidden(head: &Parts, why: String) -> Response<ReplyBody> {
    let refusal = say(head, StatusCode::FORBIDDEN, Status::permission_denied(why));
    // The answer to another page would be another one.
    with(refusal, VARY, HeaderValue::from_static("Origin"))
}

/// Refuses a form of messages that `method` does not have.
pub(super) fn unsupported(head: &Parts, method: &MethodRef) -> Response<ReplyBody> {
    let content = match head.headers.get(CONTENT_TYPE) {
        Some(content) => format!("content type {content:?} is not served"),
        None => "the request has no content type, and one is needed".to_owned(),
    };
    let why = match method.kind() {
        CallKind::Unary => "",
        CallKind::ServerStream => {
            ": it answers with a stream, which goes out as events to a request in JSON and as messages of gRPC to all others"
        }
        CallKind::ClientStream | CallKind::BidiStream => {
            ": it takes a stream, for which plain HTTP has no form here; call it by gRPC"
        }
    };
    let accepted = accepted(method);
    let text = format!("{content} by {method:?}{why}; it takes {accepted}");
    let status = Status::unknown(text);
    let refusal = say(head, StatusCode::UNSUPPORTED_MEDIA_TYPE, status);
    match HeaderValue::from_str(&accepted) {
        Ok(accepted) => with(refusal, ACCEPT_POST, accepted),
        Err(_) => refusal,
    }
}

/// Refuses headers beyond the limit. Over HTTP/2 the connection refuses them first, with the same status.
pub(super) fn of_headers(head: &Parts, settings: &ServerSettings) -> Option<Response<ReplyBody>> {
    let (count, limit) = (head.headers.len(), settings.bounds.headers);
    let http = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    if count > limit {
        let status = Status::resource_exhausted(format!(
            "the request has {count} headers, and the limit is {limit}"
        ));
        return Some(say(head, http, status));
    }
    let fields = head.headers.iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + FIELD);
    let path = head.uri.path_and_query();
    let path = path.map_or(0, |path| path.as_str().len());
    let size = path + fields.sum::<usize>();
    let limit = settings.bounds.header_list as usize;
    if size <= limit {
        return None;
    }
    let status = Status::resource_exhausted(format!(
        "the headers of the request come to {size} bytes, and the limit is {limit}"
    ));
    Some(say(head, http, status))
}

/// Refuses a request over HTTP/1 that does not say which host it is for, or says several (RFC 9112 §3.2).
pub(super) fn of_host(head: &Parts) -> Option<Response<ReplyBody>> {
    if head.version >= Version::HTTP_2 {
        return None;
    }
    let why = match head.headers.get_all(HOST).iter().count() {
        0 if head.version == Version::HTTP_11 => "the request has no `host`, and one is needed",
        0 | 1 => return None,
        _ => "the request has more than one `host`",
    };
    let status = Status::invalid_argument(why);
    Some(say(head, StatusCode::BAD_REQUEST, status))
}

/// Refuses a gRPC call of `method`, if it is known, that HTTP/1 cannot carry.
pub(super) fn of_http1(head: &Parts, method: Option<&MethodRef>) -> Option<Response<ReplyBody>> {
    let why = if head.version < Version::HTTP_11 {
        "gRPC ends with trailers, which came with HTTP/1.1".to_owned()
    } else if let Some(method) = method.filter(|method| method.kind() == CallKind::BidiStream) {
        format!("{method:?} has streams both ways, which take HTTP/2")
    } else if !takes_trailers(&head.headers) {
        let text = "gRPC ends with trailers, and over HTTP/1.1 they are sent to those who ask for them: \
            send `te: trailers`, or use HTTP/2";
        let status = Status::invalid_argument(text);
        return Some(say(head, StatusCode::BAD_REQUEST, status));
    } else {
        return None;
    };
    let http = StatusCode::HTTP_VERSION_NOT_SUPPORTED;
    let refusal = say(head, http, Status::unknown(why));
    Some(with(refusal, CONNECTION, HeaderValue::from_static("close")))
}

/// Says why a request is not served to someone who looks at `grpc-status` alone.
fn say_in_grpc(head: &Parts, status: &Status) -> Response<ReplyBody> {
    let caller = Caller {
        content: GrpcContent::of(&head.headers).unwrap_or(GrpcContent::Bare),
        peer: PeerKind::of(&head.headers),
        packing: None,
    };
    let refusal = caller.failed(status, &ReplyContext::default());
    match head.headers.get(CONTENT_TYPE) {
        // gRPC-Web has content types of its own.
        Some(content) => with(refusal, CONTENT_TYPE, content.clone()),
        None => refusal,
    }
}

/// Says in JSON why a request is not served. Where HTTP has a status of its own for that, the code is the one that
/// clients make of this status when there is no body (`docs/spec/triple.md` §5.3).
fn say(head: &Parts, http: StatusCode, status: Status) -> Response<ReplyBody> {
    let peer = PeerKind::of(&head.headers);
    let mut refusal = Failure::of(http, status).answer(peer, &ReplyContext::default());
    if head.method == Method::HEAD {
        // Headers are all that it asks for: over HTTP/2 a body would be an error.
        *refusal.body_mut() = ReplyBody::Empty;
    }
    refusal
}

fn with(
    mut response: Response<ReplyBody>,
    name: HeaderName,
    value: HeaderValue,
) -> Response<ReplyBody> {
    response.headers_mut().insert(name, value);
    response
}

/// The content types that calls of `method` may have.
fn accepted(method: &MethodRef) -> String {
    let grpc = GrpcContent::ALL.iter().filter(|kind| kind.suits(method));
    let grpc = grpc.map(|kind| kind.text());
    let bare = bare::Content::ALL.iter().filter(|kind| kind.suits(method));
    let bare = bare.map(|kind| kind.text());
    let both = grpc.chain(bare).map(str::to_owned);
    let mut all: Vec<_> = both.chain(web::accepted(method)).collect();
    all.sort_unstable();
    all.join(", ")
}

fn takes_trailers(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(TE).iter();
    let mut lists = lists.filter_map(|list| list.to_str().ok());
    lists.any(|list| {
        let mut items = list.split(',');
        items.any(|item| item.trim().eq_ignore_ascii_case("trailers"))
    })
}

/// What HTTP/2 counts for each field beside its name and value.
const FIELD: usize = 32;

const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");
