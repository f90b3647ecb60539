use std::time::Duration;

use dubbo::Error;

use super::{
    rig::{load, named},
    support::{HASTY, QOS, TRIPLE, ask, port},
};

#[tokio::test]
async fn pages_of_other_sites_command_nothing() {
    let instance = load(&format!("dubbo: {{{TRIPLE}, {QOS}, {HASTY}}}"))
        .provide(named("x"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let at = port(&instance);
    let own = format!("origin: http://{at}\r\n");
    for (headers, status) in [
        ("", 200),
        ("host: localhost:22222\r\n", 200),
        ("host: [::1]:22222\r\n", 200),
        (&*own, 200),
        ("sec-fetch-site: same-origin\r\n", 200),
        ("sec-fetch-site: none\r\n", 200),
        ("origin: https://evil.example\r\n", 403),
        ("origin: null\r\n", 403),
        ("sec-fetch-site: cross-site\r\n", 403),
        ("sec-fetch-site: same-site\r\n", 403),
        ("host: evil.example:22222\r\n", 403),
    ] {
        let answer = ask(at, "GET /offline/none", headers, "").await;
        // Where it is let through there is nothing to be moved.
        let want = if status == 200 { 404 } else { status };
        assert_eq!(answer.status, want, "{headers}: {}", answer.body);
        let page = ask(at, "GET /", headers, "").await;
        assert_eq!(page.status, status, "{headers}");
    }
    instance.shutdown(Duration::ZERO).await;
}

#[test]
fn what_would_let_everybody_in_or_means_nothing_is_refused() {
    for (application, metrics, want) in [
        (
            "qos-enable: true, qos-accept-foreign-ip: true, qos-anonymous-access-permission-level: NONE",
            "",
            "dubbo.application.qos-accept-foreign-ip: with the permission level `NONE` every caller could do everything: \
             set `qos-token`, too",
        ),
        (
            "qos-enable: true, qos-accept-foreign-ip-whitelist: '10.0.0.0/8,here'",
            "",
            "expected an address such as `10.0.0.7` or `10.0.0.0/8`, found `here`",
        ),
        (
            "qos-enable: true, qos-anonymous-access-allow-commands: [ls, lss]",
            "",
            "there is no command `lss` (did you mean `ls`?)",
        ),
        (
            "qos-enable: true, qos-token: ''",
            "",
            "is empty, and so is no secret",
        ),
        (
            "qos-enable: true, qos-anonymous-access-permission-level: SOME",
            "",
            "expected `NONE` or `PUBLIC` or `PROTECTED` or `PRIVATE`, found `SOME`",
        ),
        (
            "qos-enable: true, qos-port: 70000",
            "",
            "a whole number from 0 to 65535",
        ),
        (
            "",
            "enabled: true, liveness-path: up",
            "expected a path such as `/live`, found `up`",
        ),
        (
            "",
            "enabled: true, liveness-path: /ready",
            "`/ready` is the path of another probe already",
        ),
    ] {
        let yaml = format!(
            "dubbo: {{application: {{name: a, {application}}}, metrics: {{probe: {{{metrics}}}}}}}"
        );
        let error = load(&yaml).build().map(drop).expect_err(want);
        assert!(matches!(error, Error::Config(_)));
        let text = error.to_string();
        assert!(text.contains(want), "{want} is not in {text}");
    }
}
