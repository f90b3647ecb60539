//! OpenAPI documents of what an instance serves: at its Triple servers, and for its metadata service.

use std::{collections::BTreeMap, sync::Arc};

use dubbo_core::{
    http::HttpHandler,
    protocol::{Protocol, ProtocolError},
    service::{ServiceDescriptor, ServiceKey},
    url::Url,
};
use dubbo_metadata::openapi::{DEFAULT_GROUP, Documented, NoPages, OpenApi, OpenApiPages};

use super::{ENDED_MEANWHILE, Inner, TRIPLE};
use crate::{config::OpenApiConfig, error::Error};

/// What is served by the protocols of each id.
#[derive(Default)]
pub(super) struct Served<'i>(BTreeMap<&'i str, Vec<(Url, Documented)>>);

impl<'i> Served<'i> {
    /// Notes that the service of `descriptor` is served at `url` by the protocol called `id`.
    pub(super) fn add(&mut self, id: &'i str, url: &Url, descriptor: &Arc<ServiceDescriptor>) {
        let group = url.param(GROUP).filter(|group| !group.is_empty());
        let documented = Documented {
            key: ServiceKey::clone(&url.service_key()),
            group: group.unwrap_or(DEFAULT_GROUP).to_owned(),
            descriptor: Arc::clone(descriptor),
        };
        let served = self.0.entry(id).or_default();
        served.push((url.clone(), documented));
    }
}

impl Served<'_> {
    /// The ports of the protocols that serve anything, by id.
    pub(super) fn ports(&self) -> BTreeMap<String, u16> {
        let served = self.0.iter();
        served
            .filter_map(|(id, served)| Some(((*id).to_owned(), served.first()?.0.port()?)))
            .collect()
    }
}

impl Inner {
    /// Serves at each Triple server the documents of what it serves; where they are switched off, that they are. Gives the
    /// documents of all together, if they are switched on anywhere: made by the settings of the first protocol where they
    /// are.
    pub(super) async fn serve_pages(&self, served: Served<'_>) -> Result<Option<OpenApi>, Error> {
        let mut everywhere: Option<(OpenApiConfig, Vec<Documented>)> = None;
        for (id, served) in served.0 {
            let config = &self.config.protocols[id].triple.openapi;
            let Some((url, _)) = served.first() else {
                continue;
            };
            if self.extensions.canonical::<dyn Protocol>(url.protocol())? != TRIPLE {
                continue;
            }
            let at = Url::new(TRIPLE, url.host()).with_port(url.port().unwrap_or_default());
            let services: Vec<_> = served
                .into_iter()
                .map(|(_, documented)| documented)
                .collect();
            let is_on = config.enabled == Some(true);
            if is_on {
                let (_, all) = everywhere.get_or_insert_with(|| (config.clone(), Vec::new()));
                for service in &services {
                    if all.iter().all(|other| other.key != service.key) {
                        all.push(service.clone());
                    }
                }
            }
            let api = open_api(config, services);
            let pages: Arc<dyn HttpHandler> = if is_on {
                Arc::new(OpenApiPages::new(&api))
            } else {
                Arc::new(NoPages)
            };
            let path = &api.settings().path;
            match self.mount_pages(&at.with_path(path), pages).await {
                // Somebody's own Triple need not have pages where nobody wants any, and the application may have its own.
                Err(Error::Http {
                    source: ProtocolError::NoHttp { .. } | ProtocolError::Duplicate { .. },
                    ..
                }) if !is_on => {}
                mounted => mounted?,
            }
            if is_on {
                tracing::info!(protocol = id, path, "serving OpenAPI documents");
            }
        }
        Ok(everywhere.map(|(config, services)| open_api(&config, services)))
    }

    async fn mount_pages(&self, server: &Url, pages: Arc<dyn HttpHandler>) -> Result<(), Error> {
        let mounted = super::protocol(&self.extensions, &self.protocols, server.protocol())?
            .mount(server, pages)
            .await
            .map_err(|source| Error::Http {
                path: format!("/{}", server.path()),
                source,
            })?;
        if let Err(mounted) = self.keep(mounted, |running| &mut running.pages) {
            mounted.unexport().await;
            return Err(ENDED_MEANWHILE);
        }
        Ok(())
    }
}

fn open_api(config: &OpenApiConfig, services: Vec<Documented>) -> OpenApi {
    let settings = config.resolve().ok();
    let settings = settings.expect("invariant: a configuration with values of no use is refused");
    OpenApi::new(settings, services)
}

/// The parameter of a service that says in which group of documents it is, as dubbo-go calls it.
const GROUP: &str = "openapi.group";
