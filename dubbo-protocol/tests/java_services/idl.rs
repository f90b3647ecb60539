//! Generic calls of a service with an IDL: `protobuf-json`.

use std::sync::Arc;

use dubbo_core::{
    codegen::ProtoJson,
    provider::Service,
    request::Request,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::Code,
};
use dubbo_protocol::java::GenericMode;
use serde::{Deserialize, Serialize};

use super::users::Exported;

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
struct Hello {
    #[prost(string, tag = "1")]
    name: String,
}

fn greeter() -> Service {
    let mut greet = MethodDescriptor::new("Greet", CallKind::Unary);
    greet.input = "greet.Hello".into();
    let descriptor = ServiceDescriptor::new("greet.Greeter", vec![greet]);
    Service::builder(Arc::new(descriptor), "Greeter")
        .unary::<ProtoJson<Hello>, ProtoJson<Hello>, _, _>(0, async |request: Request<Hello>| {
            let name = format!("hello {}", request.into_message().name);
            Ok(Hello { name }.into())
        })
        .build()
}

#[tokio::test]
async fn a_message_goes_as_json_text() {
    for exported in Exported::with_streams(greeter).await {
        let client = exported.generic().with_mode(GenericMode::ProtobufJson);
        let types = Some(&["greet.Hello"][..]);
        for method in ["Greet", "greet"] {
            let json = client.invoke_json(method, types, r#"[{"name":"x"}]"#);
            let json = json.expect("JSON").await.expect("it works");
            assert_eq!(json.message(), r#"{"name":"hello x"}"#);
        }
        let message = dubbo_hessian2::Value::map([("name".into(), "y".into())]);
        let value = client.invoke("Greet", None, vec![message]).await;
        let value = value.expect("it works").into_message();
        let want = dubbo_hessian2::Value::map([("name".into(), "hello y".into())]);
        assert_eq!(value, want);
    }
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    for exported in Exported::with_streams(greeter).await {
        let client = exported.generic().with_mode(GenericMode::ProtobufJson);
        for (args, code, part) in [
            (
                "[]",
                Code::Unimplemented,
                "no method `Greet` with 0 parameters",
            ),
            (
                r#"["a","b"]"#,
                Code::Unimplemented,
                "no method `Greet` with 2 parameters",
            ),
            ("[null]", Code::InvalidArgument, "is not usable"),
            (r#"[{"name":7}]"#, Code::InvalidArgument, "is not usable"),
        ] {
            let call = client.invoke_json("Greet", None, args).expect("JSON");
            let status = call.await.expect_err(args);
            assert_eq!(status.code(), code, "{status}");
            assert!(status.message().contains(part), "{status}");
        }
    }
}

#[tokio::test]
async fn the_other_modes_are_not_for_messages() {
    for exported in Exported::with_streams(greeter).await {
        for mode in [
            GenericMode::Map,
            GenericMode::Gson,
            GenericMode::Bean,
            GenericMode::RawReturn,
        ] {
            let client = exported.generic().with_mode(mode);
            let status = client
                .invoke("Greet", None, vec!["x".into()])
                .await
                .expect_err("refused");
            assert_eq!(status.code(), Code::Unimplemented);
            let text = format!(
                "takes messages of an IDL, which generic={mode} is not for; use protobuf-json"
            );
            assert!(status.message().contains(&text), "{status}");
        }
    }
}
