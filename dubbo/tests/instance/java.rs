//! Services without an IDL, wired from YAML: both protocols, generic calls, what is published and what is refused.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use dubbo::{Error, Instance, Origin, Status, java::thrown, spi::registry::Registry};
use examples::{
    Polite,
    greet::GreeterServer,
    users::{
        Level, User, UserService, UserServiceClient, UserServiceServer, Users, who_is_missing,
    },
};

use super::{probe::Probe, rig::load};

const BOTH: &str = "
dubbo:
  protocols:
    t: {name: tri, ip: 127.0.0.1, port: 0}
    d: {name: dubbo, ip: 127.0.0.1, port: 0}
    i: {name: injvm}
";

async fn provide(yaml: &str, service: impl UserService) -> Instance {
    let service = UserServiceServer::new(service);
    let instance = load(yaml).provide(service).build().expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// The addresses of what `instance` serves to others, by protocol.
fn urls(instance: &Instance) -> Vec<String> {
    let exported = instance.exported();
    let open = exported.iter().filter(|url| url.protocol() != "injvm");
    open.map(|url| format!("{}://{}", url.protocol(), url.address()))
        .collect()
}

async fn client(url: &str, options: &str) -> UserServiceClient {
    let yaml = format!(
        "dubbo: {{consumer: {{references: {{UserServiceClient: {{url: '{url}'{options}}}}}}}}}"
    );
    let instance = load(&yaml).build().expect("valid");
    instance.refer().await.expect("refers")
}

fn ada() -> User {
    User {
        id: "ada".to_owned(),
        name: "Ada".to_owned(),
        age: 36,
        level: Level::Admin,
        friend: None,
    }
}

#[tokio::test]
async fn one_service_is_called_over_every_protocol_of_a_file() {
    let provider = provide(BOTH, Users).await;
    let mut clients = Vec::new();
    for url in urls(&provider) {
        clients.push(client(&url, "").await);
    }
    assert_eq!(clients.len(), 2, "tri and dubbo");
    let within = "consumer: {references: {UserServiceClient: {protocol: injvm}}}";
    let own = load(&format!("{BOTH}  {within}\n"));
    let own = own.provide(UserServiceServer::new(Users));
    let own = own.build().expect("valid");
    own.start().await.expect("starts");
    clients.push(own.refer().await.expect("refers"));
    for users in clients {
        let found = users.get_user("ada".to_owned()).await.expect("found");
        assert_eq!(found.into_message(), ada());
        let none = users.get_users(Vec::new()).await.expect("an empty list");
        assert!(none.message().is_empty());
        let renamed = users.rename(ada(), "Countess".to_owned()).await;
        assert_eq!(renamed.expect("renamed").message(), "Ada is now Countess");
        let missing = users.get_user("x".to_owned()).await.expect_err("thrown");
        assert_eq!(who_is_missing(&missing).as_deref(), Some("x"), "{missing}");
    }
}

#[tokio::test]
async fn what_the_definition_says_is_published_unless_the_file_says_otherwise() {
    for (options, want) in [
        (
            "",
            "application=dubbo.io&dubbo=2.0.2&interface=com.example.UserService&methods=getUser,getUsers,rename&\
              serialization=hessian2&side=provider&version=1.0.0",
        ),
        (
            "provider: {services: {Users: {version: 2.0.0, group: g, serialization: hessian2}}}",
            "application=dubbo.io&dubbo=2.0.2&group=g&interface=com.example.UserService&\
             methods=getUser,getUsers,rename&serialization=hessian2&side=provider&version=2.0.0",
        ),
    ] {
        let probe = Probe::new();
        let yaml =
            format!("{BOTH}  registries: {{p: {{protocol: probe, address: here}}}}\n  {options}\n");
        let instance = load(&yaml)
            .extension::<dyn Registry>("probe", probe.plugin())
            .provide(UserServiceServer::new(Users))
            .build()
            .expect("valid");
        instance.start().await.expect("starts");
        let registered = probe.asked("register");
        let protocols: Vec<_> = registered.iter().map(dubbo::Url::protocol).collect();
        assert_eq!(protocols, ["dubbo", "tri"]);
        for url in registered {
            let lasting = |key: &str| key != "timestamp" && key != "release";
            let params: Vec<_> = url
                .params()
                .filter(|(key, _)| lasting(key))
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            assert_eq!(params.join("&"), want);
        }
    }
}

#[tokio::test]
async fn a_consumer_calls_the_version_that_the_definition_wants() {
    let old = "provider: {services: {Users: {version: 0.9.0}}}";
    let provider = provide(&format!("{BOTH}  {old}\n"), Users).await;
    for url in urls(&provider) {
        let wanted = client(&url, "").await.get_user("ada".to_owned()).await;
        let status = wanted.expect_err("1.0.0 is not there");
        assert!(status.message().contains("0.9.0"), "{url}: {status}");
        let other = client(&url, ", version: 0.9.0").await;
        let found = other.get_user("ada".to_owned()).await.expect("found");
        assert_eq!(found.into_message(), ada());
    }
}

#[test]
fn a_serialization_that_does_not_fit_is_refused_with_its_place() {
    for (key, wrong, right) in [
        ("Users", "protobuf", "hessian2"),
        ("Polite", "hessian2", "protobuf"),
    ] {
        let yaml = format!(
            "dubbo:\n  provider:\n    services:\n      {key}:\n        serialization: {wrong}\n"
        );
        let builder = load(&yaml);
        let builder = match key {
            "Users" => builder.provide(UserServiceServer::new(Users)),
            _ => builder.provide(GreeterServer::new(Polite)),
        };
        let error = builder.build().expect_err("refused").to_string();
        for part in ["dubbo.yaml:4:7", wrong, right] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}

#[tokio::test]
async fn a_reference_with_the_other_serialization_is_refused() {
    let yaml = "dubbo: {consumer: {references: {UserServiceClient: {url: 'tri://127.0.0.1:1', serialization: protobuf}}}}";
    let instance = load(yaml).build().expect("valid");
    let refused = instance.refer::<UserServiceClient>().await;
    let error = refused.expect_err("refused").to_string();
    assert!(error.contains("a Java interface"), "{error}");
}

#[tokio::test]
async fn a_service_of_a_proto_file_cannot_be_exported_over_the_classic_protocol() {
    let service = GreeterServer::new(Polite);
    let instance = load(BOTH).provide(service).build().expect("valid");
    let error = instance.start().await.expect_err("refused");
    let text = format!("{error}: {:?}", std::error::Error::source(&error));
    assert!(matches!(error, Error::Export { .. }), "{text}");
    assert!(text.contains("tri"), "it says where instead: {text}");
}

/// Answers what it is told to, and counts.
struct Counting(Arc<AtomicUsize>, fn() -> Status);

impl UserService for Counting {
    async fn get_user(&self, _: String) -> Result<User, Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err((self.1)())
    }

    async fn get_users(&self, _: Vec<String>) -> Result<Vec<User>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }

    async fn rename(&self, _: User, _: String) -> Result<String, Status> {
        Err(Status::unimplemented("no test calls it"))
    }
}

#[tokio::test]
async fn an_exception_is_not_tried_again_and_trouble_is() {
    for (answer, attempts) in [
        ((|| Status::business("no")) as fn() -> Status, 1),
        (|| Status::invalid_argument("no"), 1),
        (|| Status::unavailable("not now"), 3),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let provider = provide(BOTH, Counting(Arc::clone(&count), answer)).await;
        for url in urls(&provider) {
            count.store(0, Ordering::Relaxed);
            let users = client(&url, "").await;
            let called = users.get_user("x".to_owned()).await;
            let status = called.expect_err("it fails");
            assert_eq!(count.load(Ordering::Relaxed), attempts, "{url}: {status}");
        }
    }
}

#[tokio::test]
async fn generic_calls_go_in_the_mode_that_the_file_names() {
    let provider = provide(BOTH, Users).await;
    for url in urls(&provider) {
        for (mode, want) in [
            (
                "",
                r#"{"class": "com.example.User", "id": "ada", "name": "Ada", "age": 36, "level": "ADMIN", "friend": null}"#,
            ),
            (", generic: 'true'", r#"{"class": "com.example.User", "#),
            (", generic: raw.return", "com.example.User"),
            (", generic: gson", "Ada"),
            (", generic: bean", "Ada"),
        ] {
            let yaml = format!(
                "dubbo: {{consumer: {{references: {{users: {{interface: com.example.UserService, version: 1.0.0, \
                 url: '{url}'{mode}}}}}}}}}"
            );
            let instance = load(&yaml).build().expect("valid");
            let users = instance.generic_as("users").await.expect("refers");
            let types: &[&str] = &["java.lang.String"];
            let found = users
                .invoke("getUser", Some(types), vec!["ada".into()])
                .await;
            let found = format!("{:?}", found.expect(mode).message());
            assert!(found.contains(want), "{url} {mode}: {found}");
        }
    }
}

#[tokio::test]
async fn generic_calls_tell_exceptions_by_class_and_message() {
    let provider = provide(BOTH, Users).await;
    for url in urls(&provider) {
        let yaml = format!(
            "dubbo: {{consumer: {{references: {{com.example.UserService: {{version: 1.0.0, url: '{url}'}}}}}}}}"
        );
        let instance = load(&yaml).build().expect("valid");
        let users = instance
            .generic("com.example.UserService")
            .await
            .expect("refers");
        let status = users
            .invoke("getUser", None, vec!["x".into()])
            .await
            .expect_err("thrown");
        assert_eq!(status.origin(), Origin::Business);
        let throwable = thrown(&status).expect("an exception");
        assert_eq!(throwable.class(), "com.example.NoSuchUserException");
        assert_eq!(throwable.message(), Some("no user x"));
        let status = users
            .invoke("nope", None, Vec::new())
            .await
            .expect_err("unknown");
        assert!(status.message().contains("getUser"), "{url}: {status}");
    }
}

#[test]
fn an_unknown_mode_is_refused_with_its_line() {
    for mode in ["nativejava", "maps"] {
        let yaml = format!(
            "dubbo:\n  consumer:\n    references:\n      users:\n        generic: {mode}\n"
        );
        let error = load(&yaml).build().expect_err("refused").to_string();
        assert!(
            error.contains("dubbo.yaml:5:9") && error.contains(mode),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_generic_reference_needs_an_interface() {
    let yaml = "dubbo: {consumer: {references: {users: {url: 'tri://127.0.0.1:1'}}}}";
    let instance = load(yaml).build().expect("valid");
    for (id, part) in [
        ("users", "names no `interface`"),
        ("user", "did you mean `users`"),
    ] {
        let error = instance
            .generic_as(id)
            .await
            .expect_err("refused")
            .to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn options_of_single_methods_are_no_good_for_generic_calls() {
    let yaml = "dubbo: {consumer: {references: {users: {interface: x.Y, url: 'tri://127.0.0.1:1', methods: [{name: find}]}}}}";
    let instance = load(yaml).build().expect("valid");
    let error = instance
        .generic_as("users")
        .await
        .expect_err("refused")
        .to_string();
    assert!(
        error.contains("has options of `find`") && error.contains("on each call"),
        "{error}"
    );
}

#[tokio::test]
async fn methods_that_do_not_exist_are_told_together() {
    let yaml = "dubbo: {consumer: {references: {UserServiceClient: {url: 'tri://127.0.0.1:1', methods: [{name: get_user}, {name: find}]}}}}";
    let instance = load(yaml).build().expect("valid");
    let error = instance
        .refer::<UserServiceClient>()
        .await
        .expect_err("refused")
        .to_string();
    assert!(
        error.contains("`find`, `get_user`")
            && error.contains("has only getUser, getUsers, rename"),
        "{error}"
    );
}

#[test]
fn several_addresses_are_not_separated_by_commas() {
    let yaml =
        "dubbo: {consumer: {references: {users: {url: 'tri://127.0.0.1:1,tri://127.0.0.1:2'}}}}";
    let error = load(yaml).build().expect_err("refused").to_string();
    assert!(error.contains("separated by `;`"), "{error}");
}

#[tokio::test]
async fn two_protocols_share_a_port() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let yaml = format!(
        "dubbo: {{protocols: {{t: {{name: tri, ip: 127.0.0.1, port: {port}}}, d: {{name: dubbo, ip: 127.0.0.1, port: {port}}}}}}}"
    );
    let provider = provide(&yaml, Users).await;
    let urls = urls(&provider);
    assert_eq!(
        urls,
        [
            format!("dubbo://127.0.0.1:{port}"),
            format!("tri://127.0.0.1:{port}")
        ]
    );
    for url in urls {
        let found = client(&url, "").await.get_user("ada".to_owned()).await;
        assert_eq!(found.expect("found").into_message(), ada());
    }
}

#[tokio::test]
async fn what_holds_for_a_port_is_set_at_its_protocol() {
    let yaml = "
dubbo:
  protocols:
    d: {name: dubbo, ip: 127.0.0.1, port: 0, params: {payload: 300, heartbeat.timeout: 5s, heartbeat: 1s}}
";
    let provider = provide(yaml, Users).await;
    let [url] = urls(&provider).try_into().expect("one");
    let users = client(&url, "").await;
    users.get_user("ada".to_owned()).await.expect("it fits");
    let long = users.get_user("x".repeat(300)).await;
    let status = long.expect_err("over the limit");
    assert!(status.message().contains("300"), "{status}");

    let own = "provider: {services: {Users: {params: {payload: 3000}}}}";
    let provider = provide(&format!("{yaml}  {own}\n"), Users).await;
    let [url] = urls(&provider).try_into().expect("one");
    let users = client(&url, "").await;
    let status = users.get_user("x".repeat(300)).await.expect_err("nobody");
    assert!(who_is_missing(&status).is_some(), "{status}");
}

#[test]
fn parameters_of_the_classic_protocol_are_refused_elsewhere() {
    for (params, part) in [
        (
            "name: tri, params: {payload: 300}",
            "parameters of the protocol `dubbo`",
        ),
        (
            "name: dubbo, params: {payloads: 300}",
            "did you mean `payload`",
        ),
    ] {
        let yaml = format!("dubbo:\n  protocols:\n    d: {{{params}}}\n");
        let error = load(&yaml).build().expect_err("refused").to_string();
        assert!(
            error.contains(part) && error.contains("dubbo.yaml:3:"),
            "{error}"
        );
    }
}
