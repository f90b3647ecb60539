//! Commands over HTTP, and what only HTTP has: the page, what it shows as JSON, and settings with paths of their own.

use std::{borrow::Cow, future::poll_fn, net::IpAddr, pin::Pin, sync::Arc};

use ::http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{
        AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN,
        WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
    },
};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use dubbo_core::{
    extension::BoxError,
    http::{HttpBody, HttpHandler},
    invocation::Peer,
};
use http_body::Body;
use percent_encoding::percent_decode_str;

use super::{
    Caller, Shared,
    command::{Answer, Asked, Command, Dialect, Failure},
    commands,
};
use crate::{
    config::PermissionLevel::{self, Private, Protected},
    logging,
};

/// Everything that is asked over HTTP but probes.
pub(super) struct Site(pub(super) Arc<Shared>);

/// A request as far as it is of interest here.
struct Question<'a> {
    method: Method,
    /// Decoded, without the first slash.
    path: String,
    /// The values of the query, then those of a form, in order.
    values: Vec<String>,
    headers: &'a HeaderMap,
    peer: Peer,
    caller: Caller,
}

#[async_trait]
impl HttpHandler for Site {
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        let (head, body) = request.into_parts();
        match self.answer(&head, body).await {
            Ok(response) => response,
            Err(failure) => refusal(&failure),
        }
    }
}

impl Site {
    async fn answer(
        &self,
        head: &::http::request::Parts,
        body: HttpBody,
    ) -> Result<Response<HttpBody>, Failure> {
        let peer = head.extensions.get::<Peer>().copied();
        let peer = peer.ok_or_else(|| Failure::Failed("nobody knows who asks".to_owned()))?;
        let token = bearer(&head.headers);
        let caller = self
            .0
            .access
            .caller(&peer, token)
            .map_err(Failure::Denied)?;
        self.refuse_strange_pages(head, &peer, token.is_some())?;
        let mut values = values(head.uri.query().unwrap_or_default());
        if !matches!(head.method, Method::GET | Method::HEAD) {
            values.extend(form(body).await?);
        }
        let question = Question {
            method: head.method.clone(),
            path: decoded(head.uri.path().trim_start_matches('/'))?,
            values,
            headers: &head.headers,
            peer,
            caller,
        };
        self.page(&question, &head.uri).await
    }

    async fn page(
        &self,
        question: &Question<'_>,
        uri: &Uri,
    ) -> Result<Response<HttpBody>, Failure> {
        let (first, rest) = match question.path.split_once('/') {
            Some((first, rest)) => (first, Some(rest)),
            None => (&*question.path, None),
        };
        match (first, rest) {
            ("", None) => return Ok(page()),
            ("favicon.ico", None) => {
                return Err(Failure::NotFound("there is no picture".to_owned()));
            }
            ("status", None) => {
                self.allow(question, "status", Protected)?;
                return self.status().await;
            }
            ("config", None) => {
                self.allow(question, "config", Private)?;
                return self.config(question);
            }
            ("loglevel", _) => {
                self.allow(question, "loglevel", Protected)?;
                return log_level(question, rest);
            }
            _ => {}
        }
        let pages = self.0.pages.iter();
        let mut fitting = pages.filter(|(path, _)| path.trim_start_matches('/') == question.path);
        if let Some((path, page)) = fitting.next() {
            self.allow(question, path.trim_start_matches('/'), Protected)?;
            let mut request = Request::new(HttpBody::empty());
            *request.method_mut() = question.method.clone();
            *request.uri_mut() = uri.clone();
            *request.headers_mut() = question.headers.clone();
            request.extensions_mut().insert(question.peer);
            return Ok(page.handle(request).await);
        }
        let mut arguments = Vec::new();
        arguments.extend(rest.filter(|rest| !rest.is_empty()).map(str::to_owned));
        arguments.extend(question.values.iter().cloned());
        let command = Command::named(first)?;
        let asked = Asked {
            shared: &self.0,
            caller: question.caller,
            dialect: Dialect::Http,
            arguments: &arguments,
        };
        let text = command.run(asked).await?;
        let is_json = text.starts_with('{');
        let mut response = plain(StatusCode::OK, text);
        if is_json {
            set(&mut response, CONTENT_TYPE, JSON);
        }
        Ok(response)
    }

    /// A page of somebody else's that runs in the browser of an operator must not command anything here, and not read it
    /// by having its own name lead to this machine.
    fn refuse_strange_pages(
        &self,
        head: &::http::request::Parts,
        peer: &Peer,
        has_token: bool,
    ) -> Result<(), Failure> {
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let host = header(HOST.as_str()).unwrap_or_default();
        let is_foreign = match (header(ORIGIN.as_str()), header("sec-fetch-site")) {
            (Some(origin), _) => origin.split_once("://").map(|(_, host)| host) != Some(host),
            (None, Some(site)) => !matches!(site, "same-origin" | "none"),
            (None, None) => false,
        };
        if is_foreign {
            return Err(Failure::Denied(
                "a page of another site asks, and only this site's may".to_owned(),
            ));
        }
        let name = without_port(host);
        let is_ours = name.is_empty()
            || name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok()
            || self.0.host.as_deref() == Some(name);
        if peer.remote.ip().to_canonical().is_loopback() && !has_token && !is_ours {
            return Err(Failure::Denied(format!(
                "`{name}` is no name of this port: ask for `localhost`, an address, or the name that \
                 `application.qos-host` has"
            )));
        }
        Ok(())
    }

    fn allow(
        &self,
        question: &Question<'_>,
        what: &str,
        level: PermissionLevel,
    ) -> Result<(), Failure> {
        let access = &self.0.access;
        access
            .allows(question.caller, what, level)
            .map_err(Failure::Denied)
    }

    async fn status(&self) -> Result<Response<HttpBody>, Failure> {
        let gone = || Failure::Failed("the instance has ended".to_owned());
        let status = self.0.instance().ok_or_else(gone)?.status().await;
        let json = serde_json::to_string(&status);
        let json = json.map_err(|error| Failure::Failed(error.to_string()))?;
        let mut response = plain(StatusCode::OK, json);
        set(&mut response, CONTENT_TYPE, JSON);
        Ok(response)
    }

    fn config(&self, question: &Question<'_>) -> Result<Response<HttpBody>, Failure> {
        let gone = || Failure::Failed("the instance has ended".to_owned());
        let settings = commands::Settings::of(&self.0.instance().ok_or_else(gone)?);
        let accepts = question
            .headers
            .get("accept")
            .and_then(|value| value.to_str().ok());
        if accepts.is_some_and(|accepts| accepts.contains("json")) {
            let mut response = plain(StatusCode::OK, settings.json());
            set(&mut response, CONTENT_TYPE, JSON);
            return Ok(response);
        }
        let heading = "# What files, config center, environment and code say. What code says is marked so, is spelled as code has \
                       it, and counts more.";
        let text = format!("{heading}\n{}", settings.text());
        Ok(plain(StatusCode::OK, text))
    }
}

/// Says the level of the log, or sets it: `POST /loglevel?level=debug`, or `/loglevel/debug`.
fn log_level(question: &Question<'_>, rest: Option<&str>) -> Result<Response<HttpBody>, Failure> {
    let wanted = rest.or_else(|| question.values.first().map(String::as_str));
    let answer: Answer = match (wanted, &question.method) {
        (Some(level), &Method::POST | &Method::PUT) => commands::set_log_level(level),
        (Some(_), _) => Err(Failure::Bad("a level is set with POST or PUT".to_owned())),
        (None, &Method::GET | &Method::HEAD) => match logging::level() {
            Some(level) => Ok(format!("{level:?}").to_ascii_lowercase()),
            None => Err(Failure::NotFound(
                "the program logs by itself, or there is no `logger` section".to_owned(),
            )),
        },
        (None, _) => Err(Failure::Bad(
            "it takes a level: `POST /loglevel?level=debug`".to_owned(),
        )),
    };
    answer.map(|text| plain(StatusCode::OK, text))
}

/// The page that shows all of it.
fn page() -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(PAGE));
    set(&mut response, CONTENT_TYPE, "text/html; charset=utf-8");
    set(
        &mut response,
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    seal(&mut response);
    response
}

fn refusal(failure: &Failure) -> Response<HttpBody> {
    let status = match failure {
        Failure::Bad(_) => StatusCode::BAD_REQUEST,
        Failure::Denied(_) => StatusCode::FORBIDDEN,
        Failure::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        Failure::NotFound(_) => StatusCode::NOT_FOUND,
        Failure::Unwell(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = plain(status, failure.text().to_owned());
    if status == StatusCode::FORBIDDEN {
        set(&mut response, WWW_AUTHENTICATE, "Bearer");
    }
    response
}

/// An answer in plain text.
pub(super) fn plain(status: StatusCode, text: impl Into<String>) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(text.into()));
    *response.status_mut() = status;
    set(&mut response, CONTENT_TYPE, "text/plain; charset=utf-8");
    seal(&mut response);
    response
}

/// Nobody keeps it, and nobody takes it for something else.
fn seal(response: &mut Response<HttpBody>) {
    set(response, CACHE_CONTROL, "no-store");
    set(response, X_CONTENT_TYPE_OPTIONS, "nosniff");
}

fn set(response: &mut Response<HttpBody>, name: ::http::HeaderName, value: &'static str) {
    let value = HeaderValue::from_static(value);
    response.headers_mut().insert(name, value);
}

/// All of a body; how long it may be is bounded by the port.
pub(super) async fn whole(mut body: HttpBody) -> Result<Bytes, BoxError> {
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        if let Ok(data) = frame?.into_data() {
            all.extend_from_slice(&data);
        }
    }
    Ok(all.freeze())
}

async fn form(body: HttpBody) -> Result<Vec<String>, Failure> {
    let unreadable = |error: String| Failure::Bad(format!("the body cannot be read: {error}"));
    let bytes = whole(body)
        .await
        .map_err(|error| unreadable(error.to_string()))?;
    let text = str::from_utf8(&bytes).map_err(|error| unreadable(error.to_string()))?;
    Ok(values(text.trim()))
}

/// The values of `a=x&b=y`, in order; the names say nothing.
fn values(query: &str) -> Vec<String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let values = pairs.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    let decoded = values.map(|value| {
        let value = value.replace('+', " ");
        percent_decode_str(&value).decode_utf8_lossy().into_owned()
    });
    decoded.collect()
}

fn decoded(path: &str) -> Result<String, Failure> {
    let text = percent_decode_str(path).decode_utf8();
    let text = text.map(Cow::into_owned);
    text.map_err(|error| Failure::Bad(format!("the path is no text: {error}")))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// `[::1]:22222` without its port and brackets.
fn without_port(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

const PAGE: &str = include_str!("page.html");

const JSON: &str = "application/json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_in_order_whatever_their_names() {
        for (query, want) in [
            ("a=x&b=y", &["x", "y"][..]),
            ("", &[]),
            ("x", &["x"]),
            ("a=1+2&a=%7B%22b%22%3A1%7D&c=", &["1 2", "{\"b\":1}", ""]),
        ] {
            assert_eq!(values(query), want, "{query:?}");
        }
    }

    #[test]
    fn a_host_is_told_without_its_port() {
        for (host, want) in [
            ("localhost:22222", "localhost"),
            ("localhost", "localhost"),
            ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]:22222", "::1"),
            ("[::1]", "::1"),
            ("", ""),
        ] {
            assert_eq!(without_port(host), want);
        }
    }
}
