//! Services made of traits: what they are described as, and how an implementation and a client meet.

use std::{collections::HashMap, sync::Arc};

use dubbo::{
    Call, CallContext, CallKind, Client, Code, Hessian, Response, Service, ServiceKey, Status,
    Streaming, Stub, Url, hessian2::Value, service, spi::protocol::Protocol,
};
use dubbo_protocol::TripleProtocol;
use futures_util::StreamExt;

#[derive(Debug, Clone, PartialEq, Hessian)]
#[hessian(class = "com.example.User")]
struct User {
    id: String,
    age: i32,
}

/// Users.
#[service(interface = "com.example.UserService", version = "1.0.0", group = "g")]
trait UserService {
    /// One user, or none.
    #[dubbo(idempotent)]
    async fn get_user(&self, id: String) -> Result<Option<User>, Status>;
    async fn mix(&self, id: String, age: i32, base: Option<User>) -> Result<User, Status>;
    async fn called(
        &self,
        context: CallContext,
        key: String,
    ) -> Result<HashMap<String, Value>, Status>;
    #[dubbo(oneway)]
    async fn fire(&self, text: String) -> Result<(), Status>;
    #[dubbo(name = "overload")]
    async fn overload_text(&self, a: String) -> Result<String, Status>;
    #[dubbo(name = "overload", types = ["java.lang.Object", "long"], returns = "java.lang.Object")]
    async fn overload_both(&self, a: Value, r#type: i64) -> Result<Value, Status>;
    async fn nothing(&self, context: CallContext) -> Result<(), Status>;
    async fn all(&self, prefix: String) -> Result<Streaming<User>, Status>;
    async fn each(
        &self,
        context: CallContext,
        users: Streaming<User>,
    ) -> Result<Streaming<User>, Status>;
    async fn count(&self, users: Streaming<User>) -> Result<i32, Status>;
    /// Not any more.
    #[deprecated = "gone"]
    async fn old(&self) -> std::result::Result<Box<[i32]>, Status>;
}

struct Users;

fn user(id: &str, age: i32) -> User {
    User {
        id: id.to_owned(),
        age,
    }
}

impl UserService for Users {
    async fn get_user(&self, id: String) -> Result<Option<User>, Status> {
        match id.as_str() {
            "" => Err(Status::invalid_argument("an id is needed")),
            "nobody" => Ok(None),
            id => Ok(Some(user(id, 1))),
        }
    }

    async fn mix(&self, id: String, age: i32, base: Option<User>) -> Result<User, Status> {
        let more = base.map_or(0, |base| base.age);
        Ok(User {
            id,
            age: age + more,
        })
    }

    async fn called(
        &self,
        context: CallContext,
        key: String,
    ) -> Result<HashMap<String, Value>, Status> {
        context.reply().trailer("cost", "7");
        let value = context.attachments().get(&key).unwrap_or("nothing");
        Ok(HashMap::from([
            ("method".to_owned(), context.method().name().into()),
            (key, value.into()),
        ]))
    }

    async fn fire(&self, text: String) -> Result<(), Status> {
        match text.as_str() {
            "x" => Ok(()),
            _ => Err(Status::internal("fired")),
        }
    }

    async fn overload_text(&self, a: String) -> Result<String, Status> {
        Ok(format!("text {a}"))
    }

    async fn overload_both(&self, a: Value, r#type: i64) -> Result<Value, Status> {
        Ok(Value::list([a, r#type.into()]))
    }

    async fn nothing(&self, _: CallContext) -> Result<(), Status> {
        Ok(())
    }

    async fn all(&self, prefix: String) -> Result<Streaming<User>, Status> {
        let users = (0..3).map(move |n| Ok(user(&format!("{prefix}{n}"), n)));
        Ok(Streaming::new(futures_util::stream::iter(users)))
    }

    async fn each(
        &self,
        context: CallContext,
        users: Streaming<User>,
    ) -> Result<Streaming<User>, Status> {
        let method = context.method().name().to_owned();
        let users = users.map(move |each| {
            let User { id, age } = each?;
            Ok(user(&format!("{method} {id}"), age + 1))
        });
        Ok(Streaming::new(users))
    }

    async fn count(&self, users: Streaming<User>) -> Result<i32, Status> {
        Ok(users
            .fold(0, async |sum, each| sum + each.map_or(0, |user| user.age))
            .await)
    }

    async fn old(&self) -> Result<Box<[i32]>, Status> {
        Ok(Box::new([1, 2]))
    }
}

#[test]
fn a_trait_is_described_as_java_would() {
    let service = UserServiceClient::descriptor();
    assert!(Arc::ptr_eq(service, &USER_SERVICE_DESCRIPTOR));
    assert_eq!(service.interface(), "com.example.UserService");
    assert_eq!(
        (service.group(), service.version()),
        (Some("g"), Some("1.0.0"))
    );
    let methods: Vec<_> = service
        .methods()
        .iter()
        .map(|method| {
            let java = method
                .java
                .as_deref()
                .expect("described for Java")
                .to_string();
            (&*method.name, java, &*method.output, method.kind)
        })
        .collect();
    let observer = "org.apache.dubbo.common.stream.StreamObserver";
    let user = "com.example.User";
    let want = [
        ("getUser", "java.lang.String", user, CallKind::Unary),
        (
            "mix",
            "java.lang.String, int, com.example.User",
            user,
            CallKind::Unary,
        ),
        (
            "called",
            "java.lang.String",
            "java.util.Map",
            CallKind::Unary,
        ),
        ("fire", "java.lang.String", "void", CallKind::Unary),
        (
            "overload",
            "java.lang.String",
            "java.lang.String",
            CallKind::Unary,
        ),
        (
            "overload",
            "java.lang.Object, long",
            "java.lang.Object",
            CallKind::Unary,
        ),
        ("nothing", "", "void", CallKind::Unary),
        ("all", "java.lang.String", user, CallKind::ServerStream),
        ("each", observer, user, CallKind::BidiStream),
        ("count", observer, "int", CallKind::ClientStream),
        ("old", "", "[I", CallKind::Unary),
    ];
    let want = want.map(|(name, types, returns, kind)| (name, types.to_owned(), returns, kind));
    assert_eq!(methods, want);
    let names = |index: usize| {
        let java = service.methods()[index].java.as_deref().expect("of Java");
        java.names().join(" ")
    };
    // The context is no parameter, and a name has no `r#`.
    assert_eq!(
        [1, 2, 5, 6, 8].map(names),
        ["id age base", "key", "a type", "", ""]
    );
    for (index, method) in service.methods().iter().enumerate() {
        assert_eq!(method.idempotent, index == 0, "{}", method.name);
        assert_eq!(method.one_way, index == 3, "{}", method.name);
    }
}

#[test]
fn a_server_is_named_after_its_implementation_and_shared() {
    let server = UserServiceServer::from_arc(Arc::new(Users));
    let debug = format!("{:?}", server.clone());
    assert!(
        debug.starts_with("UserServiceServer(") && debug.contains("Users"),
        "{debug}"
    );
    assert_eq!(Service::from(server).implementation(), "Users");
}

/// What keeps a client connected.
struct Rig<C> {
    client: C,
    _held: Box<dyn std::any::Any>,
}

/// A client of `service` over Triple.
async fn serve<C: Client>(service: impl Into<Service>) -> Rig<C> {
    let service = service.into();
    let protocol = TripleProtocol::default();
    let descriptor = Arc::clone(C::descriptor());
    let url = Url::new("tri", "127.0.0.1")
        .with_port(0)
        .with_path(descriptor.interface());
    let served = Arc::clone(service.descriptor());
    let exporter = protocol
        .export(&url, served, service.into_invoker(url.clone()))
        .await
        .expect("exported");
    let invoker = protocol
        .refer(exporter.url(), Arc::clone(&descriptor))
        .await
        .expect("referred");
    let key = ServiceKey::new(descriptor.interface());
    Rig {
        client: C::from_stub(Stub::new(invoker, key, descriptor)),
        _held: Box::new((protocol, exporter)),
    }
}

async fn answer<T>(call: Call<'_, Response<T>>) -> Result<T, Status> {
    call.await.map(Response::into_message)
}

#[tokio::test]
async fn values_go_both_ways() {
    let rig = serve(UserServiceServer::new(Users)).await;
    let users: UserServiceClient = rig.client;
    let one = |id: &str| answer(users.get_user(id.to_owned()));
    assert_eq!(one("a").await.expect("answers"), Some(user("a", 1)));
    assert_eq!(one("nobody").await.expect("answers"), None);
    let status = one("").await.expect_err("refused");
    assert_eq!(status.code(), Code::InvalidArgument);

    let mixed = answer(users.mix("b".to_owned(), 2, Some(user("a", 40)))).await;
    assert_eq!(mixed.expect("answers"), user("b", 42));
    let mixed = answer(users.mix("b".to_owned(), 2, None)).await;
    assert_eq!(mixed.expect("answers"), user("b", 2));
    let () = answer(users.nothing()).await.expect("answers");
    let () = answer(users.fire("x".to_owned())).await.expect("sent");
    #[expect(deprecated, reason = "it is called to see that it can be")]
    let old = answer(users.old()).await.expect("answers");
    assert_eq!(*old, [1, 2]);
}

#[tokio::test]
async fn a_handler_gets_the_call_that_it_serves() {
    let rig = serve(UserServiceServer::new(Users)).await;
    let users: UserServiceClient = rig.client;
    let called = users.called("tenant".to_owned()).attach("tenant", "a");
    let called = called.await.expect("answers");
    let want = [("method", "called"), ("tenant", "a")];
    let want = want.map(|(key, value)| (key.to_owned(), value.into()));
    assert_eq!(*called.message(), HashMap::from(want));
    assert_eq!(called.trailers().get("cost"), Some("7"));
}

#[tokio::test]
async fn methods_of_one_name_are_told_apart() {
    let rig = serve(UserServiceServer::new(Users)).await;
    let users: UserServiceClient = rig.client;
    let text = answer(users.overload_text("a".to_owned())).await;
    assert_eq!(text.expect("answers"), "text a");
    let both = answer(users.overload_both("a".into(), 1)).await;
    assert_eq!(
        both.expect("answers"),
        Value::list(["a".into(), 1_i64.into()])
    );
}

#[tokio::test]
async fn streams_go_both_ways() {
    let rig = serve(UserServiceServer::new(Users)).await;
    let users: UserServiceClient = rig.client;
    let all = answer(users.all("u".to_owned())).await.expect("answers");
    let all: Vec<_> = all.map(|user| user.expect("a user").id).collect().await;
    assert_eq!(all, ["u0", "u1", "u2"]);

    let sent = || futures_util::stream::iter([user("a", 1), user("b", 2)]);
    let each = answer(users.each(sent())).await.expect("answers");
    let each: Vec<_> = each.map(|user| user.expect("a user")).collect().await;
    assert_eq!(each, [user("each a", 2), user("each b", 3)]);

    let count = answer(users.count(sent())).await;
    assert_eq!(count.expect("answers"), 3);
}

/// Everything that the code of a service could mean by mistake has another meaning here.
#[allow(dead_code, non_camel_case_types, non_upper_case_globals)]
mod shadowed {
    mod std {}
    mod core {}
    mod alloc {}
    mod dubbo {}
    mod codegen {}
    mod java {}

    struct Result;
    struct Option;
    struct String;
    struct Vec;
    struct Box;
    struct Arc;
    struct Call;
    struct Client;
    struct Request;
    struct Response;
    struct Service;
    struct Status;
    struct Streaming;
    struct Stub;
    struct Args;
    struct Ret;
    trait Clone {}
    trait Debug {}
    trait From {}
    trait Future {}
    trait Into {}
    trait Send {}
    trait Sync {}
    const Ok: () = ();
    const Some: () = ();
    const None: () = ();
    fn answer() {}
    fn builder() {}
    fn context() {}
    fn descriptor() {}
    fn handler() {}
    fn message() {}
    fn methods() {}
    fn request() {}
    fn server() {}

    /// A type that is called as the parameter of the server is.
    #[derive(Debug, PartialEq, ::dubbo::Hessian)]
    #[hessian(class = "com.example.T")]
    pub(super) struct T {
        pub(super) message: i32,
    }

    #[::dubbo::service(interface = "com.example.Shadowed")]
    pub(super) trait Shadowed {
        async fn request(
            &self,
            context: ::dubbo::CallContext,
            handler: T,
            message: ::std::option::Option<::std::string::String>,
            stub: bool,
        ) -> ::std::result::Result<T, ::dubbo::Status>;
        async fn from_stub(&self) -> ::std::result::Result<(), ::dubbo::Status>;
        async fn clone(
            &self,
            builder: ::dubbo::Streaming<T>,
        ) -> ::std::result::Result<::dubbo::Streaming<T>, ::dubbo::Status>;
    }
}

struct Shadow;

impl shadowed::Shadowed for Shadow {
    async fn request(
        &self,
        _: CallContext,
        handler: shadowed::T,
        message: Option<String>,
        stub: bool,
    ) -> Result<shadowed::T, Status> {
        assert!(stub && message.is_none());
        Ok(handler)
    }

    async fn from_stub(&self) -> Result<(), Status> {
        Ok(())
    }

    async fn clone(
        &self,
        builder: Streaming<shadowed::T>,
    ) -> Result<Streaming<shadowed::T>, Status> {
        Ok(builder)
    }
}

#[tokio::test]
async fn names_around_a_trait_do_not_matter() {
    let rig = serve(shadowed::ShadowedServer::new(Shadow)).await;
    let client: shadowed::ShadowedClient = rig.client;
    let request = client.request(shadowed::T { message: 3 }, None, true);
    assert_eq!(answer(request).await.expect("answers").message, 3);
    answer(client.from_stub()).await.expect("answers");
    let sent = futures_util::stream::iter([shadowed::T { message: 4 }]);
    let echoed = answer(client.clone(sent)).await.expect("answers");
    let echoed: Vec<_> = echoed
        .map(|item| item.expect("one").message)
        .collect()
        .await;
    assert_eq!(echoed, [4]);
}
