//! What peers may send in hessian2: each key of `dubbo.hessian2`, on both sides and over both protocols.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use dubbo::{
    Filter, Instance, Invocation, Next, RpcResult, Status,
    config::Hessian2Config,
    hessian2::{LoneSurrogates, Object, Value},
    java::{GenericClient, thrown},
    spi::{
        invocation::Body,
        payload::{Codec, Payload},
    },
};
use examples::users::{Level, User, UserService, UserServiceClient, UserServiceServer, Users};
use parking_lot::Mutex;

use super::rig::load;

/// Gives back what it is given.
#[dubbo::service(interface = "com.example.Mirror")]
trait Mirror {
    async fn same(&self, value: Value) -> Result<Value, Status>;

    async fn sum(&self, lists: Vec<Vec<i32>>) -> Result<i32, Status>;
}

struct Plain;

impl Mirror for Plain {
    async fn same(&self, value: Value) -> Result<Value, Status> {
        Ok(value)
    }

    async fn sum(&self, lists: Vec<Vec<i32>>) -> Result<i32, Status> {
        Ok(lists.iter().flatten().sum())
    }
}

/// Counts the calls that reach it.
struct Counting(Arc<AtomicUsize>);

impl UserService for Counting {
    async fn get_user(&self, id: String) -> Result<User, Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Users.get_user(id).await
    }

    async fn get_users(&self, ids: Vec<String>) -> Result<Vec<User>, Status> {
        Users.get_users(ids).await
    }

    async fn rename(&self, user: User, name: String) -> Result<String, Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Users.rename(user, name).await
    }
}

/// A provider on both protocols, of users and of what mirrors, with this section.
async fn provide(section: &str, calls: &Arc<AtomicUsize>) -> Instance {
    let yaml = format!(
        "dubbo: {{protocols: {{t: {{name: tri, ip: 127.0.0.1, port: 0}}, d: {{name: dubbo, ip: 127.0.0.1, port: 0}}}}\
         {section}}}"
    );
    let instance = load(&yaml)
        .provide(MirrorServer::new(Plain))
        .provide(UserServiceServer::new(Counting(Arc::clone(calls))))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// Where `instance` serves `interface`, by protocol.
fn urls(instance: &Instance, interface: &str) -> Vec<String> {
    let exported = instance.exported();
    let own = exported
        .iter()
        .filter(|url| url.service_key().interface() == interface);
    own.map(|url| format!("{}://{}", url.protocol(), url.address()))
        .collect()
}

/// A consumer of `url` with this section.
fn consumer(url: &str, section: &str) -> Instance {
    let yaml = format!(
        "dubbo: {{consumer: {{references: {{UserServiceClient: {{url: '{url}'}}, MirrorClient: {{url: '{url}'}}, \
         mirror: {{interface: com.example.Mirror, url: '{url}', generic: raw.return}}, \
         raws: {{interface: com.example.UserService, url: '{url}', version: 1.0.0, generic: raw.return}}, \
         beans: {{interface: com.example.UserService, url: '{url}', version: 1.0.0, generic: bean}}}}}}{section}}}"
    );
    load(&yaml).build().expect("valid")
}

async fn generic(url: &str, section: &str, id: &str) -> GenericClient {
    let instance = consumer(url, section);
    instance.generic_as(id).await.expect("refers")
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

/// What is logged on this thread while it lives.
struct Log(
    Arc<Mutex<Vec<u8>>>,
    #[expect(dead_code, reason = "its end counts")] tracing::subscriber::DefaultGuard,
);

impl Log {
    fn new() -> Self {
        struct Writer(Arc<Mutex<Vec<u8>>>);
        impl io::Write for Writer {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().extend_from_slice(bytes);
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let written = Arc::new(Mutex::default());
        let writer = Arc::clone(&written);
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || Writer(Arc::clone(&writer)))
            .finish();
        Self(written, tracing::subscriber::set_default(subscriber))
    }

    /// The lines of the audit that name `class`.
    fn audited(&self, class: &str) -> usize {
        let written = self.0.lock();
        let lines = String::from_utf8_lossy(&written);
        let audited = |line: &&str| line.contains("dubbo::hessian::audit") && line.contains(class);
        lines.lines().filter(audited).count()
    }
}

const REFUSED: &str = "class `com.example.User` is refused by the class policy";

#[tokio::test]
async fn a_provider_refuses_a_class_as_its_own_type_and_says_so_in_the_log() {
    for section in [
        "deny-classes: [com.example.User]",
        "deny-classes: 'COM.example.user'",
        "allow-classes: [com.example.Level]",
        "class-check: strict",
        "class-check: warn, deny-classes: [com.example.]",
    ] {
        let log = Log::new();
        let calls = Arc::default();
        let provider = provide(&format!(", hessian2: {{{section}}}"), &calls).await;
        for url in urls(&provider, "com.example.UserService") {
            let users: UserServiceClient = consumer(&url, "").refer().await.expect("refers");
            for _ in 0..2 {
                let status = users
                    .rename(ada(), "A".to_owned())
                    .await
                    .expect_err(section);
                assert!(status.message().contains(REFUSED), "{url}: {status}");
                assert!(
                    status.message().contains("argument 1 of 2"),
                    "{url}: {status}"
                );
            }
            assert_eq!(
                calls.load(Ordering::Relaxed),
                0,
                "{url}: the handler has seen it"
            );

            // Values of generic calls have classes, too.
            let value = Value::of(&ada()).expect("a value");
            for id in ["raws", "beans"] {
                let generic = generic(&url, "", id).await;
                let renamed = generic
                    .invoke("rename", None, vec![value.clone(), "A".into()])
                    .await;
                let status = renamed.expect_err(section);
                assert!(status.message().contains(REFUSED), "{url} {id}: {status}");
            }

            // What is sent is another matter, and the connection goes on.
            let found = users.get_user("ada".to_owned()).await.expect("found");
            assert_eq!(found.into_message(), ada());
            calls.store(0, Ordering::Relaxed);
        }
        assert_eq!(
            log.audited("com.example.User\""),
            1,
            "{section}: once for the instance"
        );
    }
}

#[tokio::test]
async fn a_consumer_refuses_a_class_as_its_own_type_and_does_not_call_again() {
    let calls = Arc::default();
    let provider = provide("", &calls).await;
    for url in urls(&provider, "com.example.UserService") {
        let log = Log::new();
        let section = ", hessian2: {deny-classes: [com.example.User]}";
        let instance = consumer(&url, section);
        let users: UserServiceClient = instance.refer().await.expect("refers");
        calls.store(0, Ordering::Relaxed);
        let status = users.get_user("ada".to_owned()).await.expect_err("refused");
        assert!(status.message().contains(REFUSED), "{url}: {status}");
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{url}: it was done");
        assert_eq!(log.audited("com.example.User\""), 1, "{url}");

        for id in ["raws", "beans"] {
            let generic = instance.generic_as(id).await.expect("refers");
            let found = generic
                .invoke_as::<User>("getUser", None, vec!["ada".into()])
                .await;
            let status = found.expect_err("refused");
            assert!(status.message().contains(REFUSED), "{url} {id}: {status}");
            // As data it may come.
            let found = generic.invoke("getUser", None, vec!["ada".into()]).await;
            let found = found.expect("data").into_message();
            assert_eq!(
                found.as_object().map(Object::class),
                Some("com.example.User")
            );
        }
        // Exceptions are data.
        let status = users.get_user("x".to_owned()).await.expect_err("thrown");
        let class = thrown(&status).map(|thrown| thrown.class().to_owned());
        assert_eq!(
            class.as_deref(),
            Some("com.example.NoSuchUserException"),
            "{url}"
        );
    }
}

#[tokio::test]
async fn classes_that_are_in_no_list_are_read() {
    let calls = Arc::default();
    for (section, audited) in [
        ("deny-classes: [com.evil.]", 0),
        (
            "deny-classes: [com.evil.], allow-classes: [com.example.]",
            0,
        ),
        ("class-check: warn, allow-classes: [com.example.Level]", 1),
        ("class-check: off, deny-classes: [com.example.]", 0),
    ] {
        let log = Log::new();
        let provider = provide(&format!(", hessian2: {{{section}}}"), &calls).await;
        for url in urls(&provider, "com.example.UserService") {
            let users: UserServiceClient = consumer(&url, "").refer().await.expect("refers");
            let renamed = users.rename(ada(), "A".to_owned()).await;
            assert_eq!(renamed.expect(section).message(), "Ada is now A");
        }
        assert_eq!(log.audited("com.example.User\""), audited, "{section}");
    }
}

/// A list in a list, so many times.
fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, _| Value::list([inner]))
}

fn object(class: &str, fields: usize) -> Value {
    let fields = (0..fields).map(|index| (format!("f{index}"), 1.into()));
    Value::object(class, fields)
}

/// The same list, which is sent once, so many times.
fn shared(times: usize) -> Value {
    let list = Value::list((0..100).map(Value::from));
    Value::list(std::iter::repeat_n(list, times))
}

#[tokio::test]
async fn each_limit_holds_for_requests_and_for_answers() {
    let calls = Arc::default();
    let plain = provide("", &calls).await;
    for (key, within, beyond, part) in [
        (
            "max-depth: 8",
            nested(4),
            nested(9),
            "more than 8 levels of lists, maps and objects (limit `depth`)",
        ),
        (
            "max-nodes: 50",
            Value::list((0..10).map(|_| nested(1))),
            Value::list((0..50).map(|_| nested(1))),
            "more than 50 values in one message (limit `nodes`)",
        ),
        (
            "max-classes: 2",
            Value::list([object("A", 0), object("B", 0)]),
            Value::list([object("A", 0), object("B", 0), object("C", 0)]),
            "more than 2 classes in one message (limit `classes`)",
        ),
        (
            "max-fields: 3",
            object("A", 3),
            object("A", 4),
            "more than 3 fields in one class (limit `fields`)",
        ),
        (
            "max-name-length: 30",
            object(&"A".repeat(30), 0),
            object(&"A".repeat(31), 0),
            "(limit `name`)",
        ),
    ] {
        let section = format!(", hessian2: {{{key}}}");
        let provider = provide(&section, &calls).await;
        let strict = urls(&provider, "com.example.Mirror")
            .into_iter()
            .map(|url| (url, ""));
        let own = urls(&plain, "com.example.Mirror")
            .into_iter()
            .map(|url| (url, &*section));
        for (url, section) in strict.chain(own) {
            let instance = consumer(&url, section);
            let mirror: MirrorClient = instance.refer().await.expect("refers");
            let status = mirror.same(beyond.clone()).await.expect_err(key);
            assert!(status.message().contains(part), "{url} {section}: {status}");
            let same = mirror.same(within.clone()).await.expect(key);
            assert_eq!(same.message(), &within, "{url} {section}");

            let generic = instance.generic_as("mirror").await.expect("refers");
            let status = generic
                .invoke("same", None, vec![beyond.clone()])
                .await
                .expect_err(key);
            assert!(
                status.message().contains(part),
                "generic {url} {section}: {status}"
            );
        }
    }
}

#[tokio::test]
async fn what_references_become_is_limited_on_both_sides() {
    let calls = Arc::default();
    let section = ", hessian2: {max-expansion: 1kib}";
    let (plain, strict) = (provide("", &calls).await, provide(section, &calls).await);
    let part = "(limit `expansion`)";
    for url in urls(&strict, "com.example.Mirror") {
        let mirror = generic(&url, "", "mirror").await;
        let sum = mirror.invoke("sum", None, vec![shared(50)]).await;
        let status = sum.expect_err("beyond");
        assert!(status.message().contains(part), "{url}: {status}");
        let sum = mirror.invoke("sum", None, vec![shared(3)]).await;
        assert_eq!(sum.expect("within").message(), &Value::Int(3 * 4950));
    }
    for url in urls(&plain, "com.example.Mirror") {
        let mirror = generic(&url, section, "mirror").await;
        let sum = mirror.invoke("sum", None, vec![shared(50)]).await;
        assert_eq!(
            sum.expect("it is the answer that counts").message(),
            &Value::Int(50 * 4950)
        );
        let call = |times| mirror.invoke_as::<Vec<Vec<i32>>>("same", None, vec![shared(times)]);
        let status = call(50).await.expect_err("beyond");
        assert!(status.message().contains(part), "{url}: {status}");
        assert_eq!(call(3).await.expect("within").message().len(), 3);
    }
}

/// Sends half of a surrogate pair in the place of the arguments.
struct Surrogate;

#[async_trait::async_trait]
impl Filter for Surrogate {
    async fn invoke(&self, mut invocation: Invocation, next: Next<'_>) -> RpcResult {
        let half = b"\x01\xed\xa0\x80"[..].into();
        invocation.body = Body::Unary(match next.url().protocol() {
            "tri" => Payload::values(Codec::Hessian2, vec![half]),
            _ => Payload::encoded(Codec::Hessian2, half),
        });
        next.run(invocation).await
    }
}

#[tokio::test]
async fn half_of_a_surrogate_pair_is_replaced_or_refused() {
    let calls = Arc::default();
    for (section, refused) in [
        ("", false),
        (", hessian2: {lone-surrogates: replace}", false),
        (", hessian2: {lone-surrogates: refuse}", true),
    ] {
        let provider = provide(section, &calls).await;
        for url in urls(&provider, "com.example.Mirror") {
            let yaml = format!(
                "dubbo: {{consumer: {{references: {{MirrorClient: {{url: '{url}', filter: half}}}}}}}}"
            );
            let instance = load(&yaml)
                .extension::<dyn Filter>("half", |_| Ok(Arc::new(Surrogate)))
                .build()
                .expect("valid");
            let mirror: MirrorClient = instance.refer().await.expect("refers");
            match mirror.same("".into()).await {
                Ok(same) if !refused => assert_eq!(same.message().as_str(), Some("\u{fffd}")),
                Err(status) if refused => {
                    assert!(status.message().contains("surrogate"), "{url}: {status}");
                }
                other => panic!("{url} {section}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn code_says_the_same_and_wins() {
    let calls = Arc::default();
    let provider = provide("", &calls).await;
    for url in urls(&provider, "com.example.Mirror") {
        let yaml = format!(
            "dubbo: {{consumer: {{references: {{MirrorClient: {{url: '{url}'}}}}}}, hessian2: {{max-depth: 100, max-fields: 2}}}}"
        );
        let options = Hessian2Config::new()
            .max_depth(2)
            .lone_surrogates(LoneSurrogates::Refuse);
        let instance = load(&yaml).hessian2(options).build().expect("valid");
        let mirror: MirrorClient = instance.refer().await.expect("refers");
        for (value, part) in [
            (nested(3), "(limit `depth`)"),
            (object("A", 3), "(limit `fields`)"),
        ] {
            let status = mirror.same(value).await.expect_err(part);
            assert!(status.message().contains(part), "{url}: {status}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    for (section, part) in [
        ("max-depth: 513", "a whole number from 1 to 512"),
        ("max-nodes: 0", "a whole number from 1 to"),
        ("max-expansion: much", "a size such as"),
        ("class-check: on", "`off` or `warn` or `strict`"),
        ("lone-surrogates: keep", "`replace` or `refuse`"),
        (
            "allow-classes: ['com.example.*']",
            "the beginning of the name alone",
        ),
        ("deny-classes: 'a, b*'", "`b*` is what no class begins with"),
        ("max-deph: 3", "did you mean `max-depth`"),
    ] {
        let yaml = format!("dubbo:\n  hessian2:\n    {section}\n");
        let error = load(&yaml).build().expect_err("refused").to_string();
        assert!(
            error.contains(part) && error.contains("dubbo.yaml:3:"),
            "{error}"
        );
    }
}
