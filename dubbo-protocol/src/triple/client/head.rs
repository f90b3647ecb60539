//! The headers of a request (`docs/spec/triple.md` §3.1, §4.1).
//!
//! What dubbo-go adds on top as plain attachments (`interface`, `timeout`, `retries`) is left out: its own server and
//! Java's take the interface from the path and the time from `grpc-timeout`, and hand the rest to the application.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    attachments::Attachments,
    service::{MethodRef, ServiceDescriptor, ServiceKey},
    status::Status,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{HOST, USER_AGENT},
    uri::{Authority, PathAndQuery, Scheme},
};

use super::{
    super::{
        compression::Compression,
        headers::{OUR_USER_AGENT, TRI_SERVICE_GROUP, TRI_SERVICE_VERSION},
    },
    manner::Manner,
};

/// Makes the heads of the requests to one service; what does not change from call to call is made once.
#[derive(Debug)]
pub(super) struct Heads {
    scheme: Scheme,
    authority: Authority,
    path: String,
    descriptor: Arc<ServiceDescriptor>,
    /// By the position of the method.
    uris: Box<[Uri]>,
    /// How the messages after them are written.
    pub(super) manner: Manner,
    service: ServiceKey,
    group: Option<HeaderValue>,
    version: Option<HeaderValue>,
    token: Option<HeaderValue>,
    /// For HTTP/1.1, which says the host in a header, and nothing but the path before them.
    host: Option<HeaderValue>,
}

impl Heads {
    /// For `descriptor`'s methods of `service`, at `path` of `authority`. The scheme says whether connections are secure.
    ///
    /// # Errors
    ///
    /// What of it a request cannot carry.
    pub(super) fn new(
        scheme: &Scheme,
        authority: &str,
        path: &str,
        service: ServiceKey,
        descriptor: &Arc<ServiceDescriptor>,
    ) -> Result<Self, String> {
        let authority = Authority::try_from(authority)
            .map_err(|error| format!("the address {authority:?} is not usable: {error}"))?;
        let uris = descriptor
            .methods()
            .iter()
            .map(|method| uri(scheme, &authority, path, &method.name))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            path: path.to_owned(),
            group: service
                .group()
                .map(|group| named("group", group))
                .transpose()?,
            version: service
                .version()
                .map(|version| named("version", version))
                .transpose()?,
            scheme: scheme.clone(),
            authority,
            descriptor: Arc::clone(descriptor),
            uris,
            manner: Manner::PLAIN,
            service,
            token: None,
            host: None,
        })
    }

    /// For HTTP/1.1.
    ///
    /// # Errors
    ///
    /// The address cannot be in a header.
    pub(super) fn over_http1(mut self) -> Result<Self, String> {
        let host = named("address", self.authority.as_str())?;
        self.host = Some(host);
        for uri in &mut self.uris {
            *uri = path_alone(std::mem::take(uri));
        }
        Ok(self)
    }

    /// For messages that are written so.
    pub(super) fn with_manner(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }

    /// With what the provider wants to see in every call, unless a caller sends another one.
    ///
    /// # Errors
    ///
    /// A request cannot carry it.
    pub(super) fn with_token(self, token: Option<&str>) -> Result<Self, String> {
        let token = token.map(|token| {
            let value = HeaderValue::from_bytes(token.as_bytes());
            value.map_err(|_| "the token has a character that a header cannot carry".to_owned())
        });
        Ok(Self {
            token: token.transpose()?,
            ..self
        })
    }

    /// The head of one request, whose body is announced as compressed so. `remaining` is how much longer the caller waits.
    ///
    /// # Errors
    ///
    /// Code 3 for an attachment or name that HTTP cannot carry, and for more of them than a peer takes: that one closes
    /// the connection, with the other calls on it.
    pub(super) fn request(
        &self,
        service: &ServiceKey,
        method: &MethodRef,
        attachments: &Attachments,
        compression: Option<Compression>,
        remaining: Option<Duration>,
    ) -> Result<Request<()>, Status> {
        let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
        if let Some(host) = &self.host {
            headers.insert(HOST, host.clone());
        }
        self.manner
            .describe(method, compression, remaining, &mut headers);
        if let Some(group) = self.group(service)? {
            headers.insert(TRI_SERVICE_GROUP, group);
        }
        if let Some(version) = self.version(service)? {
            headers.insert(TRI_SERVICE_VERSION, version);
        }
        attachments
            .write_to(&mut headers)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        if let Some(token) = &self.token {
            headers.entry(TOKEN).or_insert_with(|| token.clone());
        }
        // dubbo-go sees one attachment more.
        attachments.write_spellings_to(&mut headers);
        // A caller may name another agent, as with every gRPC client.
        headers.entry(USER_AGENT).or_insert(OUR_USER_AGENT);

        let uri = self.uri(method)?;
        let size = size(&uri, &headers);
        if size > MAX_SIZE {
            // Not a limit that another try may find raised: code 8 would be tried again.
            return Err(Status::invalid_argument(format!(
                "the attachments make {size} bytes of headers, over the limit of {MAX_SIZE}; the largest is {}: send it \
                 in the message",
                largest(&headers)
            )));
        }

        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    fn uri(&self, method: &MethodRef) -> Result<Uri, Status> {
        if Arc::ptr_eq(method.service(), &self.descriptor) {
            return Ok(self.uris[method.index()].clone());
        }
        let uri = uri(&self.scheme, &self.authority, &self.path, method.name())
            .map_err(Status::invalid_argument)?;
        Ok(if self.host.is_some() {
            path_alone(uri)
        } else {
            uri
        })
    }

    fn group(&self, service: &ServiceKey) -> Result<Option<HeaderValue>, Status> {
        if service.group() == self.service.group() {
            return Ok(self.group.clone());
        }
        let group = service.group().map(|group| named("group", group));
        group.transpose().map_err(Status::invalid_argument)
    }

    fn version(&self, service: &ServiceKey) -> Result<Option<HeaderValue>, Status> {
        if service.version() == self.service.version() {
            return Ok(self.version.clone());
        }
        let version = service.version().map(|version| named("version", version));
        version.transpose().map_err(Status::invalid_argument)
    }
}

/// The size of a list of headers as HTTP/2 counts it (RFC 9113 §6.5.2).
fn size(uri: &Uri, headers: &HeaderMap) -> usize {
    let authority = uri.authority().map_or("", Authority::as_str);
    let pseudo = [
        (":method", Method::POST.as_str()),
        (":scheme", uri.scheme_str().unwrap_or_default()),
        (":authority", authority),
        (":path", uri.path()),
    ];
    let pseudo = pseudo.map(|(name, value)| name.len() + value.len());
    let fields = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    let sizes = pseudo.into_iter().chain(fields);
    sizes.map(|size| size + PER_HEADER).sum()
}

/// The name and length of the longest value.
fn largest(headers: &HeaderMap) -> String {
    let longest = headers.iter().max_by_key(|(_, value)| value.len());
    longest.map_or_else(String::new, |(name, value)| {
        format!("`{name}` with {} bytes", value.len())
    })
}

fn uri(scheme: &Scheme, authority: &Authority, path: &str, method: &str) -> Result<Uri, String> {
    let text = format!("/{path}/{method}");
    let path = PathAndQuery::try_from(text.as_str())
        .ok()
        .filter(|parsed| parsed.query().is_none())
        .ok_or_else(|| format!("{text:?} cannot be the path of a request"))?;
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(scheme.clone());
    parts.authority = Some(authority.clone());
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).map_err(|error| format!("{text:?} cannot be called: {error}"))
}

/// `uri` as a request of HTTP/1.1 has it.
fn path_alone(uri: Uri) -> Uri {
    uri.into_parts()
        .path_and_query
        .map_or_else(Uri::default, Uri::from)
}

fn named(what: &str, value: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_| format!("the {what} {value:?} has a character that a header cannot carry"))
}

const TOKEN: HeaderName = HeaderName::from_static("token");

const PER_HEADER: usize = 32;

/// What our own servers take, less a little. dubbo-go's take 1 MiB, and Dubbo Java's 32 KiB (`docs/spec/triple.md` §9.3).
const MAX_SIZE: usize = 63 * 1024;

/// Room for our own and a few attachments, so that a map does not grow.
const USUAL_HEADERS: usize = 12;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use dubbo_core::{
        service::{CallKind, MethodDescriptor},
        status::{Code, Retry},
    };

    use super::*;

    fn descriptor() -> Arc<ServiceDescriptor> {
        let methods = vec![MethodDescriptor::new("Greet", CallKind::Unary)];
        Arc::new(ServiceDescriptor::new("greet.Greeter", methods))
    }

    fn heads(service: &str, descriptor: &Arc<ServiceDescriptor>) -> Heads {
        let service = service.parse().expect(service);
        Heads::new(
            &Scheme::HTTP,
            "h:50051",
            "greet.Greeter",
            service,
            descriptor,
        )
        .expect("usable")
    }

    fn request(
        service: &str,
        attachments: &Attachments,
        remaining: Option<Duration>,
    ) -> Result<Request<()>, Status> {
        let descriptor = descriptor();
        heads("greet.Greeter", &descriptor).request(
            &service.parse().expect(service),
            &MethodRef::new(descriptor, 0),
            attachments,
            None,
            remaining,
        )
    }

    #[test]
    fn a_plain_call_has_these_headers_and_no_others() {
        let remaining = Some(Duration::from_millis(1_500));
        let request = request("greet.Greeter", &Attachments::new(), remaining).expect("usable");
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri(), "http://h:50051/greet.Greeter/Greet");
        let mut headers: Vec<_> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().expect("ASCII")))
            .collect();
        headers.sort_unstable();
        assert_eq!(
            headers,
            [
                ("content-type", "application/grpc+proto"),
                ("grpc-accept-encoding", "gzip,deflate,zstd"),
                ("grpc-timeout", "1500000u"),
                ("te", "trailers"),
                (
                    "user-agent",
                    concat!("dubbo-rust/", env!("CARGO_PKG_VERSION"))
                ),
            ]
        );
    }

    #[test]
    fn group_and_version_are_those_of_the_call() {
        let head = request("g/greet.Greeter:1.0", &Attachments::new(), None).expect("usable");
        assert_eq!(head.headers()["tri-service-group"], "g");
        assert_eq!(head.headers()["tri-service-version"], "1.0");
        assert!(!head.headers().contains_key("grpc-timeout"));

        let descriptor = descriptor();
        let head = heads("g/greet.Greeter:1.0", &descriptor)
            .request(
                &"greet.Greeter".parse().expect("a key"),
                &MethodRef::new(descriptor, 0),
                &Attachments::new(),
                None,
                None,
            )
            .expect("usable");
        assert!(
            !head.headers().contains_key("tri-service-group"),
            "{head:?}"
        );
        let error = request("g\n/greet.Greeter", &Attachments::new(), None).expect_err("refused");
        assert_eq!(error.code(), Code::InvalidArgument);
    }

    #[test]
    fn a_method_of_an_unforeseen_descriptor_is_called_by_its_name() {
        let methods = vec![MethodDescriptor::new("$invoke", CallKind::Unary)];
        let other = Arc::new(ServiceDescriptor::new("greet.Greeter", methods));
        let head = heads("greet.Greeter", &descriptor())
            .request(
                &"greet.Greeter".parse().expect("a key"),
                &MethodRef::new(other, 0),
                &Attachments::new(),
                None,
                None,
            )
            .expect("usable");
        assert_eq!(head.uri().path(), "/greet.Greeter/$invoke");
    }

    #[test]
    fn a_request_of_http_1_has_its_host_in_a_header() {
        let known = descriptor();
        let methods = vec![MethodDescriptor::new("$invoke", CallKind::Unary)];
        let other = Arc::new(ServiceDescriptor::new("greet.Greeter", methods));
        let heads = heads("greet.Greeter", &known).over_http1().expect("usable");
        for (descriptor, path) in [
            (known, "/greet.Greeter/Greet"),
            (other, "/greet.Greeter/$invoke"),
        ] {
            let service = "greet.Greeter".parse().expect("a key");
            let method = MethodRef::new(descriptor, 0);
            let head = heads.request(&service, &method, &Attachments::new(), None, None);
            let head = head.expect("usable");
            assert_eq!(head.uri(), path);
            assert_eq!(head.headers()["host"], "h:50051");
        }
    }

    #[test]
    fn attachments_become_headers_and_upper_case_is_noted_for_java() {
        let mut attachments = Attachments::from_iter([("userId", "7"), ("k", "a"), ("k", "b")]);
        attachments.insert("Blob", Bytes::from_static(&[0, 1, 0xfe, 0xff]));
        attachments.insert("user-agent", "mine");
        let request = request("greet.Greeter", &attachments, None).expect("usable");
        let headers = request.headers();
        assert_eq!(headers["userid"], "7");
        assert_eq!(headers["blob-bin"], "AAH+/w");
        assert_eq!(headers["user-agent"], "mine");
        assert_eq!(headers.get_all("k").iter().collect::<Vec<_>>(), ["a", "b"]);
        let received = Attachments::from_headers(headers.clone());
        let names: Vec<_> = received.iter().map(|(name, _)| name.into_owned()).collect();
        assert!(names.iter().any(|name| name == "userId"), "{names:?}");
        assert!(names.iter().any(|name| name == "Blob"), "{names:?}");
    }

    #[test]
    fn an_attachment_that_http_cannot_carry_is_refused_before_anything_is_sent() {
        let bad = Attachments::from_iter([("bad", "a\nb")]);
        let error = request("greet.Greeter", &bad, None).expect_err("refused");
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains("`bad`"), "{error}");
    }

    #[test]
    fn attachments_beyond_what_a_peer_takes_are_refused_and_never_tried_again() {
        let one = Attachments::from_iter([("k", "v".repeat(MAX_SIZE))]);
        let many = (0..2_000).map(|n| (format!("k{n}"), "v"));
        for (attachments, part) in [(one, "`k` with 64512 bytes"), (many.collect(), "limit of")] {
            let error = request("greet.Greeter", &attachments, None).expect_err("refused");
            assert_eq!(
                (error.code(), error.retry()),
                (Code::InvalidArgument, Retry::Never)
            );
            assert!(error.message().contains(part), "{error}");
        }
        let most = Attachments::from_iter([("k", "v".repeat(MAX_SIZE - 1_024))]);
        request("greet.Greeter", &most, None).expect("it fits");
    }

    #[test]
    fn a_name_that_is_no_path_is_refused_when_the_service_is_referred_to() {
        let methods = vec![MethodDescriptor::new("a b", CallKind::Unary)];
        let odd = Arc::new(ServiceDescriptor::new("x.Y", methods));
        let service = ServiceKey::new("x.Y");
        let error = Heads::new(&Scheme::HTTP, "h:1", "x.Y", service, &odd).expect_err("refused");
        assert!(error.contains("a b"), "{error}");
        let error = Heads::new(
            &Scheme::HTTP,
            "h h:1",
            "x.Y",
            ServiceKey::new("x.Y"),
            &descriptor(),
        );
        assert!(error.expect_err("refused").contains("h h:1"));
    }
}
