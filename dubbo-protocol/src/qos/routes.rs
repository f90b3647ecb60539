//! Who answers what on a port for operators.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{http::HttpHandler, invocation::Peer};

/// What is served on a port: pages over HTTP, and a shell for lines.
///
/// ```
/// use std::sync::Arc;
/// use dubbo_core::http::{HttpBody, HttpHandler};
/// use dubbo_protocol::qos::Routes;
/// use http::{Request, Response};
///
/// struct Metrics;
///
/// #[async_trait::async_trait]
/// impl HttpHandler for Metrics {
///     async fn handle(&self, _request: Request<HttpBody>) -> Response<HttpBody> {
///         Response::new("calls_total 7\n".into())
///     }
/// }
///
/// let routes = Routes::new().page("/metrics", Arc::new(Metrics));
/// ```
#[derive(Clone, Default)]
#[must_use = "routes do nothing until a listener is bound with them"]
pub struct Routes {
    /// The longest path first.
    pages: Vec<(String, Arc<dyn HttpHandler>)>,
    shell: Option<Arc<dyn Shell>>,
}

impl Routes {
    /// Nothing at all: every path is answered with 404, and who speaks in lines is hung up on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has `handler` answer at `path` and all that is below. Of several pages that of the longest path answers; one at the
    /// same path replaces another. `/` is for everything.
    pub fn page(mut self, path: &str, handler: Arc<dyn HttpHandler>) -> Self {
        let path = match path.trim_matches('/') {
            "" => String::new(),
            path => format!("/{path}"),
        };
        self.pages.retain(|(other, _)| *other != path);
        self.pages.push((path, handler));
        self.pages
            .sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        self
    }

    /// Has `shell` answer those who speak in lines.
    pub fn shell(mut self, shell: Arc<dyn Shell>) -> Self {
        self.shell = Some(shell);
        self
    }

    pub(super) fn find(&self, path: &str) -> Option<&Arc<dyn HttpHandler>> {
        let mut pages = self.pages.iter();
        let page = pages.find(|(page, _)| {
            path.strip_prefix(&**page)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        page.map(|(_, handler)| handler)
    }

    /// The paths of the pages, for who asked for another.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.pages.iter().map(|(path, _)| path.as_str())
    }

    pub(super) fn lines(&self) -> Option<&Arc<dyn Shell>> {
        self.shell.as_ref()
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages: Vec<_> = self.paths().collect();
        f.debug_struct("Routes")
            .field("pages", &pages)
            .field("shell", &self.shell.is_some())
            .finish()
    }
}

/// Answers lines that are typed in by hand, or by a script.
#[async_trait]
pub trait Shell: Send + Sync + 'static {
    /// What `peer` is greeted with: one line or several.
    ///
    /// # Errors
    ///
    /// Why `peer` may not be here. It is told, and hung up on.
    fn welcome(&self, peer: &Peer) -> Result<String, String>;

    /// Answers one line, which is not empty and has no blanks around it. A panic is answered for it.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the peer interrupts it or breaks off.
    async fn answer(&self, peer: &Peer, line: &str) -> Said;
}

/// The answer to one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Said {
    /// This is said, and the peer is hung up on.
    Bye(String),
    /// This is said, and the next line is waited for.
    Text(String),
}
