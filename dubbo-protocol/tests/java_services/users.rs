//! The service that the tests call, and how they reach it.

use std::{collections::BTreeMap, sync::Arc};

use dubbo_core::{
    call::Stub,
    invoker::Invoker,
    protocol::{Exporter, Protocol},
    provider::Service,
    request::{Request, Response},
    service::{ServiceDescriptor, ServiceKey},
    status::Status,
    stream,
    streaming::Streaming,
    url::Url,
};
use dubbo_hessian2::{
    Hessian, Value,
    java::{BigDecimal, Date, LocalDate, Throwable},
};
use dubbo_protocol::{
    DubboProtocol, Injvm, TripleProtocol,
    java::{GenericClient, JavaService, MethodSpec, exception, exception_with, with_built_ins},
};

pub(crate) const INTERFACE: &str = "org.apache.dubbo.interop.UserService";

/// As the recorded peers have it.
#[derive(Debug, Clone, Default, PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.User")]
pub(crate) struct User {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) age: i32,
    pub(crate) score: i64,
    pub(crate) rate: f64,
    pub(crate) active: bool,
    pub(crate) birth: Option<Date>,
    pub(crate) gender: Option<Gender>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) attrs: Option<BTreeMap<String, Value>>,
    pub(crate) photo: Option<Vec<u8>>,
    pub(crate) friend: Option<Box<Self>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.Gender")]
pub(crate) enum Gender {
    Male,
    Female,
}

#[derive(Debug, Clone, PartialEq, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.UserException")]
pub(crate) struct UserException {
    pub(crate) detail: String,
    pub(crate) code: i32,
}

impl User {
    /// The one that the recorded peers give for `id`.
    pub(crate) fn of(id: &str) -> Self {
        Self {
            id: Some(id.to_owned()),
            name: Some(format!("user-{id}")),
            age: 20,
            score: 1 << 40,
            rate: 0.5,
            active: true,
            birth: Some(Date::from_millis(1_500_000_000_123)),
            gender: Some(Gender::Female),
            tags: Some(vec!["a".to_owned(), "b".to_owned()]),
            attrs: Some([("k".to_owned(), "v".into()), ("n".to_owned(), 7.into())].into()),
            photo: Some(vec![0, 1, 254, 255]),
            friend: None,
        }
    }
}

pub(crate) fn service() -> Service {
    let service = JavaService::new(INTERFACE);
    streams(failures(shapes(values(service)))).build()
}

fn values(service: JavaService) -> JavaService {
    service
        .method("getUser", async |call: Request<(String,)>| {
            Ok(User::of(&call.into_message().0).into())
        })
        .method("getUsers", async |call: Request<(Vec<String>,)>| {
            let (ids,) = call.into_message();
            Ok(ids.iter().map(|id| User::of(id)).collect::<Vec<_>>().into())
        })
        .method("echoUser", async |call: Request<(User,)>| {
            Ok(call.into_message().0.into())
        })
        .method("echoInt", async |call: Request<(i32,)>| {
            Ok(call.into_message().0.into())
        })
        .method("echoLocalDate", async |call: Request<(LocalDate,)>| {
            Ok(call.into_message().0.into())
        })
        .method("echoBigDecimal", async |call: Request<(BigDecimal,)>| {
            Ok(call.into_message().0.into())
        })
        .method("hello", async |call: Request<(String,)>| {
            Ok(format!("hello {}", call.into_message().0).into())
        })
}

/// What calls can look like.
fn shapes(service: JavaService) -> JavaService {
    let overload = |types: &'static [&'static str]| {
        MethodSpec::new("overload").parameters_as(types.iter().copied())
    };
    service
        .method(
            overload(&["java.lang.String"]),
            async |call: Request<(String,)>| Ok(format!("S:{}", call.into_message().0).into()),
        )
        .method(overload(&["int"]), async |call: Request<(i32,)>| {
            Ok(format!("I:{}", call.into_message().0).into())
        })
        .method("overload", async |call: Request<(String, i32)>| {
            let (text, number) = call.into_message();
            Ok(format!("SI:{text}{number}").into())
        })
        .method("sum", async |call: Request<(Box<[i32]>,)>| {
            Ok(call
                .into_message()
                .0
                .iter()
                .map(|&n| i64::from(n))
                .sum::<i64>()
                .into())
        })
        .method("noArgs", async |_: Request<()>| {
            Ok("no-args".to_owned().into())
        })
        .method("returnNull", async |_: Request<()>| {
            Ok(None::<String>.into())
        })
        .method("doVoid", async |_: Request<(String,)>| Ok(().into()))
        .method("three", async |call: Request<(String, i32, User)>| {
            let (text, number, user) = call.into_message();
            Ok(format!("{text}|{number}|{}", user.id.unwrap_or_default()).into())
        })
        .method("sayAsync", async |call: Request<(String,)>| {
            Ok(format!("async {}", call.into_message().0).into())
        })
        .method("attachment", async |call: Request<(String,)>| {
            let value = call.attachments().get(&call.message().0).map(str::to_owned);
            call.context().reply().trailer("seen", "yes");
            Ok(value.into())
        })
}

fn failures(service: JavaService) -> JavaService {
    service
        .method("throwChecked", async |call: Request<(String,)>| {
            let fields = UserException {
                detail: "d".to_owned(),
                code: 42,
            };
            Err::<Response<String>, _>(exception_with(&call.into_message().0, &fields))
        })
        .method("throwRuntime", async |call: Request<(String,)>| {
            Err::<Response<String>, _>(exception(Throwable::runtime(call.into_message().0)))
        })
        .method("notANumber", async |_: Request<()>| Ok(f64::NAN.into()))
        .method("refuse", async |_: Request<()>| {
            Err::<Response<()>, _>(Status::business("no"))
        })
        .method("notFound", async |_: Request<()>| {
            Err::<Response<()>, _>(Status::not_found("no user 7"))
        })
}

fn streams(service: JavaService) -> JavaService {
    service
        .server_stream("count", async |call: Request<(i32,)>| {
            let (to,) = call.into_message();
            Ok(Response::stream(stream::iter((1..=to).map(Ok))))
        })
        .client_stream("total", async |call: Request<Streaming<i32>>| {
            let mut numbers = call.into_message();
            let mut total = 0;
            while let Some(number) = numbers.message().await? {
                total += i64::from(number);
            }
            Ok(total.into())
        })
        .bidi_stream("double", async |call: Request<Streaming<i32>>| {
            let mut numbers = call.into_message();
            let (sender, doubled) = Streaming::channel(1);
            // The test waits for the end of the stream.
            tokio::spawn(async move {
                while let Ok(Some(number)) = numbers.message().await {
                    let sent = sender.send(i64::from(number) * 2).await;
                    sent.expect("the test reads to the end");
                }
            });
            Ok(Response::new(doubled))
        })
}

/// A service that is exported, and a reference to it.
pub(crate) struct Exported {
    /// The name of the protocol.
    pub(crate) over: &'static str,
    pub(crate) invoker: Arc<dyn Invoker>,
    pub(crate) key: ServiceKey,
    _protocol: Box<dyn Protocol>,
    _exporter: Box<dyn Exporter>,
}

impl Exported {
    /// Exports what `service` makes, with what every service answers, over each protocol.
    pub(crate) async fn everywhere(service: fn() -> Service) -> Vec<Self> {
        let mut all = Self::with_streams(service).await;
        all.push(Self::over("dubbo", Box::new(DubboProtocol::default()), service()).await);
        all
    }

    /// The same where there are streams, and messages of an IDL.
    pub(crate) async fn with_streams(service: fn() -> Service) -> Vec<Self> {
        vec![
            Self::over("injvm", Box::new(Injvm::default()), service()).await,
            Self::over("tri", Box::new(TripleProtocol::default()), service()).await,
        ]
    }

    async fn over(over: &'static str, protocol: Box<dyn Protocol>, service: Service) -> Self {
        let service = with_built_ins(service);
        let descriptor = Arc::clone(service.descriptor());
        let url = Url::new(over, "127.0.0.1")
            .with_port(0)
            .with_path(descriptor.interface());
        let invoker = service.into_invoker(url.clone());
        let exporter = protocol
            .export(&url, Arc::clone(&descriptor), invoker)
            .await;
        let exporter = exporter.expect("it is free");
        let invoker = protocol.refer(exporter.url(), descriptor).await;
        Self {
            over,
            invoker: invoker.expect("a good URL"),
            key: url.service_key(),
            _protocol: protocol,
            _exporter: exporter,
        }
    }

    pub(crate) fn stub(&self, descriptor: ServiceDescriptor) -> Stub {
        let invoker = Arc::clone(&self.invoker);
        Stub::new(invoker, self.key.clone(), Arc::new(descriptor))
    }

    pub(crate) fn generic(&self) -> GenericClient {
        GenericClient::new(Arc::clone(&self.invoker), self.key.clone())
    }
}
