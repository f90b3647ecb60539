//! The admin port of a running process, as its HTTP client.

use std::time::Duration;

use bytes::Bytes;
use http::{
    Request, StatusCode,
    header::{AUTHORIZATION, HOST},
};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

use crate::{
    console::Console,
    fail::{Class, Failure},
};

/// The admin port of a process.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Admin {
    /// Asks the admin port of a running process, by default at 22222
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["registry", "config"])]
    admin: Option<String>,
    /// What the admin port wants to hear of who comes from elsewhere
    #[arg(long, value_name = "TOKEN", requires = "admin")]
    token: Option<String>,
}

impl Admin {
    /// Whether a process is asked at all.
    pub(crate) fn is_asked(&self) -> bool {
        self.admin.is_some()
    }

    /// Prints what the page at `path` says.
    pub(crate) async fn show(
        &self,
        console: &Console,
        path: &str,
        patience: Duration,
    ) -> Result<(), Failure> {
        let text = self.get(path, patience).await?;
        let text = text.trim_end();
        let is_json = serde_json::from_str::<serde_json::Value>(text).is_ok();
        if console.is_json() && !is_json {
            console.line(&json!({ "text": text }))
        } else {
            console.line(&text)
        }
    }

    /// What the page at `path` says.
    pub(crate) async fn get(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        let address = self.admin.as_deref().unwrap_or_default();
        let address = address.strip_prefix("http://").unwrap_or(address);
        let address = match address.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => address.to_owned(),
            _ => format!("{address}:{PORT}"),
        };
        let url = format!("http://{address}{path}");
        let asked = tokio::time::timeout(patience, self.ask(&address, path));
        let (status, body) = match asked.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => {
                return Err(Failure::unreachable(format!("cannot ask {url}: {why}")).advise(
                    "the admin port is open with `dubbo.application.qos-enable: true`; a port of Triple is another",
                ));
            }
            Err(_) => {
                let waited = patience.as_millis();
                let text = format!("{url} does not answer within {waited} ms");
                return Err(Failure::new(Class::TimedOut, text)
                    .advise("give it more time with `--timeout`"));
            }
        };
        let text = String::from_utf8_lossy(&body).into_owned();
        if status.is_success() {
            return Ok(text);
        }
        let failure = Failure::new(
            Class::Refused,
            format!("{url} answers {}: {}", status.as_u16(), text.trim()),
        );
        Err(match status {
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
                failure.advise("say `--token` what its `dubbo.application.qos-token` is")
            }
            _ => failure,
        })
    }

    /// One request on a connection of its own.
    async fn ask(
        &self,
        address: &str,
        path: &str,
    ) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let mut request = Request::get(path).header(HOST, address);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Empty::<Bytes>::new())?;
        let stream = TcpStream::connect(address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut connection = std::pin::pin!(connection);
        let answer = async {
            let (head, body) = sender.send_request(request).await?.into_parts();
            let body = Limited::new(body, LONGEST).collect().await?.to_bytes();
            Ok((head.status, body))
        };
        let mut answer = std::pin::pin!(answer);
        tokio::select! {
            answer = &mut answer => answer,
            // It has read all there is to read, or it broke off.
            over = &mut connection => match over {
                Ok(()) => answer.await,
                Err(error) => Err(error.into()),
            },
        }
    }
}

/// The port of Dubbo's `QoS`.
const PORT: u16 = 22222;

/// A page that is longer is not read.
const LONGEST: usize = 64 * 1024 * 1024;
