//! The consumer side: a reference becomes a directory of providers, a cluster over it, and a stub on top.

use std::sync::Arc;

use dubbo_cluster::{cluster::SettingsMaker, migration::Path};
use dubbo_core::{
    call::Stub,
    extension::{BoxError, Extensions},
    filter::Chain,
    invoker::Invoker,
    service::{ServiceDescriptor, ServiceKey},
    url::Url,
    yaml::nearest,
};
use dubbo_protocol::java::GenericClient;
use futures_util::future::join_all;

use super::{
    Inner, Reference, export,
    filters::Filters,
    host,
    migration::Readiness,
    rules::ReferenceRules,
    sources::{Source, join},
};
use crate::{
    config::{Config, Layered as _, ReferenceConfig, Serialization, compression, defaults},
    error::Error,
};

/// Which reference of the configuration is meant.
#[derive(Clone)]
pub(super) enum Named {
    /// The one of this id.
    Id(String),
    /// The one that is called like the client's type or its interface, if there is one, completing these options.
    Type(String, Box<ReferenceConfig>),
}

impl Inner {
    pub(super) async fn refer(
        self: &Arc<Self>,
        descriptor: &Arc<ServiceDescriptor>,
        named: Named,
    ) -> Result<Stub, Error> {
        if self.is_ending() {
            return Err(NO_MORE_CLIENTS);
        }
        let (config, unmatched) = reference_config(&self.current(), descriptor, &named)?;
        self.refer_with(descriptor, &config, &unmatched, named)
            .await
    }

    async fn refer_with(
        self: &Arc<Self>,
        descriptor: &Arc<ServiceDescriptor>,
        config: &ReferenceConfig,
        unmatched: &str,
        named: Named,
    ) -> Result<Stub, Error> {
        let asked = Arc::clone(descriptor);
        let descriptor = match &config.interface {
            Some(name) if name != descriptor.interface() => {
                Arc::new(ServiceDescriptor::clone(descriptor).with_interface(name.clone()))
            }
            _ => Arc::clone(descriptor),
        };
        let consumer = self.consumer_url(config, descriptor.interface());
        let service = consumer.service_key();
        let misfit = config
            .serialization
            .and_then(|name| name.misfit(&descriptor));
        let unknown = || unknown_method(config.methods.keys(), &descriptor);
        let compression = || compression::misfit(&consumer, &descriptor);
        if let Some(reason) = misfit.or_else(compression).or_else(unknown) {
            return Err(Error::Refer { service, reason });
        }

        let unusable = |error: BoxError| Error::Refer {
            service: service.clone(),
            reason: error.to_string(),
        };
        let timeout = config.timeout.unwrap_or(defaults::REQUEST_TIMEOUT);
        let settings = SettingsMaker::new(
            self.extensions.clone(),
            service.clone(),
            Arc::clone(&descriptor),
            (!timeout.is_zero()).then_some(timeout),
        );
        settings.resolve(&consumer).map_err(unusable)?;
        let make = self.node_maker(config, &descriptor, &consumer)?;
        // A program that only calls has operators, too.
        self.admin.open().await?;
        self.telemetry.open().await?;
        self.follow_configuration()?;
        self.rules.begin();
        self.resending.begin(&self.rules);
        let rules = ReferenceRules::new(settings, &consumer, &self.rules);
        self.rules.settled().await;
        let sources = self
            .sources(config, unmatched, &consumer, make, &rules)
            .await?;
        // Routers have begun to follow theirs, now that they know whose.
        self.rules.settled().await;
        let checks = config.check.unwrap_or(defaults::CHECK);
        if checks && let Err(error) = self.check(&service, &sources).await {
            join_all(sources.iter().map(|source| source.directory.close())).await;
            return Err(error);
        }
        let is_shown = sources.iter().any(Source::is_of_registry);
        let directories = sources
            .iter()
            .map(|source| Arc::downgrade(&source.directory));
        let directories = directories.collect();
        let closing: Vec<_> = sources
            .iter()
            .map(|source| Arc::clone(&source.directory))
            .collect();
        let joined = join(&consumer, sources, |directory, overrides| {
            Ok(rules.cluster(directory, overrides)?)
        });
        let listed = config.filter.clone();
        let filters = self.filters.clone();
        let filters = Box::new(move |url: &Url| filters.of_calls(listed.as_deref(), url));
        let invoker = match joined.and_then(|invoker| Ok(rules.chain(filters, invoker)?)) {
            Ok(invoker) => invoker as Arc<dyn Invoker>,
            Err(error) => {
                join_all(closing.iter().map(|directory| directory.close())).await;
                return Err(unusable(error));
            }
        };
        drop(closing);
        let reference = Reference {
            service: ServiceKey::clone(&service),
            descriptor: Arc::clone(&descriptor),
            check: checks,
            invoker: Arc::downgrade(&invoker),
            directories,
            asked,
            named,
            rules: Arc::downgrade(&rules),
        };
        let kept = self.keep(reference, |running| {
            let references = &mut running.references;
            references.retain(Reference::is_alive);
            references
        });
        if kept.is_err() {
            invoker.close().await;
            return Err(NO_MORE_CLIENTS);
        }
        // The configuration may have become another one meanwhile.
        self.amend_references();
        self.dead_letters().refer(&service, &descriptor, &invoker);
        if is_shown {
            self.definitions.refers(&descriptor, &consumer);
        }
        Ok(Stub::new(invoker, service, descriptor))
    }

    /// A client for generic calls of the service `interface`.
    pub(super) async fn generic(
        self: &Arc<Self>,
        interface: &str,
        named: Named,
    ) -> Result<GenericClient, Error> {
        let descriptor = Arc::new(GenericClient::descriptor(interface));
        let (config, unmatched) = reference_config(&self.current(), &descriptor, &named)?;
        if self.is_ending() {
            return Err(NO_MORE_CLIENTS);
        }
        let stub = self
            .refer_with(&descriptor, &config, &unmatched, named)
            .await?;
        let service = ServiceKey::clone(stub.service());
        let client = GenericClient::new(Arc::clone(stub.invoker()), service);
        Ok(client.with_mode(config.generic.unwrap_or_default()))
    }

    /// The interface of the reference called `id`.
    pub(super) fn interface_of(&self, id: &str) -> Result<String, Error> {
        let config = self.current();
        let reference = config.consumer.references.get(id);
        let interface = reference.and_then(|reference| reference.interface.clone());
        interface.ok_or_else(|| Error::Refer {
            service: ServiceKey::new(id),
            reason: match reference {
                Some(_) => format!(
                    "`dubbo.consumer.references.{id}` names no `interface`, and a generic call has no generated code to \
                     take it from"
                ),
                None => format!(
                    "`dubbo.consumer.references` has no `{id}`{}",
                    other_references(&config, &[id])
                ),
            },
        })
    }

    /// The consumer as registries see it, and what its parameters say to protocols and plugins.
    pub(super) fn consumer_url(&self, config: &ReferenceConfig, interface: &str) -> Url {
        let url = Url::new("consumer", host::reachable("0.0.0.0"))
            .with_path(interface)
            .with_params(config.params.iter().map(|(k, v)| (k.as_str(), v.as_str())))
            .with_params(export::application_params(&self.config.application))
            .with_params([
                ("interface", interface),
                (
                    "protocol",
                    config.protocol.as_deref().unwrap_or(defaults::PROTOCOL),
                ),
                ("side", "consumer"),
                ("timestamp", &export::now_millis().to_string()),
            ]);
        url.with_params(export::set([
            ("group", config.group.clone()),
            ("version", config.version.clone()),
            (
                "provided-by",
                config.provided_by.as_ref().map(|names| names.join(",")),
            ),
            ("cluster", config.cluster.clone()),
            ("loadbalance", config.loadbalance.clone()),
            ("retries", config.retries.map(|n| n.to_string())),
            ("timeout", config.timeout.map(|d| d.as_millis().to_string())),
            (
                "serialization",
                config
                    .serialization
                    .map(Serialization::name)
                    .map(str::to_owned),
            ),
            ("sticky", config.sticky.map(|b| b.to_string())),
            ("dubbo.tag", config.tag.clone()),
            ("dubbo.force.tag", config.force_tag.map(|b| b.to_string())),
            (
                "closing-invoker-expire-time",
                self.config
                    .shutdown
                    .closing_invoker_expire_time
                    .map(|d| d.as_millis().to_string()),
            ),
            (
                "keep-alive-interval",
                config
                    .triple
                    .keep_alive_interval
                    .map(|d| d.as_millis().to_string()),
            ),
            (
                "keep-alive-timeout",
                config
                    .triple
                    .keep_alive_timeout
                    .map(|d| d.as_millis().to_string()),
            ),
            (
                "triple.dialect",
                config.triple.dialect.map(|dialect| dialect.to_string()),
            ),
        ]))
        .with_params(config.triple.compression.client_params())
        .with_params(export::method_params(&config.methods))
    }

    /// What makes the invoker of one provider: its protocol, then the reference's filters before it.
    fn node_maker(
        &self,
        config: &ReferenceConfig,
        descriptor: &Arc<ServiceDescriptor>,
        consumer: &Url,
    ) -> Result<NodeMaker, Error> {
        let listed: Option<Arc<[String]>> = config.filter.clone().map(Into::into);
        // Made once here too, so that a filter that refuses fails the reference and not each provider.
        let names = self.filters.of_attempts(listed.as_deref(), consumer);
        self.filters.create(&names, consumer)?;
        Ok(NodeMaker {
            extensions: self.extensions.clone(),
            protocols: self.protocols.clone(),
            filters: self.filters.clone(),
            listed,
            descriptor: Arc::clone(descriptor),
            path: None,
        })
    }
}

/// The options of one reference: code, then its section, then the consumer's, then the application's. Also what to add to
/// an error if the sections are all of other references.
pub(super) fn reference_config(
    config: &Config,
    descriptor: &ServiceDescriptor,
    named: &Named,
) -> Result<(ReferenceConfig, String), Error> {
    let interface = descriptor.interface();
    let references = &config.consumer.references;
    let mut unmatched = String::new();
    let mut options = match named {
        Named::Id(id) => references.get(id).cloned().ok_or_else(|| Error::Refer {
            service: ServiceKey::new(interface),
            reason: format!(
                "`dubbo.consumer.references` has no `{id}`{}",
                other_references(config, &[id])
            ),
        })?,
        Named::Type(client, options) => {
            let mut options = ReferenceConfig::clone(options);
            let keys = [client.as_str(), interface];
            if let Some((_, settings)) = config.consumer.find(keys) {
                options.complete_from(settings);
            } else if !references.is_empty() {
                unmatched = format!(
                    "; `dubbo.consumer.references` has neither `{client}` nor `{interface}`{}",
                    other_references(config, &keys)
                );
            }
            options
        }
    };
    options.group = options
        .group
        .or_else(|| descriptor.group().map(str::to_owned));
    options.version = options
        .version
        .or_else(|| descriptor.version().map(str::to_owned));
    config.complete_reference(&mut options);
    Ok((options, unmatched))
}

/// Which references there are, and which of them was probably meant by one of these names.
fn other_references(config: &Config, names: &[&str]) -> String {
    let references = &config.consumer.references;
    if references.is_empty() {
        return "; it is empty".to_owned();
    }
    let all: Vec<&str> = references.keys().map(String::as_str).collect();
    let interfaces = references
        .values()
        .filter_map(|reference| reference.interface.as_deref());
    let candidates: Vec<&str> = all.iter().copied().chain(interfaces).collect();
    let meant = names
        .iter()
        .find_map(|name| nearest(name, candidates.iter().copied()));
    let suggestion = meant.map(|meant| format!(" (did you mean `{meant}`?)"));
    format!(
        "; it has {}{}",
        all.join(", "),
        suggestion.unwrap_or_default()
    )
}

/// Makes the invokers of one reference's providers.
#[derive(Clone)]
pub(super) struct NodeMaker {
    extensions: Extensions,
    protocols: super::Protocols,
    filters: Filters,
    /// The filters that the reference lists.
    listed: Option<Arc<[String]>>,
    descriptor: Arc<ServiceDescriptor>,
    /// By which path providers are found, where that is told to them.
    path: Option<(Path, Arc<Readiness>)>,
}

impl NodeMaker {
    /// For providers that are found by `path`.
    pub(super) fn found_by(mut self, path: Path, readiness: Option<Arc<Readiness>>) -> Self {
        self.path = readiness.map(|readiness| (path, readiness));
        self
    }

    pub(super) async fn make(self, url: Url) -> Result<Arc<dyn Invoker>, BoxError> {
        let protocol = super::protocol(&self.extensions, &self.protocols, url.protocol())?;
        let mut invoker = protocol.refer(&url, self.descriptor).await?;
        if let Some((path, readiness)) = &self.path {
            invoker = readiness.tell(*path, invoker);
        }
        let names = self.filters.of_attempts(self.listed.as_deref(), &url);
        let filters = self.filters.create(&names, &url)?;
        Ok(Chain::wrap(filters, invoker))
    }
}

pub(super) const NO_MORE_CLIENTS: Error =
    Error::State("the instance makes no more clients: its start failed, or it was shut down");

/// What to say about those of `names` that are no methods, if there are any. Options for a method that does not exist
/// would have no effect.
pub(super) fn unknown_method<'n>(
    names: impl IntoIterator<Item = &'n String>,
    descriptor: &ServiceDescriptor,
) -> Option<String> {
    let known = descriptor.method_names();
    let names = names.into_iter().map(String::as_str);
    let unknown: Vec<&str> = names.filter(|name| !known.contains(name)).collect();
    let first = unknown.first()?;
    if known.is_empty() {
        return Some(format!(
            "`methods` has options of `{}`, and a client for generic calls has the same for all methods: set them on each \
             call, or refer with another entry of `references`",
            unknown.join("`, `")
        ));
    }
    let meant = nearest(first, known.iter().copied());
    let meant = meant.map(|meant| format!(" (did you mean `{meant}`?)"));
    Some(format!(
        "`methods` names `{}`, but {} has only {}{}",
        unknown.join("`, `"),
        descriptor.interface(),
        known.join(", "),
        meant.unwrap_or_default()
    ))
}
