//! Pages of other origins: a browser asks on their behalf, and keeps from them what the server does not allow
//! (`docs/spec/triple.md` §10.3).

pub(super) mod origin;
mod settings;

use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD,
        HOST, ORIGIN, VARY,
    },
    request::Parts,
};

use self::origin::{Pattern, is_same};
pub use self::settings::{BadCorsSetting, CorsSettings};
use super::{
    refusal,
    reply::{ReplyBody, respond},
};

/// What a port tells browsers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cors {
    settings: CorsSettings,
    origins: Vec<Pattern>,
    /// In capitals; empty for those that are served at the path in question.
    methods: Vec<String>,
    /// `None` for whichever are asked for.
    headers: Option<HeaderValue>,
    /// Of answers with their status in the body, and of those that have it in headers.
    exposed: [Option<HeaderValue>; 2],
    max_age: Option<HeaderValue>,
}

/// A page that may ask.
#[derive(Debug)]
pub(super) struct Asking(HeaderValue);

impl Cors {
    /// What `settings` come to; `None` without origins.
    ///
    /// # Errors
    ///
    /// The first of them that cannot be used.
    pub(super) fn of(settings: &CorsSettings) -> Result<Option<Self>, String> {
        if let Some(bad) = settings.check().first() {
            return Err(format!("`.cors.{}`: {}", bad.key, bad.reason));
        }
        let patterns = settings.allow_origins.iter();
        let origins: Vec<_> = patterns.flat_map(|text| Pattern::read(text)).collect();
        if origins.is_empty() {
            return Ok(None);
        }
        let any_header = settings.allow_headers.iter().any(|name| name == "*");
        let headers = Some(&settings.allow_headers).filter(|_| !any_header);
        let of_status = WITH_STATUS.iter().map(|&name| name.to_owned());
        let with_status = settings.expose_headers.iter().cloned().chain(of_status);
        let seconds = settings.max_age.as_secs();
        Ok(Some(Self {
            origins,
            methods: settings
                .allow_methods
                .iter()
                .map(|method| method.to_ascii_uppercase())
                .collect(),
            headers: headers.and_then(|names| list(names)),
            exposed: [
                list(&settings.expose_headers),
                list(&with_status.collect::<Vec<_>>()),
            ],
            max_age: (seconds > 0).then(|| HeaderValue::from(seconds)),
            settings: settings.clone(),
        }))
    }

    /// What each parameter of a URL says about it; empty for the default.
    pub(super) fn texts(cors: Option<&Self>) -> [(&'static str, String); 6] {
        let none = CorsSettings::new();
        cors.map_or(&none, |cors| &cors.settings).texts()
    }

    /// Looks at a request before anything else does. `served` are the methods of HTTP that there are at its path.
    ///
    /// What is asked by a page goes on with the page, to be told of in the answer ([`after`](Self::after)).
    ///
    /// # Errors
    ///
    /// The answer: to the question that a browser asks in advance, and to pages that may not ask. The call is not made.
    pub(super) fn before(
        &self,
        head: &Parts,
        served: &[Method],
    ) -> Result<Option<Asking>, Box<Response<ReplyBody>>> {
        let Some(origin) = head.headers.get(ORIGIN) else {
            return Ok(None);
        };
        let text = std::str::from_utf8(origin.as_bytes()).unwrap_or_default();
        if authority(head).is_some_and(|authority| is_same(text, authority)) {
            return Ok(None);
        }
        if !self.origins.iter().any(|pattern| pattern.has(text)) {
            tracing::debug!(
                origin = text,
                path = head.uri.path(),
                "a page of an origin that is not allowed"
            );
            let why = format!(
                "pages of the origin {text:?} may not call this server; `allow-origins` of `triple.cors` says which may"
            );
            return Err(Box::new(refusal::forbidden(head, why)));
        }
        let asking = Asking(origin.clone());
        let wanted = head.headers.get(ACCESS_CONTROL_REQUEST_METHOD);
        match wanted.filter(|_| head.method == Method::OPTIONS) {
            None => Ok(Some(asking)),
            Some(wanted) => Err(Box::new(self.in_advance(head, &asking, wanted, served))),
        }
    }

    /// Tells the browser that its page may read the answer with these headers; `has_status` when the outcome of a call is
    /// in them.
    pub(super) fn after(&self, asking: &Asking, has_status: bool, headers: &mut HeaderMap) {
        self.allow(asking, headers);
        if let Some(exposed) = &self.exposed[usize::from(has_status)] {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed.clone());
        }
    }

    fn in_advance(
        &self,
        head: &Parts,
        asking: &Asking,
        wanted: &HeaderValue,
        served: &[Method],
    ) -> Response<ReplyBody> {
        let mut methods = vec![Method::OPTIONS.as_str()];
        if self.methods.is_empty() {
            methods.extend(served.iter().map(Method::as_str));
        } else {
            methods.extend(self.methods.iter().map(String::as_str));
        }
        methods.sort_unstable();
        methods.dedup();
        let known = methods
            .iter()
            .any(|method| wanted.as_bytes().eq_ignore_ascii_case(method.as_bytes()));
        if !known {
            let why = format!(
                "pages may not send {wanted:?} to {}; they may send {}",
                head.uri.path(),
                methods.join(", ")
            );
            return refusal::forbidden(head, why);
        }
        let mut headers = HeaderMap::with_capacity(6);
        self.allow(asking, &mut headers);
        if let Ok(methods) = HeaderValue::try_from(methods.join(", ")) {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
        let names = self.headers.as_ref();
        let names = names.or_else(|| head.headers.get(ACCESS_CONTROL_REQUEST_HEADERS));
        if let Some(names) = names {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
        }
        if let Some(age) = &self.max_age {
            headers.insert(ACCESS_CONTROL_MAX_AGE, age.clone());
        }
        let mut response = respond(headers, ReplyBody::Empty);
        *response.status_mut() = StatusCode::NO_CONTENT;
        response
    }

    /// Says which page is allowed.
    fn allow(&self, Asking(origin): &Asking, headers: &mut HeaderMap) {
        if self.origins.contains(&Pattern::Any) && !self.settings.allow_credentials {
            let any = HeaderValue::from_static("*");
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, any);
            return;
        }
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        // The answer to another page would be another one.
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if self.settings.allow_credentials {
            let yes = HeaderValue::from_static("true");
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
        }
    }
}

/// Whom the caller takes the server for.
fn authority(head: &Parts) -> Option<&str> {
    let in_uri = head.uri.authority().map(http::uri::Authority::as_str);
    in_uri.or_else(|| head.headers.get(HOST)?.to_str().ok())
}

fn list(names: &[String]) -> Option<HeaderValue> {
    let names = names.join(", ");
    HeaderValue::try_from(names)
        .ok()
        .filter(|names| !names.is_empty())
}

/// Where gRPC-Web has the outcome of a call that failed, and what a page needs to read messages.
const WITH_STATUS: [&str; 4] = [
    "grpc-encoding",
    "grpc-message",
    "grpc-status",
    "grpc-status-details-bin",
];

#[cfg(test)]
mod tests {
    use dubbo_core::url::Url;
    use http::Request;

    use super::*;

    fn cors(params: &[(&'static str, &'static str)]) -> Cors {
        let url = Url::new("tri", "h").with_params(params.iter().copied());
        let cors = CorsSettings::of(&url).and_then(|settings| Cors::of(&settings));
        cors.expect("sound").expect("with origins")
    }

    fn head(method: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder()
            .method(method)
            .uri("http://api.test/x.S/M");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("sound").into_parts().0
    }

    fn text(headers: &HeaderMap) -> String {
        let mut lines: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        lines.sort();
        lines.join("\n")
    }

    const PAGE: (&str, &str) = ("origin", "https://a.example.com");
    const POST: [Method; 1] = [Method::POST];

    /// What a browser is told in advance, or the status.
    fn advance(cors: &Cors, headers: &[(&str, &str)]) -> String {
        let answer = cors.before(&head("OPTIONS", headers), &POST);
        let answer = answer.expect_err("answered at once");
        let told = text(answer.headers());
        format!("{} {told}", answer.status().as_u16())
    }

    #[test]
    fn a_browser_is_told_in_advance_what_its_page_may_do() {
        const WANT: (&str, &str) = ("access-control-request-method", "post");
        let some = cors(&[(settings::PARAM_ORIGINS, "https://*.example.com")]);
        assert_eq!(
            advance(
                &some,
                &[PAGE, WANT, ("access-control-request-headers", "x-a")]
            ),
            "204 access-control-allow-headers: x-a\n\
             access-control-allow-methods: OPTIONS, POST\n\
             access-control-allow-origin: https://a.example.com\n\
             vary: Origin"
        );
        let all = cors(&[
            (settings::PARAM_ORIGINS, "https://*.example.com"),
            (".cors.allow-methods", "post,get"),
            (".cors.allow-headers", "x-b,x-c"),
            (".cors.allow-credentials", "true"),
            (".cors.max-age", "600"),
        ]);
        assert_eq!(
            advance(
                &all,
                &[PAGE, WANT, ("access-control-request-headers", "x-a")]
            ),
            "204 access-control-allow-credentials: true\n\
             access-control-allow-headers: x-b, x-c\n\
             access-control-allow-methods: GET, OPTIONS, POST\n\
             access-control-allow-origin: https://a.example.com\n\
             access-control-max-age: 600\n\
             vary: Origin"
        );
        let any = cors(&[(settings::PARAM_ORIGINS, "*")]);
        assert_eq!(
            advance(&any, &[PAGE, WANT]),
            "204 access-control-allow-methods: OPTIONS, POST\naccess-control-allow-origin: *"
        );
    }

    #[test]
    fn what_is_not_allowed_is_forbidden_and_the_page_may_not_read_why() {
        let some = cors(&[(settings::PARAM_ORIGINS, "https://*.example.com")]);
        for headers in [
            [
                ("origin", "https://example.com"),
                ("access-control-request-method", "POST"),
            ],
            [("origin", ""), ("access-control-request-method", "POST")],
            [PAGE, ("access-control-request-method", "PUT")],
            [PAGE, ("access-control-request-method", "")],
        ] {
            let told = advance(&some, &headers);
            assert!(told.starts_with("403 "), "{told}");
            assert!(told.ends_with("\nvary: Origin"), "{told}");
            assert!(!told.contains("access-control-"), "{told}");
        }
        let post = head("POST", &[("origin", "https://evil.test")]);
        let answer = some.before(&post, &POST).expect_err("not made");
        assert_eq!(answer.status(), 403);
    }

    #[test]
    fn an_answer_says_that_its_page_may_read_it() {
        let some = cors(&[
            (settings::PARAM_ORIGINS, "https://*.example.com"),
            (".cors.expose-headers", "x-cost"),
        ]);
        let asking = some.before(&head("POST", &[PAGE]), &POST);
        let asking = asking.ok().flatten().expect("a page that may");
        for (has_status, exposed) in [
            (false, "x-cost"),
            (
                true,
                "x-cost, grpc-encoding, grpc-message, grpc-status, grpc-status-details-bin",
            ),
        ] {
            let mut headers = HeaderMap::from_iter([(VARY, HeaderValue::from_static("Accept"))]);
            some.after(&asking, has_status, &mut headers);
            assert_eq!(
                text(&headers),
                format!(
                    "access-control-allow-origin: https://a.example.com\n\
                     access-control-expose-headers: {exposed}\n\
                     vary: Accept\nvary: Origin"
                )
            );
        }
    }

    #[test]
    fn who_is_no_page_of_another_origin_is_left_alone() {
        let some = cors(&[(settings::PARAM_ORIGINS, "https://*.example.com")]);
        for (method, headers) in [
            ("POST", &[][..]),
            ("OPTIONS", &[("access-control-request-method", "POST")]),
            ("POST", &[("origin", "http://api.test")]),
        ] {
            let asking = some.before(&head(method, headers), &POST);
            assert!(matches!(asking, Ok(None)), "{method} {headers:?}");
        }
        // It asks for no method, so it is no question of a browser.
        let options = some.before(&head("OPTIONS", &[PAGE]), &POST);
        assert!(matches!(options, Ok(Some(_))), "it goes on");
    }
}
