//! `dubbo call`.

use serde_json::json;

use crate::rig::{Provider, Run, dubbo, dubbo_of, dubbo_reading, file, nobody};

const ADA: &str = r#"{"name":"Ada"}"#;

#[tokio::test]
async fn a_method_of_a_proto_file_is_called_with_json() {
    let provider = Provider::start().await;
    let triple = provider.triple.as_str();
    let input = format!("@{}", file("ada.json", ADA));
    for (words, stdin, want) in [
        (
            &["greet.Greeter/Greet", ADA][..],
            "",
            json!({"greeting": "Hello, Ada!"}),
        ),
        (
            &["greet.Greeter.greet", ADA],
            "",
            json!({"greeting": "Hello, Ada!"}),
        ),
        (
            &["greet.Greeter/Greet", &input],
            "",
            json!({"greeting": "Hello, Ada!"}),
        ),
        (
            &["greet.Greeter/Greet", "-"],
            ADA,
            json!({"greeting": "Hello, Ada!"}),
        ),
        (
            &["greet.Greeter/Greet"],
            "",
            json!({"greeting": "Hello, !"}),
        ),
        (
            &["greet.Greeter/GreetAll", "-"],
            "{\"name\":\"Ada\"}\n{\"name\":\"Grace\"}",
            json!({"greeting": "Hello, Ada, Grace!"}),
        ),
        (
            &[
                "greet.Greeter/GreetAll",
                r#"[{"name":"Ada"},{"name":"Grace"}]"#,
            ],
            "",
            json!({"greeting": "Hello, Ada, Grace!"}),
        ),
        (
            &[
                "greet.Greeter/Greet",
                r#"{"name":"tenant"}"#,
                "-H",
                "tenant: a:b",
            ],
            "",
            json!({"greeting": "for a:b"}),
        ),
    ] {
        let all = [&["call", triple][..], words].concat();
        let run = dubbo_reading(stdin, &all).await.exits(0);
        assert_eq!(run.json(), want, "{words:?}");
        assert_eq!(run.err, "", "{words:?}");
    }
}

#[tokio::test]
async fn each_message_of_a_stream_is_a_line() {
    let provider = Provider::start().await;
    let triple = provider.triple.as_str();
    let many = dubbo(&["call", triple, "greet.Greeter/GreetMany", ADA]).await;
    let lines: Vec<_> = many.out.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"greeting":"Hello, Ada (1 of 3)!"}"#,
            r#"{"greeting":"Hello, Ada (2 of 3)!"}"#,
            r#"{"greeting":"Hello, Ada (3 of 3)!"}"#,
        ]
    );
    let both = format!("{ADA} {ADA}");
    let each = dubbo(&["call", triple, "greet.Greeter/GreetEach", &both])
        .await
        .exits(0);
    assert_eq!(each.out, "{\"greeting\":\"Hello, Ada!\"}\n".repeat(2));
}

#[tokio::test]
async fn what_comes_beside_the_answer_is_shown_when_asked_for() {
    let provider = Provider::start().await;
    let words = [
        "call",
        &provider.triple,
        "greet.Greeter/Greet",
        r#"{"name":"tenant"}"#,
        "-v",
    ];
    let run = dubbo(&words).await.exits(0);
    let beside: serde_json::Value = serde_json::from_str(&run.err).expect("is JSON");
    assert_eq!(beside["trailers"]["served-by"], "moody");
}

#[tokio::test]
async fn a_java_interface_is_called_on_both_protocols() {
    let provider = Provider::start().await;
    let user = json!({
        "class": "com.example.User",
        "id": "ada", "name": "Ada", "age": 36, "level": "ADMIN", "friend": null,
    });
    for target in [&provider.triple, &provider.classic] {
        for types in [&[][..], &["--types", "java.lang.String"]] {
            for input in [r#"["ada"]"#, r#""ada""#] {
                let method = "com.example.UserService/getUser";
                let words = ["call", target, "--version", "1.0.0", method, input];
                let run = dubbo_of(&[&words, types]).await.exits(0);
                assert_eq!(run.json(), user, "{target} {types:?} {input}");
            }
        }
    }
    let method = "com.example.UserService/rename";
    let two = r#"[{"class":"com.example.User","id":"ada","name":"Ada","age":1,"level":"ADMIN"},"Countess"]"#;
    let words = ["call", &provider.classic, "--version", "1.0.0", method, two];
    let run = dubbo(&words).await.exits(0);
    assert_eq!(run.json(), "Ada is now Countess");
}

#[tokio::test]
async fn providers_are_found_by_a_registry() {
    let (_provider, registry) = Provider::registered().await;
    for kind in ["all", "service", "interface"] {
        let found = ["call", "--registry", &registry, "--registry-type", kind];
        let run = dubbo_of(&[&found[..], &["greet.Greeter/Greet", ADA]]).await;
        assert_eq!(
            run.exits(0).json(),
            json!({"greeting": "Hello, Ada!"}),
            "{kind}"
        );
        let java = [
            "--version",
            "1.0.0",
            "com.example.UserService/getUser",
            r#"["grace"]"#,
        ];
        let run = dubbo_of(&[&found[..], &java]).await;
        assert_eq!(run.exits(0).json()["name"], "Grace", "{kind}");
    }
    let yaml = format!("dubbo: {{registries: {{local: {{address: '{registry}'}}}}}}");
    let config = file("dubbo.yaml", yaml);
    let run = dubbo(&["call", "--config", &config, "greet.Greeter/Greet", ADA]).await;
    assert_eq!(run.exits(0).json(), json!({"greeting": "Hello, Ada!"}));
}

#[tokio::test]
async fn messages_may_come_from_a_file_of_descriptors() {
    let yaml = "dubbo: {protocols: {t: {name: tri, ip: 127.0.0.1, port: 0, triple: {reflection: {enable: false}}}}}";
    let options = dubbo::config::LoadOptions::text("dubbo.yaml", yaml);
    let builder = dubbo::Instance::load_with(&options).expect("is YAML");
    let greeter = examples::greet::GreeterServer::new(examples::Polite);
    let instance = builder.provide(greeter).build().expect("valid");
    instance.start().await.expect("starts");
    let triple = instance.exported()[0].origin();
    let set = file("greet.bin", examples::greet::FILE_DESCRIPTOR_SET);
    let call = ["call", &triple, "greet.Greeter/Greet", ADA];
    let run = dubbo_of(&[&call[..], &["--descriptor", &set]]).await;
    assert_eq!(run.exits(0).json(), json!({"greeting": "Hello, Ada!"}));
    // Without it nobody knows that it is no Java interface, and the server says so.
    let run = dubbo(&call).await.exits(4);
    assert!(run.err.contains("code: unimplemented (12)"), "{run:?}");
}

#[allow(clippy::too_many_lines, reason = "it is one table")]
#[tokio::test]
async fn each_kind_of_failure_has_an_exit_code_and_says_what_to_do() {
    let (provider, registry) = Provider::registered().await;
    let (triple, classic) = (&*provider.triple, &*provider.classic);
    let nobody = nobody().await;
    let greet = "greet.Greeter/Greet";
    let get_user = "com.example.UserService/getUser";
    let business = r#"{"name":"business"}"#;
    let forbidden = r#"{"name":"forbidden"}"#;
    let slow = r#"{"name":"slow"}"#;
    let cases: &[(&[&str], i32, &str)] = &[
        (&[triple, greet, business], 5, "not on a Monday"),
        (
            &[classic, "--version", "1.0.0", get_user, r#"["x"]"#],
            5,
            "com.example.NoSuchUserException",
        ),
        (
            &[triple, greet, forbidden],
            4,
            "permission_denied (7), origin: remote",
        ),
        (&[triple, greet, slow, "--timeout", "200ms"], 6, "--timeout"),
        (
            &[&nobody, greet, ADA, "--timeout", "500ms"],
            3,
            "check the address",
        ),
        (&[triple, "greet.Greter/Greet", ADA], 4, "dubbo describe"),
        (
            &[classic, get_user, r#"["ada"]"#],
            4,
            "under that group and version",
        ),
        (
            &["--registry", &registry, "a.B/c", "--timeout", "500ms"],
            3,
            "dubbo explain a.B",
        ),
        (
            &[
                "--registry",
                "file:///dev/null/no",
                "a.B/c",
                "--timeout",
                "500ms",
            ],
            3,
            "/dev/null/no",
        ),
        (
            &[triple, "greet.Greeter/Gret", ADA],
            2,
            "it has Greet, GreetMany",
        ),
        (&[triple, greet, "{"], 2, "no JSON"),
        (
            &[triple, greet, r#"{"nme":"Ada"}"#],
            2,
            "its fields are name",
        ),
        (
            &[triple, greet, r#"{"name":7}"#],
            2,
            "no greet.GreetRequest",
        ),
        (&[triple, greet, "[]"], 2, "no greet.GreetRequest"),
        (&[triple, greet, "{} {}"], 2, "takes one message"),
        (&[triple, greet, "@/nowhere.json"], 2, "/nowhere.json"),
        (
            &[triple, greet, ADA, "--descriptor", "/nowhere"],
            2,
            "/nowhere",
        ),
        (
            &[triple, greet, ADA, "--descriptor", "/bin/sh"],
            2,
            "no set of descriptors",
        ),
        (&[triple, "Greet", ADA], 2, "package.Service/Method"),
        (&[triple, greet, "{}", "{}"], 2, "unexpected "),
        (&[greet, "{}", "{}"], 2, "one word too many"),
        (&[triple], 2, "Service/Method"),
        (&[greet, ADA], 2, "--registry URL"),
        (&["127.0.0.1:1", greet], 2, "tri://127.0.0.1:1"),
        (
            &["nacos://127.0.0.1:8848", greet],
            2,
            "--registry nacos://127.0.0.1:8848",
        ),
        (&["http://127.0.0.1:1", greet], 2, "tri://host:port"),
        (&["--registry", "consul://h:1", greet], 2, "consul"),
        (&["--config", "/nowhere.yaml", greet], 2, "/nowhere.yaml"),
        (&[triple, greet, ADA, "--timeout", "3"], 2, "500ms"),
        (&[triple, greet, ADA, "-H", "x"], 2, "NAME:VALUE"),
    ];
    for (words, code, want) in cases {
        let run = dubbo_of(&[&["call"], *words]).await;
        assert_eq!(run.code, *code, "{words:?}: {run:?}");
        assert!(run.err.contains(want), "{words:?}: {want} in {run:?}");
        assert_eq!(run.out, "", "{words:?}");
        assert!(!run.err.contains("panicked"), "{run:?}");
    }
}

#[tokio::test]
async fn a_failure_is_json_for_programs() {
    let provider = Provider::start().await;
    let words = [
        "--json",
        "call",
        &provider.triple,
        "greet.Greeter/Greet",
        r#"{"name":"business"}"#,
    ];
    let Run { err, .. } = dubbo(&words).await.exits(5);
    let failure: serde_json::Value = serde_json::from_str(&err).expect("is JSON");
    assert_eq!(failure["error"]["class"], "business");
    assert_eq!(failure["error"]["number"], 17);
    assert_eq!(failure["error"]["message"], "not on a Monday");
}
