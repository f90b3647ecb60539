//! `grpc.health.v1.Health`: what a server says of itself (`docs/spec/triple.md` §10.1).
//!
//! Nothing is stored here: the answer is read from the routes. Consumers ask by service key, as dubbo-go does, or by
//! interface. Every dubbo-go consumer keeps a watch open, and `NOT_SERVING` there is what makes it turn to another
//! provider before the connection closes.

use std::sync::{Arc, Weak};

use dubbo_core::{
    request::{Request, Response},
    status::Status,
    streaming::Streaming,
};
use tokio::sync::watch;

use super::routes::Routes;
use crate::catalog::{Catalog, Stage};
use crate::generated::health::{
    Health, HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
};

/// The health of the services in one catalog, which serves this one too and so is held weakly.
pub(super) struct ServerHealth {
    catalog: Weak<Catalog<Routes>>,
}

impl ServerHealth {
    pub(super) fn of(catalog: &Arc<Catalog<Routes>>) -> Self {
        Self {
            catalog: Arc::downgrade(catalog),
        }
    }

    fn catalog(&self) -> Result<Arc<Catalog<Routes>>, Status> {
        self.catalog.upgrade().ok_or_else(ended)
    }
}

impl Health for ServerHealth {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_message().service;
        match status(&*self.catalog()?, &service) {
            Some(status) => Ok(response(status).into()),
            None => Err(Status::not_found(format!(
                "no service `{service}` is exported here; ask for \
                 [group/]interface[:version], the interface, or nothing for the whole server"
            ))),
        }
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Streaming<HealthCheckResponse>>, Status> {
        let catalog = self.catalog()?;
        let watcher = Watcher {
            changes: catalog.watch(),
            catalog,
            service: request.into_message().service,
            told: None,
        };
        Ok(Response::stream(futures_util::stream::unfold(
            Some(watcher),
            |watcher| async {
                let mut watcher = watcher?;
                match watcher.next().await {
                    Some(status) => Some((Ok(response(status)), Some(watcher))),
                    None => Some((Err(ended()), None)),
                }
            },
        )))
    }
}

/// One watch of one service.
struct Watcher {
    catalog: Arc<Catalog<Routes>>,
    changes: watch::Receiver<Stage>,
    service: String,
    told: Option<ServingStatus>,
}

impl Watcher {
    /// The next status that differs from the last; `None` when the server drains, which an open stream would hold up.
    async fn next(&mut self) -> Option<ServingStatus> {
        loop {
            let stage = *self.changes.borrow_and_update();
            let status = self.status();
            if self.told != Some(status) {
                self.told = Some(status);
                return Some(status);
            }
            if stage == Stage::Draining {
                return None;
            }
            self.changes.changed().await.ok()?;
        }
    }

    fn status(&self) -> ServingStatus {
        match (status(&self.catalog, &self.service), self.told) {
            (Some(status), _) => status,
            (None, None | Some(ServingStatus::ServiceUnknown)) => ServingStatus::ServiceUnknown,
            // It was here: whoever watches must turn away from it.
            (None, Some(_)) => ServingStatus::NotServing,
        }
    }
}

fn status(catalog: &Catalog<Routes>, service: &str) -> Option<ServingStatus> {
    let known = service.is_empty()
        || catalog
            .routes()
            .iter()
            .any(|route| route.is_called(service));
    known.then(|| match catalog.stage() {
        Stage::Serving => ServingStatus::Serving,
        Stage::Leaving | Stage::Draining => ServingStatus::NotServing,
    })
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}

/// What open streams of the server itself end with.
pub(super) fn ended() -> Status {
    Status::unavailable("the server is shutting down")
}
