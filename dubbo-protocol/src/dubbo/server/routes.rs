//! Which service takes a call (`docs/spec/dubbo-protocol.md` §4.1 and §12).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use dubbo_core::{
    invoker::Invoker,
    service::{MethodRef, ServiceDescriptor, ServiceKey, Types},
    url::{Url, UrlError},
};

use super::reply::Refusal;
use crate::dubbo::{
    body::request::Request,
    descriptor,
    parameters::{DEFAULT_PAYLOAD, payload_limit},
    status::BAD_REQUEST,
};

/// One exported service.
pub(super) struct Route {
    pub(super) key: Arc<ServiceKey>,
    pub(super) descriptor: Arc<ServiceDescriptor>,
    pub(super) invoker: Arc<dyn Invoker>,
    /// How long the body of a request, and that of an answer, may be.
    pub(super) payload: usize,
    /// The path of its URL, which may have more in front of the interface.
    path: String,
}

/// Everything that one server serves. Never changed, only replaced.
#[derive(Clone, Default)]
pub(super) struct Routes {
    /// By interface, and by path where that is another.
    by_name: BTreeMap<String, Vec<Arc<Route>>>,
    /// The longest body of a request that any of them takes, and 0 without any.
    payload: usize,
}

impl Routes {
    /// The same routes and one more; `None` when something has its key already.
    pub(super) fn with(&self, route: &Arc<Route>) -> Option<Self> {
        let mut routes = self.clone();
        for name in route.names() {
            let same = routes.by_name.entry(name.to_owned()).or_default();
            if same
                .iter()
                .any(|other| other.is_for(route.group(), route.version()))
            {
                return None;
            }
            same.push(Arc::clone(route));
        }
        routes.payload = routes.payload.max(route.payload);
        Some(routes)
    }

    /// The same routes without the one that is `route` itself.
    pub(super) fn without(&self, route: &Arc<Route>) -> Self {
        let mut routes = self.clone();
        for same in routes.by_name.values_mut() {
            same.retain(|other| !Arc::ptr_eq(other, route));
        }
        routes.by_name.retain(|_, same| !same.is_empty());
        let limits = routes.by_name.values().flatten().map(|route| route.payload);
        routes.payload = limits.max().unwrap_or(0);
        routes
    }

    /// The longest body of a request that any of them takes. Where there is none it takes a request to say so.
    pub(super) fn payload(&self) -> usize {
        match self.payload {
            0 => DEFAULT_PAYLOAD,
            payload => payload,
        }
    }

    /// What `request` asks for.
    ///
    /// # Errors
    ///
    /// There is no such service or method; what there is instead.
    pub(super) fn find(&self, request: &Request<'_>) -> Result<(&Arc<Route>, MethodRef), Refusal> {
        let asked = Asked::of(request);
        let named = [
            Some(asked.path),
            asked.path.rsplit('/').next(),
            asked.interface,
        ]
        .into_iter()
        .flatten()
        .find_map(|name| self.by_name.get(name))
        .ok_or_else(|| self.unknown_service(&asked))?;
        let route = named
            .iter()
            .find(|route| route.is_for(asked.group, asked.version))
            .ok_or_else(|| unknown_version(&asked, named))?;
        let (name, descriptor) = (&*request.method, &*request.descriptor);
        if let Some(method) = route.descriptor.find_exact(name, descriptor) {
            return Ok((route, method));
        }
        let types = descriptor::names(descriptor).map_err(|error| Refusal::undecodable(&error))?;
        let method = route.descriptor.find_overload(name, Types::Named(&types));
        let method = method.map_err(|error| Refusal::undecodable(&error))?;
        Ok((route, method))
    }

    fn unknown_service(&self, asked: &Asked<'_>) -> Refusal {
        let keys = keys(self.by_name.values().flatten());
        let text = format!("Not found exported service: {asked}; exported here: {keys}");
        Refusal::new(BAD_REQUEST, text)
    }
}

impl Route {
    /// A route for `invoker` at `url`, whose parameters say under which key and with which limits.
    ///
    /// # Errors
    ///
    /// A parameter with a bad value.
    pub(super) fn new(
        url: &Url,
        descriptor: Arc<ServiceDescriptor>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<Self, UrlError> {
        let key = url.service_key();
        Ok(Self {
            path: url.path().to_owned(),
            payload: payload_limit(url)?,
            key: Arc::new(key),
            descriptor,
            invoker,
        })
    }

    /// What callers may call it.
    fn names(&self) -> BTreeSet<&str> {
        let names = [self.key.interface(), &self.path].into_iter();
        names.filter(|name| !name.is_empty()).collect()
    }

    fn group(&self) -> &str {
        self.key.group().unwrap_or_default()
    }

    fn version(&self) -> &str {
        known_version(self.key.version().unwrap_or_default())
    }

    /// Whether it is the one of `group` and `version`, empty where there is none.
    fn is_for(&self, group: &str, version: &str) -> bool {
        self.group() == group && self.version() == version
    }
}

/// What a request says about the service that it is for: the attachments go before the values in front of the arguments.
struct Asked<'a> {
    path: &'a str,
    interface: Option<&'a str>,
    group: &'a str,
    version: &'a str,
}

impl<'a> Asked<'a> {
    fn of(request: &'a Request<'_>) -> Self {
        let beside = &request.attachments;
        Self {
            path: beside.get("path").unwrap_or(&request.path),
            interface: beside.get("interface"),
            group: beside.get("group").unwrap_or_default(),
            version: known_version(beside.get("version").unwrap_or(&request.version)),
        }
    }
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = ServiceKey::new(self.path)
            .with_group(self.group)
            .with_version(self.version);
        write!(f, "`{key}`")
    }
}

/// Peers have several ways to say that a service has no version.
fn known_version(version: &str) -> &str {
    match version {
        "0.0.0" | "*" => "",
        version => version,
    }
}

fn unknown_version(asked: &Asked<'_>, there: &[Arc<Route>]) -> Refusal {
    let text = format!(
        "Service not found: {asked} is not exported here under that group and version; there are {}",
        keys(there)
    );
    Refusal::new(BAD_REQUEST, text)
}

/// The first few keys, in order.
fn keys<'a>(routes: impl IntoIterator<Item = &'a Arc<Route>>) -> String {
    let keys: BTreeSet<_> = routes.into_iter().map(|route| &*route.key).collect();
    let mut text = keys
        .iter()
        .take(LISTED)
        .map(|key| format!("`{key}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match keys.len() {
        0 => "nothing".clone_into(&mut text),
        all if all > LISTED => text = format!("{text} and {} more", all - LISTED),
        _ => {}
    }
    text
}

/// Enough to spot a typing error by.
const LISTED: usize = 8;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use dubbo_core::{
        attachments::Attachments,
        provider::Service,
        service::{CallKind, MethodDescriptor},
    };

    use super::*;

    fn route(url: &str) -> Arc<Route> {
        let url: Url = url.parse().expect(url);
        let method = |name: &'static str, parameters: &[&'static str]| {
            let parameters = parameters.iter().copied();
            MethodDescriptor::java(name, CallKind::Unary, parameters, "void")
        };
        let descriptor = Arc::new(ServiceDescriptor::new(
            "a.B",
            vec![
                method("greet", &["java.lang.String"]),
                method("sum", &["int", "int"]),
                method("sum", &["long", "long"]),
            ],
        ));
        let service = Service::builder(Arc::clone(&descriptor), "T").build();
        let invoker = service.into_invoker(url.clone());
        Arc::new(Route::new(&url, descriptor, invoker).expect("valid"))
    }

    fn routes(urls: &[&str]) -> Routes {
        urls.iter().fold(Routes::default(), |routes, url| {
            routes.with(&route(url)).expect("free")
        })
    }

    fn request<'a>(
        path: &'a str,
        version: &'a str,
        method: &'a str,
        types: &'a str,
    ) -> Request<'a> {
        Request {
            protocol: "2.0.2".into(),
            path: path.into(),
            version: version.into(),
            method: method.into(),
            descriptor: types.into(),
            arguments: Bytes::new(),
            nulls: Vec::new(),
            attachments: Attachments::new(),
        }
    }

    fn find(routes: &Routes, request: &Request<'_>) -> Result<String, (u8, String)> {
        let found = routes.find(request);
        found
            .map(|(route, method)| {
                let java = method.descriptor().java.as_ref().expect("of Java");
                format!("{}#{}({java})", route.key, method.name())
            })
            .map_err(|refusal| (refusal.status, refusal.text))
    }

    #[test]
    fn path_group_and_version_choose_and_no_version_has_several_names() {
        let routes = routes(&[
            "dubbo://h/a.B?interface=a.B",
            "dubbo://h/a.B?interface=a.B&group=g",
            "dubbo://h/a.B?interface=a.B&group=g&version=1.0.0",
        ]);
        for (group, version, want) in [
            ("", "", Some("a.B")),
            ("", "0.0.0", Some("a.B")),
            ("", "*", Some("a.B")),
            ("g", "0.0.0", Some("g/a.B")),
            ("g", "1.0.0", Some("g/a.B:1.0.0")),
            ("", "1.0.0", None),
            ("G", "", None),
        ] {
            let mut request = request("a.B", version, "greet", "Ljava/lang/String;");
            if !group.is_empty() {
                request.attachments.insert("group", group.to_owned());
            }
            let got = find(&routes, &request).ok();
            let want = want.map(|key| format!("{key}#greet(java.lang.String)"));
            assert_eq!(got, want, "{group}/{version}");
        }
    }

    #[test]
    fn attachments_go_before_the_values_of_the_body() {
        let routes = routes(&["dubbo://h/a.B?interface=a.B&version=2"]);
        let mut request = request("x.Y", "1", "greet", "Ljava/lang/String;");
        assert!(find(&routes, &request).is_err());
        request.attachments.insert("path", "a.B");
        assert!(find(&routes, &request).is_err());
        request.attachments.insert("version", "2");
        assert!(find(&routes, &request).is_ok());
    }

    #[test]
    fn a_path_may_have_a_context_in_front_at_either_end() {
        let with = routes(&["dubbo://h/ctx/a.B?interface=a.B"]);
        let without = routes(&["dubbo://h/a.B?interface=a.B"]);
        for (path, interface) in [("ctx/a.B", None), ("a.B", None), ("own-name", Some("a.B"))] {
            for routes in [&with, &without] {
                let mut request = request(path, "", "greet", "Ljava/lang/String;");
                if let Some(interface) = interface {
                    request.attachments.insert("interface", interface);
                }
                assert!(find(routes, &request).is_ok(), "{path}");
            }
        }
    }

    #[test]
    fn overloads_are_told_apart_by_types_and_other_methods_by_their_name() {
        let routes = routes(&["dubbo://h/a.B?interface=a.B"]);
        let find = |method, types| find(&routes, &request("a.B", "", method, types));
        assert_eq!(find("sum", "JJ").as_deref(), Ok("a.B#sum(long, long)"));
        // dubbo-go has no other whole number than long, and no type for nil.
        for types in ["Ljava/lang/Object;", "V", "I"] {
            assert_eq!(
                find("greet", types).as_deref(),
                Ok("a.B#greet(java.lang.String)")
            );
        }
        for (method, types, part) in [
            ("sum", "VV", "sum(int, int), sum(long, long)"),
            ("greet", "", "no method `greet` with 0 parameters"),
            ("nope", "", "no method `nope`; there are greet, sum"),
        ] {
            let (status, text) = find(method, types).expect_err(method);
            assert_eq!(status, BAD_REQUEST);
            assert!(
                text.starts_with("Fail to decode request due to: "),
                "{text}"
            );
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn an_answer_in_the_negative_names_what_there_is() {
        let some = routes(&[
            "dubbo://h/a.B?interface=a.B",
            "dubbo://h/a.B?interface=a.B&group=g&version=1.0.0",
        ]);
        let mut request = request("a.C", "1", "greet", "");
        assert_eq!(
            find(&some, &request),
            Err((
                BAD_REQUEST,
                "Not found exported service: `a.C:1`; exported here: `a.B`, `g/a.B:1.0.0`"
                    .to_owned()
            ))
        );
        request.attachments.insert("path", "a.B");
        request.attachments.insert("group", "h");
        assert_eq!(
            find(&some, &request),
            Err((
                BAD_REQUEST,
                "Service not found: `h/a.B:1` is not exported here under that group and version; there are `a.B`, \
                 `g/a.B:1.0.0`"
                    .to_owned()
            ))
        );
        let (_, text) = find(&Routes::default(), &request).expect_err("nothing");
        assert!(text.ends_with("exported here: nothing"), "{text}");
        let many: Vec<_> = (0..12).map(|n| format!("dubbo://h/S{n:02}")).collect();
        let many = routes(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let (_, text) = find(&many, &request).expect_err("unknown");
        assert!(text.ends_with("`S07` and 4 more"), "{text}");
    }

    #[test]
    fn a_key_is_taken_once_and_free_again() {
        let first = route("dubbo://h/ctx/a.B?interface=a.B&payload=100");
        let routes = Routes::default().with(&first).expect("free");
        for taken in [
            "dubbo://h/a.B?version=0.0.0",
            "dubbo://h/ctx/a.B?interface=a.C",
        ] {
            assert!(routes.with(&route(taken)).is_none(), "{taken}");
        }
        let both = routes
            .with(&route("dubbo://h/a.B?version=1&payload=200"))
            .expect("free");
        assert_eq!((routes.payload(), both.payload()), (100, 200));
        let empty = routes.without(&first);
        assert!(empty.by_name.is_empty() && empty.with(&first).is_some());
    }
}
