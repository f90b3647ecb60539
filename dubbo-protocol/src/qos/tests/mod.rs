//! A port for operators, as those see it who connect to it.

mod http;
mod telnet;

use ::http::{Request, Response};
use async_trait::async_trait;
use dubbo_core::{
    http::{HttpBody, HttpHandler},
    invocation::Peer,
};

use super::{Said, Shell};

/// A page that says which one it is, how it was asked, and what was sent to it.
struct Page(&'static str);

#[async_trait]
impl HttpHandler for Page {
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        let (head, mut body) = request.into_parts();
        assert_ne!(head.uri.path(), "/panics", "it was to");
        if head.uri.path() == "/hangs" {
            std::future::pending::<()>().await;
        }
        let is_known = head.extensions.get::<Peer>().is_some();
        let mut len = 0;
        let mut end = "end".to_owned();
        while let Some(frame) = std::future::poll_fn(|cx| {
            http_body::Body::poll_frame(std::pin::Pin::new(&mut body), cx)
        })
        .await
        {
            match frame {
                Ok(frame) => len += frame.into_data().map_or(0, |data| data.len()),
                Err(error) => end = error.to_string(),
            }
        }
        let (method, path) = (&head.method, head.uri.path());
        Response::new(format!("{}: {method} {path} {is_known} {len} {end}", self.0).into())
    }
}

/// Answers with what it was asked, or as it is told to.
struct Echo;

#[async_trait]
impl Shell for Echo {
    fn welcome(&self, peer: &Peer) -> Result<String, String> {
        if peer.remote.port() == 1 {
            return Err("not you".to_owned());
        }
        Ok("hello\nthere".to_owned())
    }

    async fn answer(&self, _peer: &Peer, line: &str) -> Said {
        match line {
            "quit" => Said::Bye("bye".to_owned()),
            "hang" => std::future::pending().await,
            "panic" => panic!("it was told to"),
            line => Said::Text(format!("you said\n{line}\n")),
        }
    }
}
