//! HTTP services beside the calls, at each Triple server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use dubbo_core::{
    extension::Extensions,
    http::HttpHandler,
    protocol::Protocol,
    url::Url,
    yaml::{Location, Problem, ProblemKind},
};

use super::{ENDED_MEANWHILE, Inner, TRIPLE, export};
use crate::{
    config::{Config, ProtocolConfig},
    error::Error,
};

/// What is served at one path.
pub(super) struct Mounted {
    pub(super) path: String,
    pub(super) handler: Arc<dyn HttpHandler>,
}

impl fmt::Debug for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mounted").field(&self.path).finish()
    }
}

/// What is wrong with `mounted` in an instance of `config`.
pub(super) fn problems<'p>(
    mounted: &'p [Mounted],
    config: &Config,
    extensions: &Extensions,
) -> impl Iterator<Item = Problem> + use<'p> {
    let mut protocols = config.protocols.values();
    let is_served = protocols.any(|protocol| speaks_http(protocol, extensions));
    let no_server = mounted.first().filter(|_| !is_served).map(|first| {
        format!(
            "`http` was called for `{}`, and none of the protocols is `{TRIPLE}`, which serves HTTP: add one",
            first.path
        )
    });
    let mut seen = BTreeSet::new();
    let again = mounted.iter().filter_map(move |one| {
        let twice = !seen.insert(one.path.trim_matches('/'));
        twice.then(|| format!("`http` was called twice for `{}`", one.path))
    });
    let messages = no_server.into_iter().chain(again);
    messages
        .map(|message| Problem::new(ProblemKind::Conflict, Location::named("code"), "", message))
}

impl Inner {
    /// Serves what is mounted at each Triple server: those at `ports`, by the ids of their protocols, where services
    /// are, and those that have none.
    pub(super) async fn serve_http(&self, ports: &BTreeMap<String, u16>) -> Result<(), Error> {
        if self.mounted.is_empty() {
            return Ok(());
        }
        for (id, protocol) in &self.config.protocols {
            if !speaks_http(protocol, &self.extensions) {
                continue;
            }
            let mut server = export::server_url(protocol);
            if let Some(port) = ports.get(id) {
                server = server.with_port(*port);
            }
            for Mounted { path, handler } in &self.mounted {
                let url = self
                    .mount(&server.with_path(path.trim_matches('/')), handler)
                    .await?;
                server = server.with_port(url.port().unwrap_or_default());
                tracing::info!(protocol = id, path, address = url.address(), "serving HTTP");
            }
        }
        Ok(())
    }

    async fn mount(&self, at: &Url, handler: &Arc<dyn HttpHandler>) -> Result<Url, Error> {
        let mounted = super::protocol(&self.extensions, &self.protocols, at.protocol())?
            .mount(at, Arc::clone(handler))
            .await
            .map_err(|source| Error::Http {
                path: format!("/{}", at.path()),
                source,
            })?;
        let url = mounted.url().clone();
        if let Err(mounted) = self.keep(mounted, |running| &mut running.http) {
            mounted.unexport().await;
            return Err(ENDED_MEANWHILE);
        }
        Ok(url)
    }
}

fn speaks_http(protocol: &ProtocolConfig, extensions: &Extensions) -> bool {
    let name = extensions.canonical::<dyn Protocol>(protocol.name_or_default());
    name.is_ok_and(|name| name == TRIPLE)
}
