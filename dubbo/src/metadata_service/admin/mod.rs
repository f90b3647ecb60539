//! `dubbo.rust.metadata.v1.MetadataAdmin`: what operators ask an application about its metadata
//! (`docs/spec/metadata.md` §7.2).
//!
//! | file | what |
//! |---|---|
//! | `content` | what the answers are made of |
//! | `message` | the answers as messages |
//! | `watch` | the streams |

mod content;
mod message;
mod watch;

use std::sync::Arc;

use dubbo_core::{
    provider::Service,
    request::{Request, Response},
    status::Status,
    streaming::Streaming,
};
use dubbo_metadata::model::MetadataInfo;
use futures_util::stream::select_all;
use tokio::{sync::Semaphore, time::Instant};

pub(crate) use self::content::AdminContent;
use self::watch::{InstancesWatch, MetadataWatch, Place};
use crate::metadata::admin as proto;

/// The service.
pub(super) fn service(content: Arc<dyn AdminContent>) -> Service {
    proto::MetadataAdminServer::new(Admin {
        content,
        places: Arc::new(Semaphore::new(MOST_WATCHES)),
    })
    .into()
}

struct Admin {
    content: Arc<dyn AdminContent>,
    /// For those who watch.
    places: Arc<Semaphore>,
}

impl Admin {
    /// The registries that `asked` means, each with its position among all.
    fn chosen(&self, asked: &str) -> Result<Vec<(usize, String)>, Status> {
        let ids: Vec<_> = self
            .content
            .histories()
            .iter()
            .map(|(id, _)| (*id).to_owned())
            .collect();
        let chosen = ids.iter().cloned().enumerate();
        let chosen: Vec<_> = chosen
            .filter(|(_, id)| asked.is_empty() || asked == id)
            .collect();
        if chosen.is_empty() && !asked.is_empty() {
            return Err(Status::not_found(format!(
                "`{}` is told to no registry with the id `{asked:.128}`; there are: {}",
                self.content.application(),
                if ids.is_empty() {
                    "none".to_owned()
                } else {
                    ids.join(", ")
                }
            )));
        }
        Ok(chosen)
    }

    fn watching(&self) -> Result<Place, Status> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map(Arc::new).map_err(|_| {
            Status::resource_exhausted(format!(
                "{MOST_WATCHES} calls watch `{}` already; end one of them",
                self.content.application()
            ))
        })
    }

    /// The metadata of a revision that is answered for. That of nothing need not have been there.
    fn find(&self, revision: &str) -> Result<Arc<MetadataInfo>, Status> {
        if let Some(published) = self.content.find(revision) {
            return Ok(published.info.clone());
        }
        if revision == NOTHING {
            return Ok(Arc::new(nothing()));
        }
        Err(Status::not_found(format!(
            "`{}` answers for no revision `{revision:.128}` any more, or never did; `ListMetadata` says which there are",
            self.content.application()
        )))
    }
}

impl proto::MetadataAdmin for Admin {
    async fn list_metadata(
        &self,
        request: Request<proto::ListMetadataRequest>,
    ) -> Result<Response<proto::ListMetadataResponse>, Status> {
        let now = Instant::now();
        let chosen = self.chosen(&request.message().registry)?;
        let histories = self.content.histories();
        let registries = chosen.into_iter().map(|(index, registry)| {
            let recorded: Vec<_> = histories
                .get(index)
                .map(|(_, history)| history.all())
                .unwrap_or_default();
            proto::RegistryMetadata {
                registry,
                revisions: recorded
                    .iter()
                    .map(|one| message::recorded(one, now))
                    .collect(),
            }
        });
        Ok(Response::new(proto::ListMetadataResponse {
            application: self.content.application().to_owned(),
            registries: registries.collect(),
        }))
    }

    async fn watch_metadata(
        &self,
        request: Request<proto::WatchMetadataRequest>,
    ) -> Result<Response<Streaming<proto::MetadataEvent>>, Status> {
        let chosen = self.chosen(&request.message().registry)?;
        let place = self.watching()?;
        let watches = chosen.into_iter().map(|(index, registry)| {
            let watch = MetadataWatch::new(&self.content, index, registry, Arc::clone(&place));
            Box::pin(watch.events())
        });
        Ok(Response::new(Streaming::new(select_all(watches))))
    }

    async fn watch_instance_metadata(
        &self,
        request: Request<proto::WatchInstanceMetadataRequest>,
    ) -> Result<Response<Streaming<proto::InstancesEvent>>, Status> {
        let chosen = self.chosen(&request.message().registry)?;
        let place = self.watching()?;
        let all = self.content.instances();
        let watches = all
            .into_iter()
            .enumerate()
            .filter_map(|(index, (registry, instances))| {
                chosen.iter().find(|(chosen, _)| *chosen == index)?;
                let watch = InstancesWatch::new(
                    registry,
                    instances,
                    self.content.over(),
                    Arc::clone(&place),
                );
                Some(Box::pin(watch.events()))
            });
        Ok(Response::new(Streaming::new(select_all(watches))))
    }

    async fn diff(
        &self,
        request: Request<proto::DiffRequest>,
    ) -> Result<Response<proto::DiffResponse>, Status> {
        let proto::DiffRequest { older, newer } = request.into_message();
        let diff = self.find(&newer)?.describe(&*self.find(&older)?);
        Ok(Response::new(proto::DiffResponse {
            diff: Some(diff.into()),
        }))
    }

    async fn mappings(
        &self,
        _: Request<proto::MappingsRequest>,
    ) -> Result<Response<proto::MappingsResponse>, Status> {
        let mappings = self.content.mappings();
        let registrations = self.content.registrations();
        Ok(Response::new(proto::MappingsResponse {
            registrations: registrations.into_iter().map(Into::into).collect(),
            mappings: mappings
                .into_iter()
                .map(|(registry, mapping)| message::mapping(registry, mapping))
                .collect(),
        }))
    }

    async fn migration_status(
        &self,
        _: Request<proto::MigrationStatusRequest>,
    ) -> Result<Response<proto::MigrationStatusResponse>, Status> {
        let status = match self.content.migration() {
            Some(migration) => migration.status().into(),
            None => proto::MigrationStatusResponse {
                application: self.content.application().to_owned(),
                ..Default::default()
            },
        };
        Ok(Response::new(status))
    }

    async fn migration_readiness(
        &self,
        _: Request<proto::MigrationReadinessRequest>,
    ) -> Result<Response<proto::MigrationReadinessResponse>, Status> {
        let Some(consumers) = self.content.readiness() else {
            return Err(Status::failed_precondition(format!(
                "`{}` does not count who calls by which way: set `dubbo.migration.readiness: true`",
                self.content.application()
            )));
        };
        Ok(Response::new(proto::MigrationReadinessResponse {
            consumers: consumers.into_iter().map(Into::into).collect(),
        }))
    }

    async fn set_migration_rule(
        &self,
        request: Request<proto::SetMigrationRuleRequest>,
    ) -> Result<Response<proto::SetMigrationRuleResponse>, Status> {
        let from = request.context().remote_address();
        let rule = &request.message().rule;
        let Some(migration) = self.content.migration() else {
            return Err(Status::failed_precondition(format!(
                "`{}` has nothing to migrate: none of its registries is used both by interfaces and by applications \
                 (`registry-type: all`)",
                self.content.application()
            )));
        };
        migration
            .set_rule(rule)
            .map_err(|error| Status::invalid_argument(error.to_string()).with_source(error))?;
        tracing::info!(?from, rule, "an operator has set the rule of the migration");
        Ok(Response::new(proto::SetMigrationRuleResponse {}))
    }
}

/// The metadata of an application that serves nothing.
fn nothing() -> MetadataInfo {
    MetadataInfo {
        revision: NOTHING.to_owned(),
        ..MetadataInfo::default()
    }
}

/// The revision of no services (`docs/spec/metadata.md` §2.1).
const NOTHING: &str = "0";

/// How many calls may watch at once. Each is a stream without an end.
const MOST_WATCHES: usize = 64;
