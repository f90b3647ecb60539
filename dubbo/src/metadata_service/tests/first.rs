//! What the first version answers, by the classic protocol and in Triple's wrapper: the same.

use std::{collections::HashMap, sync::Arc};

use dubbo_core::{
    call::Stub,
    discovery::ServiceInstance,
    request::Response,
    service::CallKind,
    status::{Code, Status},
    url::Url,
};
use dubbo_hessian2::Value;
use dubbo_protocol::java::{Args, MethodSpec, Ret, descriptor};

use super::rig::{Application, PROVIDER, Servers, V1, fixture, protocols, serve};

#[tokio::test]
async fn every_method_answers_the_same_by_both_protocols() {
    let urls = [
        "dubbo://10.0.0.1:20000/a.B?group=g&interface=a.B&version=1.0.0",
        "tri://10.0.0.1:50051/a.C?interface=a.C",
    ];
    let parsed = |text: &&str| text.parse().expect("a URL");
    let definitions = [
        ("g/a.B:1.0.0", "{\"canonicalName\":\"a.B\"}"),
        ("a.C", "{}"),
    ];
    let mut instance = ServiceInstance::new(PROVIDER, "10.0.0.1", 50051);
    for (key, value) in [("dubbo.metadata.revision", "1"), ("zone", "\"a\"")] {
        instance.metadata.insert(key.to_owned(), value.to_owned());
    }
    let servers = serve(Application {
        exported: urls.iter().map(parsed).collect(),
        subscribed: urls[1..].iter().map(parsed).collect(),
        definitions: definitions
            .iter()
            .map(|(key, json)| ((*key).to_owned(), (*json).into()))
            .collect::<HashMap<_, _>>(),
        instance: Some(instance),
        ..Application::with(PROVIDER, [fixture()])
    })
    .await;
    let set = |urls: &[&str]| {
        let urls = urls.iter().map(|url| Value::from(*url));
        Value::typed_list("java.util.TreeSet", urls)
    };
    let nothing = || Value::from("");
    let text = |text: &str| Value::from(text);
    for (method, arguments, want) in [
        ("serviceName", &[][..], text(PROVIDER)),
        ("version", &[], text("1.0.0")),
        ("getExportedURLs", &[], set(&urls)),
        ("getExportedURLs", &[Some("a.C")], set(&urls[1..])),
        (
            "getExportedURLs",
            &[Some("a.B"), Some("g"), Some("1.0.0"), Some("dubbo")],
            set(&urls[..1]),
        ),
        ("getSubscribedURLs", &[], set(&urls[1..])),
        (
            "getServiceDefinition",
            &[Some("a.B"), Some("1.0.0"), Some("g")],
            text(definitions[0].1),
        ),
        (
            "getServiceDefinition",
            &[Some("g/a.B:1.0.0")],
            text(definitions[0].1),
        ),
        (
            "getServiceDefinition",
            &[Some("a.C"), None, Some("")],
            text(definitions[1].1),
        ),
        (
            "getServiceDefinition",
            &[Some("a.C")],
            text(definitions[1].1),
        ),
        // As Java's: nothing of what is not known.
        ("getServiceDefinition", &[Some("a.B")], nothing()),
        ("getServiceDefinition", &[None], nothing()),
        ("getServiceDefinition", &[Some("/:*")], nothing()),
        (
            "getServiceDefinition",
            &[Some("a.B"), Some("g"), Some("1.0.0")],
            nothing(),
        ),
        ("getInstanceMetadataChangedListenerMap", &[], Value::map([])),
        (
            "getAndListenInstanceMetadata",
            &[Some("consumer"), None],
            text(r#"{"dubbo.metadata.revision":"1","zone":"\"a\""}"#),
        ),
    ] {
        let types = types(method, arguments.len());
        for protocol in ["dubbo", "tri"] {
            let values = arguments
                .iter()
                .map(|text| text.map_or(Value::Null, Value::from));
            let answer = ask(&servers, protocol, method, &types, values.collect()).await;
            let answer = answer.unwrap_or_else(|status| panic!("{method}: {status}"));
            assert_eq!(answer, want, "{method} {arguments:?} by {protocol}");
        }
    }
}

#[tokio::test]
async fn an_instance_that_no_registry_knows_says_nothing_and_a_listener_is_refused() {
    let servers = serve(Application::with(PROVIDER, [fixture()])).await;
    let method = "getAndListenInstanceMetadata";
    let listener = Value::object("com.example.Listener", [("id", 1.into())]);
    for protocol in ["dubbo", "tri"] {
        let ask = |listener| {
            let arguments = vec!["consumer".into(), listener];
            ask(&servers, protocol, method, &[TEXT, LISTENER], arguments)
        };
        assert_eq!(ask(Value::Null).await.expect("an answer"), Value::Null);
        let refused = ask(listener.clone()).await.expect_err("a listener");
        assert_eq!(refused.code(), Code::Unimplemented, "{protocol}: {refused}");
        assert!(refused.message().contains("takes no listener"), "{refused}");
    }
}

#[tokio::test]
async fn what_only_java_could_read_or_do_is_refused_by_name() {
    let servers = serve(Application::with(PROVIDER, [fixture()])).await;
    for (method, types, arguments) in [
        ("getMetadataURL", &[][..], vec![]),
        ("getExportedServiceURLs", &[], vec![]),
        // It would let anybody say what an instance says about itself.
        ("exportInstanceMetadata", &[TEXT], vec!["{}".into()]),
    ] {
        for protocol in ["dubbo", "tri"] {
            let asked = ask(&servers, protocol, method, types, arguments.clone()).await;
            let refused = asked.expect_err(method);
            assert!(refused.message().contains(method), "{protocol}: {refused}");
        }
    }
}

fn types(method: &str, count: usize) -> Vec<&'static str> {
    match method {
        "getAndListenInstanceMetadata" => vec![TEXT, LISTENER],
        _ => vec![TEXT; count],
    }
}

/// Calls as a consumer does that has the interface.
async fn ask(
    servers: &Servers,
    protocol: &str,
    method: &'static str,
    types: &[&'static str],
    arguments: Vec<Value>,
) -> Result<Value, Status> {
    let address = match protocol {
        "tri" => servers.tri,
        _ => servers.dubbo,
    };
    let url = Url::new(protocol, address.ip().to_string())
        .with_port(address.port())
        .with_path(V1)
        .with_params([("interface", V1), ("group", PROVIDER), ("version", "1.0.0")]);
    let method = MethodSpec::new(method)
        .parameters_as(types.iter().copied())
        .returns("java.lang.Object")
        .kind(CallKind::Unary);
    let described = Arc::new(descriptor(V1, Some("1.0.0"), None, vec![method]));
    let protocols = protocols();
    let invoker = protocols[protocol]
        .refer(&url, Arc::clone(&described))
        .await;
    let key = url.service_key().clone();
    let stub = Stub::new(invoker.expect("connects"), key, described);
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().expect("as many as there are types");
    let response = match types.len() {
        0 => stub.unary::<Args<()>, Ret<Value>>(0, ().into()).await,
        1 => {
            stub.unary::<Args<(Value,)>, Ret<Value>>(0, (next(),).into())
                .await
        }
        2 => {
            let arguments = (next(), next());
            stub.unary::<Args<(Value, Value)>, Ret<Value>>(0, arguments.into())
                .await
        }
        3 => {
            let arguments = (next(), next(), next());
            stub.unary::<Args<(Value, Value, Value)>, Ret<Value>>(0, arguments.into())
                .await
        }
        _ => {
            let arguments = (next(), next(), next(), next());
            stub.unary::<Args<(Value, Value, Value, Value)>, Ret<Value>>(0, arguments.into())
                .await
        }
    };
    response.map(Response::into_message)
}

const TEXT: &str = "java.lang.String";
const LISTENER: &str = "org.apache.dubbo.metadata.InstanceMetadataChangedListener";
