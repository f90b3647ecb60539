//! Clients that know the Java types, with Rust types of their own.

use dubbo_core::{
    request::Request,
    service::CallKind,
    status::{Code, Retry},
    stream,
};
use dubbo_hessian2::Hessian;
use dubbo_protocol::java::{Args, MethodSpec, Ret, descriptor, thrown, thrown_as};

use super::users::{Exported, INTERFACE, User, UserException, service};

/// One method of the service, alone in its descriptor.
fn only(method: MethodSpec) -> dubbo_core::service::ServiceDescriptor {
    descriptor(INTERFACE, None, None, vec![method])
}

#[tokio::test]
async fn a_method_is_found_by_its_signature_wherever_it_stands() {
    for exported in Exported::everywhere(service).await {
        let overload = |types: &'static [&'static str]| {
            exported.stub(only(
                MethodSpec::new("overload").parameters_as(types.iter().copied()),
            ))
        };
        let text = overload(&["java.lang.String"])
            .unary::<Args<(String,)>, Ret<String>>(0, Request::new(("a".to_owned(),)))
            .await;
        assert_eq!(text.expect("it works").message(), "S:a");
        let number = overload(&["int"])
            .unary::<Args<(i32,)>, Ret<String>>(0, Request::new((3,)))
            .await;
        assert_eq!(number.expect("it works").message(), "I:3");
        let both = overload(&["java.lang.String", "int"])
            .unary::<Args<(String, i32)>, Ret<String>>(0, Request::new(("a".to_owned(), 2)))
            .await;
        assert_eq!(both.expect("it works").message(), "SI:a2");

        let status = overload(&["boolean"])
            .unary::<Args<(bool,)>, Ret<String>>(0, Request::new((true,)))
            .await
            .expect_err("there is none");
        let code = match exported.over {
            "dubbo" => Code::InvalidArgument,
            _ => Code::Unimplemented,
        };
        assert_eq!(status.code(), code);
        assert_ne!(status.retry(), Retry::Ambiguous);
        let part = "overload(java.lang.String), overload(int), overload(java.lang.String, int)";
        assert!(status.message().contains(part), "{status}");
    }
}

#[tokio::test]
async fn both_sides_may_have_types_of_their_own() {
    /// Another type for the class, with fewer fields.
    #[derive(Debug, Clone, PartialEq, Hessian)]
    #[hessian(class = "org.apache.dubbo.interop.User")]
    struct Named {
        id: String,
        name: String,
    }
    for exported in Exported::everywhere(service).await {
        let echo = MethodSpec::new("echoUser").parameters_as(["org.apache.dubbo.interop.User"]);
        let stub = exported.stub(only(echo));
        let named = Named {
            id: "x".to_owned(),
            name: "N".to_owned(),
        };
        let answer = stub
            .unary::<Args<(Named,)>, Ret<Named>>(0, Request::new((named.clone(),)))
            .await;
        assert_eq!(answer.expect("it works").into_message(), named);
        let same = stub
            .unary::<Args<(User,)>, Ret<User>>(0, Request::new((User::of("1"),)))
            .await;
        assert_eq!(same.expect("it works").into_message(), User::of("1"));
    }
}

#[tokio::test]
async fn an_argument_of_another_type_is_told_with_its_place() {
    for exported in Exported::everywhere(service).await {
        let method = MethodSpec::new("three").parameters_as(["java.lang.String", "int", "x.User"]);
        let status = exported
            .stub(only(method))
            .unary::<Args<(String, String, i32)>, Ret<String>>(
                0,
                Request::new(("a".to_owned(), "b".to_owned(), 3)),
            )
            .await
            .expect_err("two arguments are of other types");
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_ne!(status.retry(), Retry::Ambiguous);
        for part in ["UserService/three", "argument 2 of 3 (`int`): expected"] {
            assert!(status.message().contains(part), "{status}");
        }
    }
}

#[tokio::test]
async fn nothing_and_null_are_results() {
    for exported in Exported::everywhere(service).await {
        let stub = exported.stub(only(
            MethodSpec::new("doVoid").parameters_as(["java.lang.String"]),
        ));
        let request = || Request::new(("x".to_owned(),));
        let answer = stub.unary::<Args<(String,)>, Ret<()>>(0, request()).await;
        answer.expect("it works");
        let other = stub
            .unary::<Args<(String,)>, Ret<Option<User>>>(0, request())
            .await;
        assert_eq!(other.expect("it works").into_message(), None);

        let stub = exported.stub(only(MethodSpec::new("returnNull")));
        let null = stub
            .unary::<Args<()>, Ret<Option<String>>>(0, Request::new(()))
            .await;
        assert_eq!(null.expect("it works").into_message(), None);
    }
}

#[tokio::test]
async fn an_exception_arrives_as_the_type_that_it_is() {
    for exported in Exported::everywhere(service).await {
        let stub = exported.stub(only(
            MethodSpec::new("throwChecked").parameters_as(["java.lang.String"]),
        ));
        let status = stub
            .unary::<Args<(String,)>, Ret<String>>(0, Request::new(("bad".to_owned(),)))
            .await
            .expect_err("it throws");
        assert_eq!(
            (status.code(), status.retry()),
            (Code::Business, Retry::Never)
        );
        assert_eq!(
            status.message(),
            "org.apache.dubbo.interop.UserException: bad"
        );
        let throwable = thrown(&status).expect("it was thrown");
        assert_eq!(throwable.message(), Some("bad"));
        let fields = UserException {
            detail: "d".to_owned(),
            code: 42,
        };
        assert_eq!(thrown_as(&status), Some(fields));
    }
}

#[tokio::test]
async fn streams_go_both_ways() {
    for exported in Exported::with_streams(service).await {
        let of = |name: &'static str, kind| {
            exported.stub(only(
                MethodSpec::new(name).parameters_as(["int"]).kind(kind),
            ))
        };
        let answer = of("count", CallKind::ServerStream)
            .server_stream::<Args<(i32,)>, Ret<i32>>(0, Request::new((3,)))
            .await;
        let mut numbers = answer.expect("it works").into_message();
        let mut all = Vec::new();
        while let Some(number) = numbers.message().await.expect("an item") {
            all.push(number);
        }
        assert_eq!(all, [1, 2, 3]);

        let total = of("total", CallKind::ClientStream)
            .client_stream::<Ret<i32>, Ret<i64>>(0, stream::iter([1, 2, 3]))
            .await;
        assert_eq!(total.expect("it works").into_message(), 6);

        let doubled = of("double", CallKind::BidiStream)
            // Not the type of the handler's: each item is read as if it had come over a wire.
            .bidi_stream::<Ret<i64>, Ret<i32>>(0, stream::iter([1_i64, 2]))
            .await;
        let mut doubled = doubled.expect("it works").into_message();
        assert_eq!(doubled.message().await.expect("an item"), Some(2));
        assert_eq!(doubled.message().await.expect("an item"), Some(4));
        assert_eq!(doubled.message().await.expect("the end"), None);
    }
}
