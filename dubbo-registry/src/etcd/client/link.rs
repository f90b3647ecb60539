//! A connection to one member, and requests on it.

use std::{error::Error as _, pin::Pin, sync::Arc};

use futures_util::{
    FutureExt as _, Stream, StreamExt as _, TryStreamExt as _, future::BoxFuture, stream,
};
use http::uri::PathAndQuery;
use parking_lot::Mutex;
use prost::Message;
use tokio::sync::mpsc;
use tonic::{
    Request, Status,
    client::Grpc,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint, Error},
};
use tonic_prost::ProstCodec;

use super::{
    Options,
    failure::{chain, is_old_token, needs_no_login},
    messages::{AuthenticateRequest, AuthenticateResponse},
};

/// A connection to one member.
#[derive(Clone)]
pub(super) struct Link {
    grpc: Grpc<Channel>,
    /// User and password.
    login: Option<(String, String)>,
    /// What stands for the login, for a while.
    token: Arc<Mutex<Option<Token>>>,
}

type Token = MetadataValue<Ascii>;

/// How one connects. Tests do without sockets.
pub(super) type Dial =
    Arc<dyn Fn(Endpoint) -> BoxFuture<'static, Result<Channel, Error>> + Send + Sync>;

/// Over the network.
pub(super) fn dial() -> Dial {
    Arc::new(|endpoint| async move { endpoint.connect().await }.boxed())
}

/// Answers, as they come.
pub(super) type Answers<A> = Pin<Box<dyn Stream<Item = Result<A, Status>> + Send>>;

/// What can be asked of a member, as `package.Service/Method`.
pub(super) mod method {
    pub(in super::super) const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";
    pub(in super::super) const DELETE: &str = "/etcdserverpb.KV/DeleteRange";
    pub(in super::super) const GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
    pub(in super::super) const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";
    pub(in super::super) const PUT: &str = "/etcdserverpb.KV/Put";
    pub(in super::super) const RANGE: &str = "/etcdserverpb.KV/Range";
    pub(in super::super) const REVOKE: &str = "/etcdserverpb.Lease/LeaseRevoke";
    pub(in super::super) const TXN: &str = "/etcdserverpb.KV/Txn";
    pub(in super::super) const WATCH: &str = "/etcdserverpb.Watch/Watch";
}

impl Link {
    /// Connects to `member`, `host:port`, and logs in where there is a login.
    pub(super) async fn connect(
        options: &Options,
        member: &str,
        dial: &Dial,
    ) -> Result<Self, Status> {
        let endpoint = endpoint(options, member).map_err(Status::invalid_argument)?;
        let channel = dial(endpoint)
            .await
            .map_err(|error| Status::unavailable(why(&error)))?;
        let link = Self {
            grpc: Grpc::new(channel).max_decoding_message_size(LARGEST_ANSWER),
            login: options.login.clone(),
            token: Arc::default(),
        };
        link.log_in().await?;
        Ok(link)
    }

    /// Asks for one thing. A login that is no longer good is renewed.
    pub(super) async fn ask<Q, A>(&self, method: &'static str, question: Q) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        match self.send(method, question.clone()).await {
            Err(status) if self.login.is_some() && is_old_token(&status) => {
                self.log_in().await?;
                self.send(method, question).await
            }
            answer => answer,
        }
    }

    /// Opens a stream of requests. Members begin to answer with the first request, so that nothing is waited for here.
    pub(super) fn open<Q, A>(
        &self,
        method: &'static str,
        questions: mpsc::UnboundedReceiver<Q>,
    ) -> Answers<A>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let questions = stream::unfold(questions, async |mut questions| {
            Some((questions.recv().await?, questions))
        });
        let mut request = self.request(questions);
        // A member that has lost the others ends the stream then, instead of keeping silent.
        request
            .metadata_mut()
            .insert("hasleader", MetadataValue::from_static("true"));
        let mut grpc = self.grpc.clone();
        let opening = async move {
            ready(&mut grpc).await?;
            let codec = ProstCodec::<Q, A>::new();
            let answer = grpc
                .streaming(request, PathAndQuery::from_static(method), codec)
                .await?;
            Ok::<_, Status>(answer.into_inner())
        };
        stream::once(opening).try_flatten().boxed()
    }

    async fn log_in(&self) -> Result<(), Status> {
        let Some((name, password)) = self.login.clone() else {
            return Ok(());
        };
        *self.token.lock() = None;
        let login = AuthenticateRequest { name, password };
        let answer: AuthenticateResponse = match self.send(method::AUTHENTICATE, login).await {
            Ok(answer) => answer,
            Err(status) if needs_no_login(&status) => {
                tracing::warn!("this etcd takes requests of anybody: there was no use for a login");
                return Ok(());
            }
            Err(status) => return Err(status),
        };
        let token = answer
            .token
            .parse()
            .map_err(|_| Status::internal("the token that it gives is no text"))?;
        *self.token.lock() = Some(token);
        Ok(())
    }

    async fn send<Q, A>(&self, method: &'static str, question: Q) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let request = self.request(question);
        let mut grpc = self.grpc.clone();
        ready(&mut grpc).await?;
        let codec = ProstCodec::<Q, A>::new();
        let answer = grpc
            .unary(request, PathAndQuery::from_static(method), codec)
            .await?;
        Ok(answer.into_inner())
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &*self.token.lock() {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }
}

fn endpoint(options: &Options, member: &str) -> Result<Endpoint, String> {
    let scheme = if options.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{member}"))
        .map_err(|error| why(&error))?
        .connect_timeout(options.timeout);
    match &options.tls {
        Some(tls) => endpoint
            .tls_config(tls.load()?)
            .map_err(|error| why(&error)),
        None => Ok(endpoint),
    }
}

/// What is behind an error, which itself says no more than that there is one.
fn why(error: &Error) -> String {
    error.source().map_or_else(|| error.to_string(), chain)
}

async fn ready(grpc: &mut Grpc<Channel>) -> Result<(), Status> {
    let ready = grpc.ready().await;
    ready.map_err(|error| Status::unavailable(why(&error)))
}

/// Room for a page of entries of 128 KiB each. A single request is 1.5 MiB at most, unless the members are set up for more.
const LARGEST_ANSWER: usize = 32 << 20;
