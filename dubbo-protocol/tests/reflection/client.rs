//! A client of both reflection services, made of tonic and of what gRPC says about their messages.

use std::{marker::PhantomData, net::SocketAddr, time::Duration};

use http::uri::PathAndQuery;
use prost::Message;
use prost_types::FileDescriptorProto;
use tokio::sync::mpsc;
use tonic::{
    Request, Status, Streaming,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    transport::{Channel, Endpoint},
};

/// Both names of the service.
pub(crate) const SERVICES: [&str; 2] = [
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Ask {
    #[prost(string, tag = "1")]
    pub(crate) host: String,
    #[prost(oneof = "Asked", tags = "3, 4, 5, 6, 7")]
    pub(crate) asked: Option<Asked>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Asked {
    #[prost(string, tag = "3")]
    File(String),
    #[prost(string, tag = "4")]
    Symbol(String),
    #[prost(message, tag = "5")]
    Extension(Extension),
    #[prost(string, tag = "6")]
    Extensions(String),
    #[prost(string, tag = "7")]
    Services(String),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Extension {
    #[prost(string, tag = "1")]
    pub(crate) message: String,
    #[prost(int32, tag = "2")]
    pub(crate) number: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Told {
    #[prost(string, tag = "1")]
    pub(crate) host: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) ask: Option<Ask>,
    #[prost(oneof = "Answer", tags = "4, 5, 6, 7")]
    pub(crate) answer: Option<Answer>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Answer {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "5")]
    Extensions(Numbers),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    Miss(Miss),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    encoded: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Numbers {
    #[prost(string, tag = "1")]
    message: String,
    #[prost(int32, repeated, tag = "2")]
    numbers: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Services {
    #[prost(message, repeated, tag = "1")]
    services: Vec<Named>,
}

#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Miss {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) text: String,
}

impl Files {
    pub(crate) fn decoded(&self) -> Vec<FileDescriptorProto> {
        let files = self.encoded.iter();
        files
            .map(|file| FileDescriptorProto::decode(&**file).expect("a file"))
            .collect()
    }

    fn names(&self) -> Vec<String> {
        let files = self.decoded().into_iter();
        files.map(|file| file.name().to_owned()).collect()
    }
}

/// One stream of questions. Every answer is due soon.
pub(crate) struct Reflection {
    asks: Option<mpsc::Sender<Ask>>,
    answers: Streaming<Told>,
}

impl Reflection {
    /// Opens a stream of the service of that name.
    pub(crate) async fn open(address: SocketAddr, service: &str) -> Self {
        let request = Request::new(());
        Self::open_with(address, service, request).await
    }

    /// Opens it with the metadata of `request`.
    pub(crate) async fn open_with(
        address: SocketAddr,
        service: &str,
        request: Request<()>,
    ) -> Self {
        let path = PathAndQuery::try_from(format!("/{service}/ServerReflectionInfo"));
        let (sender, mut asks) = mpsc::channel(8);
        let asks = futures_util::stream::poll_fn(move |cx| asks.poll_recv(cx));
        let mut client = connect(address).await;
        let opening = client.streaming(
            request.map(|()| asks),
            path.expect("legal"),
            Protobuf::default(),
        );
        Self {
            asks: Some(sender),
            answers: due(opening).await.expect("opened").into_inner(),
        }
    }

    pub(crate) async fn ask(&mut self, asked: Option<Asked>) -> Answer {
        let ask = Ask {
            host: "example.com".to_owned(),
            asked,
        };
        let asks = self.asks.as_ref().expect("open");
        asks.send(ask.clone()).await.expect("open");
        let told = self.next().await.expect("answered").expect("an answer");
        assert_eq!(told.host, ask.host);
        assert_eq!(told.ask.as_ref(), Some(&ask));
        told.answer.expect("it says something")
    }

    /// The names of the files that hold `symbol` and that it needs; else why there are none.
    pub(crate) async fn symbol(&mut self, symbol: &str) -> Result<Vec<String>, Miss> {
        self.files(Asked::Symbol(symbol.to_owned())).await
    }

    /// The names of the files that are the answer to a question; else why there are none.
    pub(crate) async fn files(&mut self, asked: Asked) -> Result<Vec<String>, Miss> {
        match self.ask(Some(asked)).await {
            Answer::Files(files) => Ok(files.names()),
            Answer::Miss(miss) => Err(miss),
            other => panic!("{other:?}"),
        }
    }

    /// The files themselves.
    pub(crate) async fn decoded(&mut self, symbol: &str) -> Vec<FileDescriptorProto> {
        match self.ask(Some(Asked::Symbol(symbol.to_owned()))).await {
            Answer::Files(files) => files.decoded(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn extensions(&mut self, message: &str) -> Result<Vec<i32>, Miss> {
        match self.ask(Some(Asked::Extensions(message.to_owned()))).await {
            Answer::Extensions(numbers) => {
                assert_eq!(numbers.message, message);
                Ok(numbers.numbers)
            }
            Answer::Miss(miss) => Err(miss),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn services(&mut self) -> Vec<String> {
        match self.ask(Some(Asked::Services("*".to_owned()))).await {
            Answer::Services(all) => all.services.into_iter().map(|it| it.name).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Says that there are no more questions.
    pub(crate) fn close(&mut self) {
        self.asks = None;
    }

    /// What comes next: an answer, the end, or an error.
    pub(crate) async fn next(&mut self) -> Result<Option<Told>, Status> {
        due(self.answers.message()).await
    }
}

/// Calls a method with empty messages.
pub(crate) async fn call(address: SocketAddr, path: &'static str) -> Result<(), Status> {
    let codec = Protobuf::<(), ()>::default();
    let path = PathAndQuery::from_static(path);
    let mut client = connect(address).await;
    let answered = due(client.unary(Request::new(()), path, codec)).await;
    answered.map(|_| ())
}

async fn connect(address: SocketAddr) -> Grpc<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a URI");
    let mut client = Grpc::new(due(endpoint.connect()).await.expect("listening"));
    due(client.ready()).await.expect("connected");
    client
}

/// Waits for something that is due, so that a test which would hang fails instead.
pub(crate) async fn due<T>(event: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), event)
        .await
        .expect("nothing happened for 20 s")
}

/// Protobuf for tonic.
struct Protobuf<E, D>(PhantomData<fn() -> (E, D)>);

impl<E, D> Default for Protobuf<E, D> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<E, D> Codec for Protobuf<E, D>
where
    E: Message + 'static,
    D: Message + Default + 'static,
{
    type Encode = E;
    type Decode = D;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self::default()
    }

    fn decoder(&mut self) -> Self {
        Self::default()
    }
}

impl<E: Message, D> Encoder for Protobuf<E, D> {
    type Item = E;
    type Error = Status;

    fn encode(&mut self, item: E, dst: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(dst)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

impl<E, D: Message + Default> Decoder for Protobuf<E, D> {
    type Item = D;
    type Error = Status;

    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<D>, Status> {
        D::decode(src)
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}
