//! A client of nacos-sdk for services, with what was done through it, and how one is made.

use std::{io, sync::Arc, time::Duration};

use nacos_sdk::api::{
    error::Error,
    naming::{NamingService, NamingServiceBuilder},
    props::ClientProps,
};
use parking_lot::Mutex;
use tokio::{task::JoinSet, time::timeout};

use super::{
    Failure, link::Link, options::Server, publications::Publications, shared::Shared, texts::Line,
};

/// A client of nacos-sdk for services, with what was done through it. Its connections end when it is dropped.
pub(super) struct Generation {
    pub(super) server: Server,
    pub(super) naming: NamingService,
    pub(super) link: Link,
    pub(super) publications: Mutex<Publications>,
    /// Through which texts are read and written.
    pub(super) reading: Line,
    /// Through which changes of texts are heard of.
    pub(super) listening: Line,
}

impl Generation {
    /// Ends its connections, and those for texts.
    pub(super) fn cut(&self) {
        self.link.cut();
        self.reading.cut();
        self.listening.cut();
    }
}

impl Shared {
    /// Makes a client that speaks to `server`, which is ready.
    pub(super) async fn generate(&self, server: Server) -> Result<Generation, Failure> {
        self.log_in().await?;
        let link = self.link(&server).await?;
        let builder = NamingServiceBuilder::new(self.props(&link));
        let builder = match &self.login {
            Some(login) => builder.with_auth_plugin(Arc::clone(login) as _),
            None => builder,
        };
        let naming = self.make(&link, "connect", builder.build()).await?;
        Ok(Generation {
            server,
            naming,
            link,
            publications: Mutex::default(),
            reading: Line::default(),
            listening: Line::default(),
        })
    }

    /// A way to `server` for another client.
    pub(super) async fn link(&self, server: &Server) -> Result<Link, Failure> {
        let link = Link::to(server, self.options.timeout).await;
        link.map_err(|error: io::Error| {
            let reason = format!("{}: {error}", server.grpc_name());
            Failure::unavailable(self.error("connect", reason))
        })
    }

    /// What a client of nacos-sdk with this way is told. Its logins do not take it.
    pub(super) fn props(&self, link: &Link) -> ClientProps {
        let label = (LABEL.to_owned(), link.label().to_owned());
        ClientProps::new()
            .server_addr(format!("127.0.0.1:{}", link.port()))
            .remote_grpc_port(link.port())
            .labels([label].into())
            .namespace(self.options.namespace.clone())
            .env_first(false)
            .naming_push_empty_protection(false)
            .load_cache_at_start(false)
            .cache_dir(self.folder.0.clone())
    }

    /// Makes a client, which may take long, in a task of its own, as nacos-sdk may panic meanwhile.
    pub(super) async fn make<T: Send + 'static>(
        &self,
        link: &Link,
        what: &str,
        making: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Failure> {
        let mut task = JoinSet::new();
        task.spawn(making);
        let made = tokio::select! {
            made = timeout(MAKING, task.join_next()) => made,
            why = link.lost() => return Err(self.broken(what, &why)),
        };
        let reason = match made {
            Ok(Some(Ok(Ok(made)))) => return Ok(made),
            Ok(Some(Ok(Err(error)))) => {
                let user = self.login.as_ref().map(|login| login.user());
                return Err(Failure::of(what.to_owned(), &self.address, user, error));
            }
            Ok(Some(Err(error))) => format!("nacos-sdk gave up: {error}"),
            Ok(None) | Err(_) => format!("no answer within {MAKING:?}"),
        };
        Err(Failure::late(self.error(what, reason)))
    }
}

/// What the label of a client is called.
const LABEL: &str = "dubbo.link";

/// How long it may take to make a client of a server that is ready.
const MAKING: Duration = Duration::from_secs(10);
