//! The first version of the metadata service: a Java interface (`docs/spec/metadata.md` §3.1).

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use dubbo_core::{
    invocation::{Body, Invocation, Reply, RpcResult},
    payload::{Adapter as _, Codec, Payload},
    provider::Service,
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    status::Status,
    url::Url,
};
use dubbo_hessian2::{Value, java::TreeSet, to_vec};
use dubbo_metadata::model::MetadataInfo;
use dubbo_protocol::java::{Args, Arguments, JavaService, MethodSpec, descriptor, with_built_ins};

use super::content::Content;

pub(super) const INTERFACE: &str = "org.apache.dubbo.metadata.MetadataService";

pub(super) const VERSION: &str = "1.0.0";

/// What consumers call: `getMetadataInfo` alone.
pub(super) fn consumed() -> ServiceDescriptor {
    let method = MethodSpec::new(GET_METADATA_INFO)
        .parameters_as(["java.lang.String"])
        .returns(METADATA_INFO)
        .idempotent();
    descriptor(INTERFACE, Some(VERSION), None, vec![method])
}

/// The service. What it has no method for is refused by name.
pub(super) fn service(content: Arc<dyn Content>) -> Service {
    let described = urls(JavaService::new(INTERFACE).version(VERSION), &content);
    let described = definitions(described, &content);
    let named = Arc::clone(&content);
    let told = Arc::clone(&content);
    let described = described
        .method("serviceName", move |_: Request<()>| {
            let name = named.application().to_owned();
            async { Ok(name.into()) }
        })
        .method("version", async |_: Request<()>| {
            Ok(VERSION.to_owned().into())
        })
        .method(
            MethodSpec::new("getAndListenInstanceMetadata")
                .parameters_as(["java.lang.String", LISTENER]),
            move |call: Request<(Option<String>, Value)>| {
                let (_, listener) = call.into_message();
                let answer = instance_metadata(&*told, &listener);
                async { answer }
            },
        )
        .method(
            "getInstanceMetadataChangedListenerMap",
            async |_: Request<()>| Ok(BTreeMap::<String, Value>::new().into()),
        )
        .build();

    let first = described.descriptor().methods().len();
    let methods = [
        (GET_METADATA_INFO, &["java.lang.String"][..], METADATA_INFO),
        ("getMetadataInfos", &[], "java.util.List"),
    ];
    let methods = methods.map(|(name, parameters, returns)| {
        MethodDescriptor::java(name, CallKind::Unary, parameters.iter().copied(), returns)
    });
    let all = Arc::clone(&content);
    let service = described
        .extend(methods)
        .raw(first, move |invocation| {
            let answer = metadata_info(&*content, invocation);
            async { answer }
        })
        .raw(first + 1, move |_| {
            let answer = metadata_infos(&*all);
            async { answer }
        })
        .build();
    with_built_ins(service)
}

/// Adds the methods that answer with URLs.
fn urls(service: JavaService, content: &Arc<dyn Content>) -> JavaService {
    type Text = Option<String>;
    let service = exported(service, content, |()| Asked::default());
    let service = exported(service, content, |(interface,): (Text,)| {
        Asked::of(interface)
    });
    let service = exported(service, content, |(interface, group): (Text, Text)| Asked {
        group,
        ..Asked::of(interface)
    });
    let service = exported(
        service,
        content,
        |(interface, group, version): (Text, Text, Text)| Asked {
            group,
            version,
            ..Asked::of(interface)
        },
    );
    let service = exported(
        service,
        content,
        |(interface, group, version, protocol): (Text, Text, Text, Text)| Asked {
            group,
            version,
            protocol,
            ..Asked::of(interface)
        },
    );
    let content = Arc::clone(content);
    service.method(
        MethodSpec::new("getSubscribedURLs").returns(SORTED_SET),
        move |_: Request<()>| {
            let urls = texts(&content.subscribed());
            async { Ok(urls.into()) }
        },
    )
}

/// Adds the methods that answer with a definition. Of what is not known they say nothing, as Java's.
fn definitions(service: JavaService, content: &Arc<dyn Content>) -> JavaService {
    type Text = Option<String>;
    let (by_parts, by_key) = (Arc::clone(content), Arc::clone(content));
    service
        .method(
            "getServiceDefinition",
            move |call: Request<(Text, Text, Text)>| {
                let (interface, version, group) = call.into_message();
                let key = ServiceKey::new(interface.unwrap_or_default())
                    .with_version(version.as_deref().unwrap_or_default())
                    .with_group(group.as_deref().unwrap_or_default());
                let definition = definition(&*by_parts, Some(&key));
                async { Ok(definition.into()) }
            },
        )
        .method("getServiceDefinition", move |call: Request<(Text,)>| {
            let (key,) = call.into_message();
            let key: Option<ServiceKey> = key.and_then(|key| key.parse().ok());
            let definition = definition(&*by_key, key.as_ref());
            async { Ok(definition.into()) }
        })
}

fn definition(content: &dyn Content, service: Option<&ServiceKey>) -> String {
    let definition = service.and_then(|service| content.definition(service));
    let definition = definition.map(|json| String::from_utf8_lossy(&json).into_owned());
    definition.unwrap_or_default()
}

/// What the instance says about itself, as a JSON object; null as long as no registry was told of it.
fn instance_metadata(
    content: &dyn Content,
    listener: &Value,
) -> Result<Response<Option<String>>, Status> {
    if *listener != Value::Null {
        return Err(Status::unimplemented(
            "getAndListenInstanceMetadata takes no listener here, because nobody would call it: leave it null, and watch \
             the instance in the registry",
        ));
    }
    let instance = content.instance();
    let metadata = instance.map(|instance| serde_json::to_string(&instance.metadata));
    let metadata = metadata.transpose().map_err(|error| {
        Status::internal(format!("the instance metadata cannot be written: {error}"))
            .with_source(error)
    })?;
    Ok(metadata.into())
}

/// Adds one of the methods that tell which services are exported.
fn exported<A: Arguments>(
    service: JavaService,
    content: &Arc<dyn Content>,
    asked: fn(A) -> Asked,
) -> JavaService {
    let content = Arc::clone(content);
    service.method(
        MethodSpec::new("getExportedURLs").returns(SORTED_SET),
        move |call: Request<A>| {
            let asked = asked(call.into_message());
            let urls = content.exported();
            let urls = texts(urls.iter().filter(|url| asked.is_for(url)));
            async { Ok(urls.into()) }
        },
    )
}

/// Which URLs are asked for. Java asks for all with no interface and with `*`; what it does not say about group and
/// version is that there is none.
#[derive(Default)]
struct Asked {
    interface: Option<String>,
    group: Option<String>,
    version: Option<String>,
    protocol: Option<String>,
}

impl Asked {
    fn of(interface: Option<String>) -> Self {
        let interface = interface.filter(|interface| interface != "*");
        Self {
            interface,
            ..Self::default()
        }
    }

    fn is_for(&self, url: &Url) -> bool {
        let Some(interface) = &self.interface else {
            return true;
        };
        let key = url.service_key();
        let same_version = |a: &str, b: &str| a == b || (is_no_version(a) && is_no_version(b));
        key.interface() == interface
            && key.group().unwrap_or_default() == self.group.as_deref().unwrap_or_default()
            && same_version(
                key.version().unwrap_or_default(),
                self.version.as_deref().unwrap_or_default(),
            )
            && self
                .protocol
                .as_deref()
                .is_none_or(|protocol| protocol.is_empty() || protocol == url.protocol())
    }
}

/// `docs/spec/metadata.md` §1.1.
fn is_no_version(version: &str) -> bool {
    matches!(version, "" | "0.0.0")
}

fn texts<'a>(urls: impl IntoIterator<Item = &'a Url>) -> TreeSet<String> {
    urls.into_iter().map(ToString::to_string).collect()
}

/// The metadata of the revision that is asked for; Java's null where there is none.
fn metadata_info(content: &dyn Content, invocation: Invocation) -> RpcResult {
    let method = invocation.method;
    let unusable = |why: String| Status::invalid_argument(format!("{method:?}: {why}"));
    let Body::Unary(payload) = invocation.body else {
        return Err(unusable("its argument is a stream".to_owned()));
    };
    let (revision,) = payload
        .decode::<Args<(Option<String>,)>>()
        .map_err(|error| unusable(error.to_string()).with_source(error))?
        .unwrap();
    let found = revision.and_then(|revision| content.find(&revision));
    let null = || Bytes::from_static(NULL);
    Ok(value(
        found.map_or_else(null, |published| published.hessian.clone()),
    ))
}

/// The current metadata for each registry.
fn metadata_infos(content: &dyn Content) -> RpcResult {
    let all = content.current();
    let all: Vec<&MetadataInfo> = all.iter().map(|published| &*published.info).collect();
    let list = to_vec(&all).map_err(|error| {
        Status::internal(format!("the metadata cannot be written: {error}")).with_source(error)
    })?;
    Ok(value(list.into()))
}

fn value(hessian: Bytes) -> Reply {
    Reply::new(Body::Unary(Payload::encoded(Codec::Hessian2, hessian)))
}

const GET_METADATA_INFO: &str = "getMetadataInfo";
const METADATA_INFO: &str = "org.apache.dubbo.metadata.MetadataInfo";
const SORTED_SET: &str = "java.util.SortedSet";
const LISTENER: &str = "org.apache.dubbo.metadata.InstanceMetadataChangedListener";
const NULL: &[u8] = b"N";
