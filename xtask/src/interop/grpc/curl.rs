//! What curl gets: JSON over HTTP/1.1, over HTTP/2 with prior knowledge, and over TLS.

use crate::{failure::Failure, process};

use super::{
    target::Target,
    tool::{Address, Check, Tool},
};

/// curl over each version of HTTP.
pub(super) fn tools(target: &Target) -> Result<[Tool; 3], Failure> {
    // Some builds of curl have no HTTP/2.
    let features = process::output(
        process::program("curl").arg("--version"),
        "install curl, built with HTTP/2",
    )?;
    if !String::from_utf8_lossy(&features).contains("HTTP2") {
        return Err(Failure::new(
            "this curl has no HTTP/2",
            "install one that has (Debian: curl)",
        ));
    }
    let cert = target.cert.display().to_string();
    let tool = |name, version: &[&str], url: String| {
        let options = [
            &["--silent", "--show-error", "--include", "--max-time", "20"],
            version,
        ];
        Tool::new(name, "curl".into(), &options.concat(), Address::Url(url))
    };
    let plain = format!("http://{}", target.plain);
    Ok([
        tool("curl-http1", &["--http1.1"], plain.clone()),
        tool("curl-h2c", &["--http2-prior-knowledge"], plain),
        tool(
            "curl-tls",
            &["--http2", "--cacert", &cert],
            format!("https://{}", target.secure),
        ),
    ])
}

/// One whose parts are printed; curl ends well whatever the status.
const fn answers(
    name: &'static str,
    about: &'static str,
    args: &'static [&'static str],
    path: &'static [&'static str],
    parts: &'static [&'static str],
) -> Check {
    Check {
        name,
        about,
        args,
        what: path,
        ends_well: true,
        parts,
    }
}

pub(super) const CHECKS: [Check; 17] = [
    answers(
        "curl_json",
        "a call",
        &["--json", r#"{"name": "curl é"}"#],
        &["/dubbo.interop.v1.Greeter/Greet"],
        &[
            " 200",
            "content-type: application/json",
            r#"{"greeting":"hello curl é"}"#,
        ],
    ),
    answers(
        "curl_json_types",
        "a call with well-known types",
        &[
            "--json",
            r#"{"ts": "2017-07-14T02:40:00Z", "f_int64": "9007199254740993", "wrapped": "w"}"#,
        ],
        &["/dubbo.interop.v1.Greeter/Echo"],
        &[
            " 200",
            r#""ts":"2017-07-14T02:40:00"#,
            r#""f_int64":"9007199254740993""#,
            r#""wrapped":"w""#,
        ],
    ),
    answers(
        "curl_proto",
        "a call in protobuf",
        &[
            "--header",
            "content-type: application/proto",
            "--data-binary",
            "\n\u{4}curl",
        ],
        &["/dubbo.interop.v1.Greeter/Greet"],
        &[" 200", "content-type: application/proto", "hello curl"],
    ),
    answers(
        "curl_error",
        "an error with a detail",
        &[
            "--json",
            r#"{"code": 9, "message": "as asked", "details": ["one"]}"#,
        ],
        &["/dubbo.interop.v1.Greeter/Fail"],
        &[
            " 412",
            r#""code":"failed_precondition""#,
            r#""message":"as asked""#,
            r#""type":"dubbo.interop.v1.FailDetail""#,
        ],
    ),
    answers(
        "curl_deadline",
        "a deadline",
        &[
            "--header",
            "triple-timeout-ms: 100",
            "--json",
            r#"{"millis": 20000}"#,
        ],
        &["/dubbo.interop.v1.Greeter/Sleep"],
        &[" 408", r#""code":"deadline_exceeded""#],
    ),
    answers(
        "curl_metadata",
        "headers, both ways",
        &[
            "--header",
            "userid: 7",
            "--json",
            r#"{"as_header": true, "reply": [{"key": "reply-one", "value": "1"}]}"#,
        ],
        &["/dubbo.interop.v1.Greeter/Attachments"],
        &[" 200", r#"{"key":"userid","value":"7"}"#, "reply-one: 1"],
    ),
    answers(
        "curl_java",
        "a method of a Java interface",
        &["--json", r#""curl""#],
        &["/org.apache.dubbo.interop.UserService/hello"],
        &[" 200", r#""hello curl""#],
    ),
    answers(
        "curl_java_names",
        "one with three arguments, by their names",
        &["--json", r#"{"name": "Ada", "age": 36, "base": null}"#],
        &["/org.apache.dubbo.interop.UserService/mix"],
        &[" 200", r#""name":"Ada""#, r#""age":36"#],
    ),
    answers(
        "curl_server_stream",
        "three answers, as events",
        &["--json", r#"{"name": "x", "count": 3}"#],
        &["/dubbo.interop.v1.Greeter/GreetServerStream"],
        &[
            " 200",
            "content-type: text/event-stream",
            r#"data:{"greeting":"hello x #0"}"#,
            "hello x #2",
        ],
    ),
    answers(
        "curl_client_stream",
        "a stream of requests, which there is not",
        &["--json", "{}"],
        &["/dubbo.interop.v1.Greeter/GreetClientStream"],
        &[" 415", r#""message":"#],
    ),
    answers(
        "curl_health",
        "the health of the server",
        &["--json", "{}"],
        &["/grpc.health.v1.Health/Check"],
        &[" 200", r#"{"status":"SERVING"}"#],
    ),
    answers(
        "curl_unknown_service",
        "a service that is not there",
        &["--json", "{}"],
        &["/dubbo.interop.v1.Nobody/Greet"],
        &[
            " 404",
            r#""code":"unimplemented""#,
            "dubbo.interop.v1.Nobody",
        ],
    ),
    answers(
        "curl_unknown_method",
        "a method that is not there",
        &["--json", "{}"],
        &["/dubbo.interop.v1.Greeter/Nobody"],
        &[" 404", r#""code":"unimplemented""#],
    ),
    answers(
        "curl_verb",
        "GET where only POST is served",
        &[],
        &["/dubbo.interop.v1.Greeter/Greet"],
        &[" 405", "allow: POST", r#""message":"#],
    ),
    answers(
        "curl_media_type",
        "a body of another kind",
        &["--header", "content-type: text/xml", "--data", "<a/>"],
        &["/dubbo.interop.v1.Greeter/Greet"],
        &[" 415", "accept-post: ", "application/json"],
    ),
    answers(
        "curl_bad_json",
        "a body that is no JSON",
        &["--json", "{name"],
        &["/dubbo.interop.v1.Greeter/Greet"],
        &[" 400", r#""code":"invalid_argument""#],
    ),
    answers(
        "curl_unknown_field",
        "a field that the message does not have",
        &["--json", r#"{"nmae": "x"}"#],
        &["/dubbo.interop.v1.Greeter/Greet"],
        &[" 400", r#""code":"invalid_argument""#, "nmae"],
    ),
];
