//! Which service takes a call: by interface, and by exact group and version (`docs/spec/triple.md` §1.4).

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use dubbo_core::{
    invoker::Invoker,
    payload::Rules,
    provider::Service,
    service::{MethodRef, ServiceDescriptor, ServiceKey},
    status::Status,
    url::Url,
};
use http::{HeaderMap, HeaderName, Uri};
use percent_encoding::percent_decode_str;

use super::{
    mounts::{Mount, Mounts},
    pace::Paces,
};
use crate::triple::{
    headers::{TRI_SERVICE_GROUP, TRI_SERVICE_VERSION},
    limits::Limits,
};

/// One exported service.
pub(super) struct Route {
    pub(super) key: Arc<ServiceKey>,
    pub(super) descriptor: Arc<ServiceDescriptor>,
    pub(super) invoker: Arc<dyn Invoker>,
    pub(super) limits: Limits,
    /// How soon calls of its methods are over.
    pub(super) paces: Paces,
    /// By which requests are read.
    pub(super) rules: Rules,
    /// A service of the server itself: it answers whatever group and version a caller names, and steps back for a
    /// service of that interface that is exported.
    built_in: bool,
    /// How health checks name it.
    health_key: String,
}

/// Everything that one server serves. Never changed, only replaced.
#[derive(Clone, Default)]
pub(super) struct Routes {
    by_interface: BTreeMap<String, Vec<Arc<Route>>>,
    mounts: Mounts,
}

impl Routes {
    /// The same routes and one more; `None` when something has its key already.
    pub(super) fn with(&self, route: Arc<Route>) -> Option<Self> {
        let mut routes = self.clone();
        let same = routes
            .by_interface
            .entry(route.key.interface().to_owned())
            .or_default();
        same.retain(|other| !other.built_in);
        if same.iter().any(|other| other.key == route.key) {
            return None;
        }
        same.push(route);
        Some(routes)
    }

    /// The same routes without the one that is `route` itself.
    pub(super) fn without(&self, route: &Arc<Route>) -> Self {
        let mut routes = self.clone();
        if let Some(same) = routes.by_interface.get_mut(route.key.interface()) {
            same.retain(|other| !Arc::ptr_eq(other, route));
            if same.is_empty() {
                routes.by_interface.remove(route.key.interface());
            }
        }
        routes
    }

    /// The same routes and one more mount; `None` when there is one at its path already.
    pub(super) fn with_mount(&self, mount: Mount) -> Option<Self> {
        let mounts = self.mounts.with(mount)?;
        let by_interface = self.by_interface.clone();
        Some(Self {
            by_interface,
            mounts,
        })
    }

    /// The same routes without what is mounted at the path of `mount`.
    pub(super) fn without_mount(&self, mount: &Mount) -> Self {
        let mut routes = self.clone();
        routes.mounts = routes.mounts.without(mount);
        routes
    }

    /// Who answers at `path` when it is none of a method.
    pub(super) fn mount(&self, path: &str) -> Option<&Mount> {
        self.mounts.find(path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Route>> {
        self.by_interface.values().flatten()
    }

    /// What `uri` and `headers` ask for.
    ///
    /// # Errors
    ///
    /// Code 12 with what there is instead.
    pub(super) fn find(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(Arc<Route>, MethodRef), Status> {
        let path = uri.path();
        let (interface, method) = path
            .strip_prefix('/')
            .and_then(|rest| rest.rsplit_once('/'))
            .ok_or_else(|| {
                Status::unimplemented(format!(
                    "the path {path:?} names no method; it should be /interface/method"
                ))
            })?;
        let (interface, method) = (&*decoded(interface), &*decoded(method));
        let routes = self
            .by_interface
            .get(interface)
            .ok_or_else(|| self.unknown_service(interface))?;
        let route = routes
            .iter()
            .find(|route| route.matches(headers))
            .ok_or_else(|| unknown_version(interface, headers, routes))?;
        let method = route
            .descriptor
            .find(method)
            .ok_or_else(|| unknown_method(&route.key, method, &route.descriptor))?;
        Ok((Arc::clone(route), method))
    }

    fn unknown_service(&self, interface: &str) -> Status {
        Status::unimplemented(format!(
            "no service `{interface}` is exported here; there are {}",
            List(self.by_interface.keys().map(String::as_str))
        ))
    }
}

/// A part of a path, of which whatever its sender liked may be percent-encoded: `%24invoke`.
fn decoded(part: &str) -> Cow<'_, str> {
    if part.contains('%') {
        percent_decode_str(part).decode_utf8_lossy()
    } else {
        part.into()
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
        rules: Rules,
    ) -> Result<Self, String> {
        let key = url.service_key();
        Ok(Self {
            health_key: health_key(&key),
            key: Arc::new(key),
            paces: Paces::of(descriptor.methods().len()),
            descriptor,
            invoker,
            limits: Limits::of_server(url).map_err(|error| error.to_string())?,
            rules,
            built_in: false,
        })
    }

    /// A route for a service of the server itself.
    pub(super) fn built_in(service: Service) -> Self {
        let descriptor = Arc::clone(service.descriptor());
        let key = ServiceKey::new(descriptor.interface());
        let url = Url::new("tri", "localhost").with_path(descriptor.interface());
        Self {
            health_key: health_key(&key),
            key: Arc::new(key),
            paces: Paces::of(descriptor.methods().len()),
            descriptor,
            invoker: service.into_invoker(url),
            limits: Limits::DEFAULT,
            rules: Rules::NONE,
            built_in: true,
        }
    }

    /// Whether a health check for `service` is about this: by interface, or by key.
    pub(super) fn is_called(&self, service: &str) -> bool {
        self.key.interface() == service || self.health_key == service
    }

    fn matches(&self, headers: &HeaderMap) -> bool {
        self.built_in
            || (says(headers, &TRI_SERVICE_GROUP, self.key.group())
                && says(headers, &TRI_SERVICE_VERSION, self.key.version()))
    }
}

/// Whether a header has the value; an empty one is none.
fn says(headers: &HeaderMap, name: &HeaderName, want: Option<&str>) -> bool {
    match (headers.get(name), want) {
        (None, want) => want.is_none(),
        (Some(value), want) => value.as_bytes() == want.unwrap_or_default().as_bytes(),
    }
}

/// As dubbo-go writes it: version `0.0.0` is no version.
fn health_key(key: &ServiceKey) -> String {
    if key.version() == Some("0.0.0") {
        key.clone().with_version("").to_string()
    } else {
        key.to_string()
    }
}

fn unknown_version(interface: &str, headers: &HeaderMap, routes: &[Arc<Route>]) -> Status {
    let asked = |name| match headers.get(name) {
        Some(value) => format!("{:?}", String::from_utf8_lossy(value.as_bytes())),
        None => "none".to_owned(),
    };
    let keys: Vec<_> = routes.iter().map(|route| route.key.to_string()).collect();
    Status::unimplemented(format!(
        "`{interface}` is not exported here under group {} and version {}; there are {}",
        asked(TRI_SERVICE_GROUP),
        asked(TRI_SERVICE_VERSION),
        List(keys.iter().map(String::as_str))
    ))
}

fn unknown_method(key: &ServiceKey, method: &str, descriptor: &ServiceDescriptor) -> Status {
    Status::unimplemented(format!(
        "`{key}` has no method `{method}`; there are {}",
        List(descriptor.methods().iter().map(|method| &*method.name))
    ))
}

/// The first few of many names.
struct List<I>(I);

impl<'a, I: Iterator<Item = &'a str> + Clone> fmt::Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.0.clone();
        let Some(first) = names.next() else {
            return f.write_str("none");
        };
        write!(f, "`{first}`")?;
        for name in names.by_ref().take(LISTED - 1) {
            write!(f, ", `{name}`")?;
        }
        match names.count() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Enough to spot a typing error by; the text has to fit into a header.
const LISTED: usize = 8;

#[cfg(test)]
mod tests {
    use dubbo_core::service::{CallKind, MethodDescriptor};
    use http::HeaderValue;

    use super::*;

    fn route(key: &str) -> Arc<Route> {
        let key: ServiceKey = key.parse().expect(key);
        let descriptor = Arc::new(ServiceDescriptor::new(
            key.interface().to_owned(),
            vec![MethodDescriptor::new("Greet", CallKind::Unary)],
        ));
        let url = Url::new("tri", "localhost")
            .with_path(key.interface())
            .with_param("group", key.group().unwrap_or_default())
            .with_param("version", key.version().unwrap_or_default());
        let service = Service::builder(Arc::clone(&descriptor), "T").build();
        let invoker = service.into_invoker(url.clone());
        Arc::new(Route::new(&url, descriptor, invoker, Rules::NONE).expect("valid"))
    }

    fn routes(keys: &[&str]) -> Routes {
        keys.iter().fold(Routes::default(), |routes, key| {
            routes.with(route(key)).expect("free")
        })
    }

    fn find(routes: &Routes, path: &str, group: &str, version: &str) -> Result<String, String> {
        let uri = Uri::try_from(path).expect("legal");
        let headers = [(TRI_SERVICE_GROUP, group), (TRI_SERVICE_VERSION, version)]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value): (HeaderName, _)| {
                (name, HeaderValue::from_str(value).expect("legal"))
            })
            .collect();
        routes
            .find(&uri, &headers)
            .map(|(route, method)| format!("{}#{}", route.key, method.name()))
            .map_err(|status| {
                assert_eq!(status.code().number(), 12);
                status.message().to_owned()
            })
    }

    #[test]
    fn group_and_version_choose_exactly() {
        let routes = routes(&["a.B", "g/a.B", "g/a.B:1.0.0"]);
        for (group, version, want) in [
            ("", "", Some("a.B#Greet")),
            ("g", "", Some("g/a.B#Greet")),
            ("g", "1.0.0", Some("g/a.B:1.0.0#Greet")),
            ("", "1.0.0", None),
            ("G", "", None),
            ("", "0.0.0", None),
        ] {
            let got = find(&routes, "/a.B/greet", group, version);
            assert_eq!(got.ok().as_deref(), want, "{group}/{version}");
        }
    }

    #[test]
    fn an_answer_in_the_negative_names_what_there_is() {
        let some = routes(&["a.B", "g/a.B:1.0.0"]);
        for (path, group, want) in [
            (
                "/a.C/Greet",
                "",
                "no service `a.C` is exported here; there are `a.B`",
            ),
            (
                "/a.B/Greet",
                "h",
                "`a.B` is not exported here under group \"h\" and version none; there are `a.B`, `g/a.B:1.0.0`",
            ),
            (
                "/a.B/Nope",
                "",
                "`a.B` has no method `Nope`; there are `Greet`",
            ),
            (
                "/Greet",
                "",
                "the path \"/Greet\" names no method; it should be /interface/method",
            ),
        ] {
            assert_eq!(find(&some, path, group, ""), Err(want.to_owned()));
        }
        let many: Vec<_> = (0..12).map(|n| format!("a.S{n:02}")).collect();
        let many = routes(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let error = find(&many, "/x.Y/z", "", "").expect_err("unknown");
        assert!(error.ends_with("`a.S07` and 4 more"), "{error}");
        let error = find(&Routes::default(), "/x.Y/z", "", "").expect_err("unknown");
        assert!(error.ends_with("there are none"), "{error}");
    }

    #[test]
    fn health_knows_a_service_by_key_and_by_interface() {
        for (key, names, others) in [
            ("a.B", &["a.B"][..], &["", "a", "A.B"][..]),
            (
                "g/a.B:1.0.0",
                &["a.B", "g/a.B:1.0.0"],
                &["g/a.B", "a.B:1.0.0"],
            ),
            ("g/a.B:0.0.0", &["a.B", "g/a.B"], &["g/a.B:0.0.0"]),
        ] {
            let route = route(key);
            for (list, want) in [(names, true), (others, false)] {
                for name in list {
                    assert_eq!(route.is_called(name), want, "{key}: {name}");
                }
            }
        }
    }

    #[test]
    fn a_built_in_service_answers_any_version_and_steps_back_for_an_exported_one() {
        let descriptor = Arc::clone(&route("a.B").descriptor);
        let built_in = Route::built_in(Service::builder(descriptor, "T").build());
        let routes = Routes::default().with(Arc::new(built_in)).expect("free");
        assert_eq!(
            find(&routes, "/a.B/Greet", "g", "9").as_deref(),
            Ok("a.B#Greet")
        );
        let routes = routes.with(route("a.B")).expect("it steps back");
        assert!(find(&routes, "/a.B/Greet", "g", "9").is_err());
        assert!(find(&routes, "/a.B/Greet", "", "").is_ok());
    }

    #[test]
    fn a_key_is_taken_once_and_free_again() {
        let first = route("g/a.B");
        let routes = Routes::default().with(Arc::clone(&first)).expect("free");
        assert!(routes.with(route("g/a.B")).is_none());
        assert!(routes.with(route("a.B")).is_some());
        // Another route of that key is not the one that was exported.
        assert_eq!(routes.without(&route("g/a.B")).iter().count(), 1);
        let empty = routes.without(&first);
        assert!(empty.iter().next().is_none() && empty.with(first).is_some());
    }
}
