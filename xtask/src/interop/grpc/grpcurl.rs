//! What grpcurl finds out by reflection, and what it calls by what it found: it knows no proto file. The present one speaks
//! reflection v1, the last one before it v1alpha alone.

use crate::failure::Failure;

use super::{
    super::build,
    target::Target,
    tool::{Address, Check, Tool},
};

/// grpcurl of today without and with TLS, and that of yesterday.
pub(super) fn tools(target: &Target) -> Result<[Tool; 3], Failure> {
    let plain = || Address::Apart(target.plain.clone());
    let present = build::grpcurl("interop/grpcurl")?;
    let old = build::grpcurl("interop/grpcurl-v1alpha")?;
    let cert = target.cert.display().to_string();
    let secure = Address::Apart(target.secure.clone());
    Ok([
        Tool::new("grpcurl", present.clone(), &["-plaintext"], plain()),
        Tool::new("grpcurl-tls", present, &["-cacert", &cert], secure),
        Tool::new("grpcurl-v1alpha", old, &["-plaintext"], plain()),
    ])
}

/// One that ends well.
const fn works(
    name: &'static str,
    about: &'static str,
    args: &'static [&'static str],
    what: &'static [&'static str],
    parts: &'static [&'static str],
) -> Check {
    Check {
        name,
        about,
        args,
        what,
        ends_well: true,
        parts,
    }
}

/// One that fails.
const fn fails(
    name: &'static str,
    about: &'static str,
    args: &'static [&'static str],
    what: &'static [&'static str],
    parts: &'static [&'static str],
) -> Check {
    let check = works(name, about, args, what, parts);
    Check {
        ends_well: false,
        ..check
    }
}

pub(super) const CHECKS: [Check; 25] = [
    works(
        "grpcurl_list",
        "the services, those of Java interfaces too",
        &[],
        &["list"],
        &[
            "dubbo.interop.v1.Greeter\n",
            "grpc.health.v1.Health\n",
            "grpc.reflection.v1.ServerReflection\n",
            "grpc.reflection.v1alpha.ServerReflection\n",
            "org.apache.dubbo.interop.UserService\n",
        ],
    ),
    works(
        "grpcurl_list_methods",
        "the methods of a service",
        &[],
        &["list", "dubbo.interop.v1.Greeter"],
        &[
            "dubbo.interop.v1.Greeter.Greet\n",
            "dubbo.interop.v1.Greeter.lowerCase\n",
        ],
    ),
    works(
        "grpcurl_list_health",
        "those of a service of the server itself",
        &[],
        &["list", "grpc.health.v1.Health"],
        &[
            "grpc.health.v1.Health.Check\n",
            "grpc.health.v1.Health.Watch\n",
        ],
    ),
    works(
        "grpcurl_describe_service",
        "a service",
        &[],
        &["describe", "dubbo.interop.v1.Greeter"],
        &[
            "dubbo.interop.v1.Greeter is a service:",
            "rpc GreetBidi ( stream .dubbo.interop.v1.GreetRequest ) returns ( stream .dubbo.interop.v1.GreetResponse );",
        ],
    ),
    works(
        "grpcurl_describe_method",
        "a method whose answer is a well-known type",
        &[],
        &["describe", "dubbo.interop.v1.Greeter.Fail"],
        &["rpc Fail ( .dubbo.interop.v1.FailRequest ) returns ( .google.protobuf.Empty );"],
    ),
    works(
        "grpcurl_describe_message",
        "a message with fields of all kinds, imported ones too",
        &[],
        &["describe", "dubbo.interop.v1.EchoMessage"],
        &[
            "dubbo.interop.v1.EchoMessage is a message:",
            ".google.protobuf.Timestamp ts = 60;",
            ".google.protobuf.Any any = 62;",
            "map<int64, .dubbo.interop.v1.EchoMessage.Nested> m_nested = 31;",
            "oneof choice {",
        ],
    ),
    works(
        "grpcurl_describe_nested",
        "a message within a message",
        &[],
        &["describe", "dubbo.interop.v1.EchoMessage.Nested"],
        &[
            "message Nested {",
            ".dubbo.interop.v1.EchoMessage.Nested child = 3;",
        ],
    ),
    works(
        "grpcurl_describe_field",
        "a field",
        &[],
        &["describe", "dubbo.interop.v1.EchoMessage.f_bytes"],
        &["bytes f_bytes = 15;"],
    ),
    works(
        "grpcurl_describe_enum",
        "an enum",
        &[],
        &["describe", "dubbo.interop.v1.Color"],
        &["COLOR_NEGATIVE = -1;"],
    ),
    works(
        "grpcurl_describe_well_known",
        "a well-known type, which nobody here has defined",
        &[],
        &["describe", "google.protobuf.Timestamp"],
        &["int64 seconds = 1;", "int32 nanos = 2;"],
    ),
    works(
        "grpcurl_describe_itself",
        "reflection itself",
        &[],
        &["describe", "grpc.reflection.v1alpha.ServerReflection"],
        &["rpc ServerReflectionInfo ( stream .grpc.reflection.v1alpha.ServerReflectionRequest )"],
    ),
    fails(
        "grpcurl_describe_unknown",
        "what is not there",
        &[],
        &["describe", "dubbo.interop.v1.Nobody"],
        &["not found"],
    ),
    fails(
        "grpcurl_describe_java",
        "a Java interface, which has no proto file",
        &[],
        &["describe", "org.apache.dubbo.interop.UserService"],
        &["not found"],
    ),
    works(
        "grpcurl_call",
        "a call",
        &["-d", r#"{"name": "grpcurl"}"#],
        &["dubbo.interop.v1.Greeter/Greet"],
        &[r#""greeting": "hello grpcurl""#],
    ),
    works(
        "grpcurl_call_echo",
        "a call with imported and well-known types",
        &[
            "-d",
            r#"{"ts": "2017-07-14T02:40:00.123456789Z", "duration": "-1.500s", "wrapped": "w", "f_nested": {"child": {"id": "-5"}},
                "any": {"@type": "type.googleapis.com/dubbo.interop.v1.FailDetail", "text": "in any"}, "m_string": {"k": "v"}}"#,
        ],
        &["dubbo.interop.v1.Greeter/Echo"],
        &[
            r#""ts": "2017-07-14T02:40:00.123456789Z""#,
            r#""duration": "-1.500s""#,
            r#""wrapped": "w""#,
            r#""id": "-5""#,
            // What is in an `Any`, each version lays out in its own way.
            r#""in any""#,
            r#""k": "v""#,
        ],
    ),
    works(
        "grpcurl_server_stream",
        "three answers",
        &["-d", r#"{"name": "x", "count": 3}"#],
        &["dubbo.interop.v1.Greeter/GreetServerStream"],
        &["hello x #0", "hello x #1", "hello x #2"],
    ),
    works(
        "grpcurl_client_stream",
        "two requests",
        &["-d", r#"{"name": "a"} {"name": "b"}"#],
        &["dubbo.interop.v1.Greeter/GreetClientStream"],
        &[r#""greeting": "hello a,b""#],
    ),
    works(
        "grpcurl_bidi",
        "two requests, two answers",
        &["-d", r#"{"name": "a"} {"name": "b"}"#],
        &["dubbo.interop.v1.Greeter/GreetBidi"],
        &["hello a", "hello b"],
    ),
    fails(
        "grpcurl_error",
        "an error with details, whose type it asks for",
        &[
            "-d",
            r#"{"code": 9, "message": "as asked", "details": ["one"]}"#,
        ],
        &["dubbo.interop.v1.Greeter/Fail"],
        &["Code: FailedPrecondition", "Message: as asked", "\"one\""],
    ),
    fails(
        "grpcurl_deadline",
        "a deadline",
        &["-max-time", "0.3", "-d", r#"{"millis": 20000}"#],
        &["dubbo.interop.v1.Greeter/Sleep"],
        &["DeadlineExceeded"],
    ),
    works(
        "grpcurl_metadata",
        "metadata, both ways",
        &[
            "-v",
            "-H",
            "userid: 7",
            "-d",
            r#"{"as_header": true, "reply": [{"key": "reply-one", "value": "1"}]}"#,
        ],
        &["dubbo.interop.v1.Greeter/Attachments"],
        &[r#""key": "userid""#, "reply-one: 1"],
    ),
    fails(
        "grpcurl_unknown_method",
        "a method that is not there",
        &[],
        &["dubbo.interop.v1.Greeter/Nobody"],
        &["does not include a method named"],
    ),
    works(
        "grpcurl_health",
        "the health of a service",
        &["-d", r#"{"service": "dubbo.interop.v1.Greeter"}"#],
        &["grpc.health.v1.Health/Check"],
        &[r#""status": "SERVING""#],
    ),
    fails(
        "grpcurl_health_unknown",
        "the health of a service that is not there",
        &["-d", r#"{"service": "nobody"}"#],
        &["grpc.health.v1.Health/Check"],
        &["Code: NotFound"],
    ),
    works(
        "grpcurl_reflection",
        "v1alpha, asked as a service",
        &[
            "-d",
            r#"{"file_containing_symbol": "dubbo.interop.v1.Greeter"} {"file_by_filename": "no.proto"}"#,
        ],
        &["grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"],
        &[
            "fileDescriptorProto",
            r#""errorCode": 5"#,
            "no file `no.proto`",
        ],
    ),
];
