//! Logging in, over HTTP.
//!
//! The plugin that nacos-sdk has for it loses why a login failed, looks for a new token so seldom that one with a short
//! life is expired in between, writes the password to its log, and panics in a task of its own when the answer ends early.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use nacos_sdk::api::plugin::{AuthContext, AuthPlugin, LoginIdentityContext, RequestResource};
use parking_lot::RwLock;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Mutex,
    time::{Instant, timeout},
};

use super::options::Server;

/// A user, and the token that it has.
pub(super) struct Login {
    user: String,
    password: String,
    servers: Vec<Server>,
    limit: Duration,
    identity: RwLock<LoginIdentityContext>,
    /// When the next token is due.
    due: Mutex<Option<Instant>>,
}

impl Login {
    pub(super) fn new(
        (user, password): &(String, String),
        servers: &[Server],
        limit: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            user: user.clone(),
            password: password.clone(),
            servers: servers.to_vec(),
            limit,
            identity: RwLock::default(),
            due: Mutex::default(),
        })
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// Fetches a new token if it is time.
    pub(super) async fn refresh(&self) -> Result<(), NoLogin> {
        let mut due = self.due.lock().await;
        if due.is_some_and(|due| Instant::now() < due) {
            return Ok(());
        }
        let mut failure = NoLogin::passing("there is no server");
        for server in &self.servers {
            let answer = timeout(self.limit, self.ask(server)).await;
            let late = || NoLogin::passing(format!("no answer within {:?}", self.limit));
            match answer.unwrap_or_else(|_| Err(late())) {
                Ok(token) => {
                    let identity = LoginIdentityContext::default();
                    *self.identity.write() =
                        identity.add_context("accessToken", token.access_token);
                    // As often as nacos-sdk's own plugin means to.
                    *due = Some(Instant::now() + Duration::from_secs(token.token_ttl / 10));
                    return Ok(());
                }
                Err(why) => {
                    failure = NoLogin {
                        reason: format!(
                            "the user `{}` cannot log in at {server}: {}",
                            self.user, why.reason
                        ),
                        ..why
                    };
                }
            }
        }
        Err(failure)
    }

    async fn ask(&self, server: &Server) -> Result<Token, NoLogin> {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        // 1.0, so that the body comes in one piece and the connection ends with it.
        let request = format!(
            "POST /nacos/v1/auth/login?username={}&password={} HTTP/1.0\r\nhost: {server}\r\ncontent-length: 0\r\n\r\n",
            encoded(&self.user),
            encoded(&self.password)
        );
        let io = |error: std::io::Error| NoLogin::passing(error.to_string());
        let mut socket = TcpStream::connect(server.http()).await.map_err(io)?;
        socket.write_all(request.as_bytes()).await.map_err(io)?;
        let mut answer = Vec::new();
        let mut limited = (&mut socket).take(LONGEST);
        limited.read_to_end(&mut answer).await.map_err(io)?;
        token(&String::from_utf8_lossy(&answer))
    }
}

#[async_trait]
impl AuthPlugin for Login {
    /// nacos-sdk calls it every half minute, and believes the way to a server to be the server. Whoever asks for something next hears of a failure.
    async fn login(&self, _servers: Arc<Vec<String>>, _context: Arc<AuthContext>) {
        if let Err(NoLogin { reason, .. }) = self.refresh().await {
            tracing::debug!(reason, "no login at Nacos");
        }
    }

    fn get_login_identity(&self, _resource: RequestResource) -> LoginIdentityContext {
        self.identity.read().clone()
    }
}

/// Why there is no token.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoLogin {
    pub(super) reason: String,
    /// Whether a server has looked at the user and the password.
    pub(super) is_final: bool,
}

impl NoLogin {
    fn passing(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_final: false,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    access_token: String,
    /// In seconds.
    token_ttl: u64,
}

/// The token in an answer, or what is there instead.
fn token(answer: &str) -> Result<Token, NoLogin> {
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| NoLogin::passing("the answer is cut short"))?;
    let status = head.lines().next().unwrap_or_default();
    let status = status
        .split_once(' ')
        .map_or("", |(_, status)| status.trim());
    let said = || {
        let body: String = body.trim().chars().take(SHOWN).collect();
        NoLogin {
            reason: format!("the server answers {status}: {body}"),
            // An unknown user is an internal error to Nacos.
            is_final: status.starts_with("403") || body.contains("not found;"),
        }
    };
    if !status.starts_with("200") {
        return Err(said());
    }
    serde_json::from_str(body).map_err(|_| said())
}

/// The most bytes of an answer.
const LONGEST: u64 = 65_536;

/// The most characters of an answer that messages show.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_token_or_says_why_not() {
        let good = r#"{"accessToken":"t","tokenTtl":18000,"globalAdmin":true}"#;
        let want = Token {
            access_token: "t".to_owned(),
            token_ttl: 18_000,
        };
        let none = |reason: &str, is_final| {
            let reason = reason.to_owned();
            Err(NoLogin { reason, is_final })
        };
        for (answer, want) in [
            (format!("HTTP/1.1 200 \r\nx: y\r\n\r\n{good}"), Ok(want)),
            (
                "HTTP/1.1 403 \r\n\r\nuser not found!".to_owned(),
                none("the server answers 403: user not found!", true),
            ),
            (
                "HTTP/1.1 500 \r\n\r\ncaused: User x not found;".to_owned(),
                none("the server answers 500: caused: User x not found;", true),
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\n<html>".to_owned(),
                none("the server answers 200 OK: <html>", false),
            ),
            (
                "HTTP/1.1 200 OK\r\n".to_owned(),
                none("the answer is cut short", false),
            ),
            (String::new(), none("the answer is cut short", false)),
        ] {
            assert_eq!(token(&answer), want, "{answer}");
        }
    }
}
