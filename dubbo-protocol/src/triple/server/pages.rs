//! Documents that are served beside the calls.

use std::{fmt, sync::Arc};

use dubbo_core::protocol::{Page, Pages};
use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE},
    request::Parts,
};

use super::reply::{ReplyBody, plain, respond};

/// Pages, and the path that they are below.
#[derive(Clone)]
pub(super) struct Mount {
    /// With its leading slash, without one at the end.
    path: String,
    pages: Arc<dyn Pages>,
}

impl Mount {
    /// Mounts `pages` at `path`.
    ///
    /// # Errors
    ///
    /// The path is empty: there would be no room for calls.
    pub(super) fn new(path: &str, pages: Arc<dyn Pages>) -> Result<Self, String> {
        let path = path.trim_matches('/');
        if path.is_empty() {
            return Err("it names no path to serve the pages below".to_owned());
        }
        Ok(Self {
            path: format!("/{path}"),
            pages,
        })
    }

    /// Whether `path` is that of the pages, or below it.
    pub(super) fn has(&self, path: &str) -> bool {
        path.strip_prefix(&self.path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether it is at the same path as `other`.
    pub(super) fn is_at_place_of(&self, other: &Self) -> bool {
        self.path == other.path
    }

    /// Answers a request for one of the pages.
    pub(super) fn answer(&self, head: &Parts) -> Response<ReplyBody> {
        if head.method != Method::GET && head.method != Method::HEAD {
            let text = format!("{} is not served here, only GET and HEAD\n", head.method);
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, text);
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            return response;
        }
        let Page {
            status,
            content_type,
            body,
        } = self.pages.page(&head.uri);
        let mut headers = HeaderMap::with_capacity(2);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let body = if head.method == Method::HEAD {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
            ReplyBody::Empty
        } else {
            ReplyBody::Plain(body)
        };
        let mut response = respond(headers, body);
        *response.status_mut() = status;
        response
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pages at {}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::*;

    struct None;

    impl Pages for None {
        fn page(&self, _uri: &Uri) -> Page {
            unreachable!("nobody asks")
        }
    }

    #[test]
    fn pages_have_their_path_and_what_is_below_it() {
        let mount = Mount::new("docs/api/", Arc::new(None)).expect("a path");
        for (path, want) in [
            ("/docs/api", true),
            ("/docs/api/", true),
            ("/docs/api/a/b", true),
            ("/docs/apis", false),
            ("/docs", false),
            ("/", false),
            ("/x/docs/api", false),
        ] {
            assert_eq!(mount.has(path), want, "{path}");
        }
        for path in ["", "/", "//"] {
            assert!(Mount::new(path, Arc::new(None)).is_err(), "{path:?}");
        }
    }
}
