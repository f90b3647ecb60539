//! gRPC-Web: what browsers speak, who see neither trailers nor HTTP/2 (`docs/spec/triple.md` §10.5).
//!
//! It is gRPC with other content types, perhaps in base64, and with the trailers behind the last message in the body. So a
//! request is made one of gRPC, its call is made as any other, and the answer is put into the body.

mod content;
pub(super) mod reply;
mod request;
pub(super) mod text;

use dubbo_core::{context::ReplyContext, status::Status};
use http::{
    HeaderMap, HeaderName, HeaderValue, Response,
    header::{CONTENT_TYPE, TE, TRAILER, USER_AGENT},
    request::Parts,
};

use self::{content::WebContent, request::WebRequest};
pub(super) use self::{
    content::{accepted, is_web},
    reply::WebReply,
    text::BadText,
};
use super::{
    call::Call,
    received::Received,
    reply::{Caller, ReplyBody},
    rest::discard,
    site::Site,
};
use crate::triple::headers::{GrpcContent, PeerKind};

/// Answers a request of gRPC-Web. Dropping the future cancels the call.
pub(super) fn answer(
    site: &Site,
    mut head: Parts,
    body: Received,
) -> impl Future<Output = Response<ReplyBody>> + Send + use<> {
    let content = WebContent::of(&head.headers);
    let answer_content = content.map(|content| content.of_answer(&head.headers));
    let call = if let Some(content) = content {
        make_grpc(&mut head.headers, content.content);
        let call = Call::of(site, head, WebRequest::new(body, content.text));
        call.map_err(|refused| {
            discard(refused.body);
            refused.answer
        })
    } else {
        discard(body);
        Err(unknown(&head.headers))
    };
    async move {
        let response = match call {
            Ok(mut call) => call.run().await,
            Err(refusal) => refusal,
        };
        make_web(response, answer_content.unwrap_or(WebContent::BARE))
    }
}

/// Has headers say what those of gRPC would.
fn make_grpc(headers: &mut HeaderMap, content: GrpcContent) {
    headers.insert(CONTENT_TYPE, content.value());
    headers.remove(X_GRPC_WEB);
    // Whoever reads them in the body takes them.
    headers.insert(TE, HeaderValue::from_static("trailers"));
    // Only Dubbo Java names no user agent, and it speaks gRPC.
    if !headers.contains_key(USER_AGENT) {
        let own = headers.get(X_USER_AGENT).cloned();
        let own = own.unwrap_or(HeaderValue::from_static("grpc-web"));
        headers.insert(USER_AGENT, own);
    }
}

/// Puts an answer of gRPC into the form that a browser reads.
fn make_web(mut response: Response<ReplyBody>, content: WebContent) -> Response<ReplyBody> {
    if response.status() == http::StatusCode::OK {
        response.headers_mut().insert(CONTENT_TYPE, content.value());
    }
    response.headers_mut().remove(TRAILER);
    response.map(|body| match body {
        body @ (ReplyBody::Many(_) | ReplyBody::One { .. }) => {
            ReplyBody::Web(Box::new(WebReply::new(body, content.text)))
        }
        whole => whole,
    })
}

/// Messages that nobody here can read.
fn unknown(headers: &HeaderMap) -> Response<ReplyBody> {
    let content = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let status = Status::unimplemented(format!(
        "messages of content type {:?} are not served here; use one of {}",
        String::from_utf8_lossy(content.unwrap_or_default()),
        WebContent::LIST
    ));
    let caller = Caller {
        content: GrpcContent::Bare,
        peer: PeerKind::Other,
        packing: None,
    };
    caller.failed(&status, &ReplyContext::default())
}

/// That a request is one of gRPC-Web, which its content type says already.
const X_GRPC_WEB: HeaderName = HeaderName::from_static("x-grpc-web");
/// The name of the library in a page, beside that of the browser.
const X_USER_AGENT: HeaderName = HeaderName::from_static("x-user-agent");
