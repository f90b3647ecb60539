// Long because it checks every section, each in a few lines.

mod admin;
mod observe;
mod protocols;

use std::{collections::BTreeMap, path::PathBuf};

use dubbo_cluster::resend::{dead_letter::DeadLetterStore, outcome::Outcome};
use dubbo_core::{
    cluster::{Cluster, LoadBalance},
    config_center::ConfigCenter,
    discovery::{InstanceCustomizer, InstanceListFilter, ServiceDiscovery},
    extension::{ExtensionPoint, Extensions},
    filter::{ClusterFilter, Filter},
    metadata::{MetadataParamsFilter, MetadataReport},
    protocol::Protocol,
    registry::Registry,
    service::ServiceKey,
    url::Url,
    yaml::{Location, Places, Problem, ProblemKind, Problems, nearest},
};
use dubbo_metadata::instance::Labels;
use dubbo_protocol::filter::RejectedHandler;

use super::{
    ApplicationMigrationConfig, Config, MetadataType, MethodConfig, ReferenceConfig,
    RegistryConfig, RegistryType, Secret, ServiceConfig, center,
    defaults::APPLICATION_NAME,
    names::{self, FILE_CACHE, Fault, IN_PROCESS, OF_USERS},
    resolve::{ADAPTIVE_CLUSTER, ADAPTIVE_LOAD_BALANCE},
};

/// Checks what only the whole configuration can tell, code included.
pub(super) fn check(
    config: &Config,
    places: &Places,
    extensions: &Extensions,
    problems: &mut Problems,
) {
    let mut check = Check {
        config,
        places,
        extensions,
        problems,
    };
    check.protocols();
    check.tls();
    check.registries();
    check.metadata();
    check.config_center();
    check.router();
    check.migration();
    check.instances();
    check.metadata_services();
    check.provider();
    check.consumer();
    check.retry();
    check.metrics();
    check.admin();
    check.otel();
}

struct Check<'c> {
    config: &'c Config,
    places: &'c Places,
    extensions: &'c Extensions,
    problems: &'c mut Problems,
}

impl Check<'_> {
    fn tls(&mut self) {
        let files = self.config.tls_config.files();
        let path = |key: &str| format!("dubbo.tls_config.{key}");
        let text = |file: &Option<PathBuf>| file.as_ref().map(|file| file.display().to_string());
        match (text(&files.cert), text(&files.key)) {
            (Some(cert), None) => {
                let message = "needs its private key: set `tls-key-file` too";
                self.error(ProblemKind::Missing, &path("tls-cert-file"), &cert, message);
            }
            (None, Some(key)) => {
                let message =
                    "needs the certificate that it is the key of: set `tls-cert-file` too";
                self.error(ProblemKind::Missing, &path("tls-key-file"), &key, message);
            }
            _ => {}
        }
        if let Some(name) = &files.server_name
            && !files.secures_clients()
        {
            let message = "has no effect: clients use TLS only with a `ca-cert-file`";
            let path = path("tls-server-name");
            let problem = self.problem(ProblemKind::NoEffect, &path, name, message);
            self.problems.warn(problem);
        }
    }

    fn registries(&mut self) {
        let mut by_address = BTreeMap::new();
        for (id, registry) in &self.config.registries {
            let path = format!("dubbo.registries.{id}");
            if registry.is_off() {
                self.off(&path, registry);
                continue;
            }
            let address = registry.address.as_deref().unwrap_or_default();
            let address_path = format!("{path}.address");
            let Some(plugin) = registry.plugin() else {
                let message = "needs a `protocol`, or an address such as `nacos://host:port`";
                self.error(ProblemKind::Missing, &path, "", message);
                continue;
            };
            match (&registry.protocol, registry.scheme()) {
                (Some(protocol), Some(scheme)) if !protocol.eq_ignore_ascii_case(scheme) => {
                    let message = format!("says `{scheme}`, but `protocol` is `{protocol}`");
                    self.error(ProblemKind::Conflict, &address_path, address, message);
                }
                (Some(_), _) => self.roads(&format!("{path}.protocol"), registry, plugin),
                (None, _) => self.roads(&address_path, registry, plugin),
            }
            if address.contains('?') {
                let message = "takes no parameters; write them under `params`";
                self.error(ProblemKind::Type, &address_path, address, message);
            }
            if let Some(value) = registry.params.get(FILE_CACHE)
                && value.parse::<bool>().is_err()
            {
                let message = format!("expected `true` or `false`, found `{value}`");
                let path = format!("{path}.params.{FILE_CACHE}");
                self.error(ProblemKind::Type, &path, value, message);
            }
            let filters = registry.instance_filter.iter().flatten();
            let customizers = self.config.metadata.instance_customizer.iter().flatten();
            // Those see the registry's URL, too, and may read what they like.
            if filters.chain(customizers).next().is_none() {
                self.params(&path, plugin, &registry.params);
            }
            let hosts = registry.hosts();
            // What a plugin needs is known of those that are there.
            if hosts.is_empty()
                && !plugin.eq_ignore_ascii_case("memory")
                && (self.extensions.contains::<dyn Registry>(plugin)
                    || self.extensions.contains::<dyn ServiceDiscovery>(plugin))
            {
                self.error(ProblemKind::Missing, &path, "", "needs an `address`");
            }
            // What has a slash in it is a path, of a registry that is no server.
            for host in hosts.iter().filter(|host| !host.contains('/')) {
                if let Err(error) = format!("{plugin}://{host}").parse::<Url>() {
                    let message = format!("`{host}` is no address: {error}");
                    self.error(ProblemKind::Type, &address_path, address, message);
                }
            }
            let key = (
                plugin.to_ascii_lowercase(),
                hosts,
                registry.namespace.as_ref(),
                registry.group.as_ref(),
            );
            if let Some(other) = by_address.insert(key, id) {
                let message = format!(
                    "has the same address, namespace and group as `dubbo.registries.{other}`"
                );
                self.error(ProblemKind::Conflict, &path, "", message);
            }
        }
    }

    /// A registry that its address switches off. `N/A` says so; an empty one may come from a variable that is not set.
    fn off(&mut self, path: &str, registry: &RegistryConfig) {
        if registry
            .address
            .as_deref()
            .is_some_and(|a| a.trim().is_empty())
        {
            let message = "is empty, which switches the registry off; write `N/A` if that is meant";
            let problem = self.problem(
                ProblemKind::NoEffect,
                &format!("{path}.address"),
                "",
                message,
            );
            self.problems.warn(problem);
        }
    }

    /// Parameters of a registry or a report that nobody reads, as far as its plugins are known.
    fn params(&mut self, path: &str, plugin: &str, params: &BTreeMap<String, String>) {
        let Some(own) = dubbo_registry::parameters(plugin) else {
            return;
        };
        let known: Vec<_> = own.chain(OF_USERS).collect();
        for (key, value) in params {
            if known.contains(&key.as_str()) {
                continue;
            }
            let message = format!("has no effect: no part of the registry `{plugin}` reads it");
            let path = format!("{path}.params.{key}");
            let problem = self.problem(ProblemKind::NoEffect, &path, value, message);
            let suggestion = nearest(key, known.iter().copied());
            self.problems.warn(problem.suggest(suggestion));
        }
    }

    /// What a registry of this type needs of its plugin.
    fn roads(&mut self, path: &str, registry: &RegistryConfig, plugin: &str) {
        let kind = registry.type_or_default(self.config, self.extensions);
        if kind != RegistryType::Service {
            self.plugin::<dyn Registry>(path, plugin);
        }
        // One message is enough for a name that is nothing at all.
        let is_known =
            kind == RegistryType::Service || self.extensions.contains::<dyn Registry>(plugin);
        if kind != RegistryType::Interface && is_known {
            self.plugin::<dyn ServiceDiscovery>(path, plugin);
        }
    }

    fn metadata(&mut self) {
        let report = &self.config.metadata_report;
        let path = "dubbo.metadata-report";
        if let Some(registry) = report.as_registry() {
            let key = if report.protocol.is_some() {
                "protocol"
            } else {
                "address"
            };
            if let Some(plugin) = registry.plugin() {
                self.plugin::<dyn MetadataReport>(&format!("{path}.{key}"), plugin);
                self.params(path, plugin, &registry.params);
            } else {
                let message = "needs a `protocol`, or an address such as `nacos://host:port`";
                self.error(ProblemKind::Missing, path, "", message);
            }
        }
        let application = &self.config.application;
        let name = application.name.as_deref().unwrap_or(APPLICATION_NAME);
        let is_registered = self.config.registries.values().any(|registry| {
            !registry.is_off()
                && registry.type_or_default(self.config, self.extensions) != RegistryType::Interface
        });
        if let Some(reason) = unfit_name(name).filter(|_| is_registered) {
            self.error(ProblemKind::Type, "dubbo.application.name", name, reason);
        }
        if self.config.metadata.export_in_remote == Some(false)
            && application.metadata_type != Some(MetadataType::Remote)
        {
            let message = "has no effect: the metadata type is not `remote`";
            let path = "dubbo.metadata.export-in-remote";
            let problem = self.problem(ProblemKind::NoEffect, path, "false", message);
            self.problems.warn(problem);
        }
        if application.metadata_type == Some(MetadataType::Remote)
            && report.as_registry().is_none()
            && !self
                .config
                .registries
                .values()
                .any(|registry| self.may_be_report(registry))
        {
            let message = "needs a metadata report: set `metadata-report`, or let a registry be one with \
                           `use-as-meta-report`";
            let path = "dubbo.application.metadata-type";
            self.error(ProblemKind::Missing, path, "remote", message);
        }
        let protocol = application.metadata_service_protocol.as_ref();
        self.plugin_opt::<dyn Protocol>("dubbo.application.metadata-service-protocol", protocol);
    }

    fn config_center(&mut self) {
        let center = &self.config.config_center;
        let path = "dubbo.config-center";
        let Some(registry) = center.as_registry() else {
            if let Some(id) = &center.data_id {
                let message = "has no effect: there is no center; set `address`";
                let path = format!("{path}.data-id");
                let problem = self.problem(ProblemKind::NoEffect, &path, id, message);
                self.problems.warn(problem);
            }
            return;
        };
        let Some(plugin) = registry.plugin() else {
            let message = "needs a `protocol`, or an address such as `nacos://host:port`";
            self.error(ProblemKind::Missing, path, "", message);
            return;
        };
        for key in center::PARAMETERS {
            if let Some(value) = center.params.get(key)
                && value.parse::<bool>().is_err()
            {
                let message = format!("expected `true` or `false`, found `{value}`");
                let path = format!("{path}.params.{key}");
                self.error(ProblemKind::Type, &path, value, message);
            }
        }
        let key = match center.protocol {
            Some(_) => "protocol",
            None => "address",
        };
        self.plugin::<dyn ConfigCenter>(&format!("{path}.{key}"), plugin);
        let of_plugin = registry
            .params
            .iter()
            .filter(|(key, _)| !center::PARAMETERS.contains(&key.as_str()));
        let of_plugin = of_plugin
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        self.params(path, plugin, &of_plugin);
        if registry.hosts().is_empty() && dubbo_registry::parameters(plugin).is_some() {
            self.error(ProblemKind::Missing, path, "", "needs an `address`");
        }
    }

    /// What is said about migrating, where nothing can migrate.
    /// Those from code: what is wrong with one of a file has been told with its place, and it is not here.
    fn router(&mut self) {
        for rule in self.config.router.iter().flatten() {
            if let Err(error) = rule.check() {
                self.error(ProblemKind::Type, "dubbo.router", "", error.to_string());
            }
        }
    }

    fn migration(&mut self) {
        let config = self.config;
        let mut registries = config.registries.values().filter(|one| !one.is_off());
        let both = RegistryType::All;
        if registries.any(|one| one.type_or_default(config, self.extensions) == both) {
            return;
        }
        let mut said = Vec::new();
        if config.application.migration != ApplicationMigrationConfig::new() {
            let own = "dubbo.application.migration";
            // Java's older key says a step too, and the environment may.
            let others = [
                "dubbo.application.service-discovery.migration",
                "dubbo.application.migration.step",
            ];
            let is_written = |path: &&str| self.places.find(path, "").is_some();
            let path = [own].into_iter().chain(others).find(is_written);
            said.push((path.unwrap_or(own).to_owned(), ""));
        }
        if config.migration.file_enable == Some(true) {
            said.push(("dubbo.migration-file.enable".to_owned(), "true"));
        }
        for (name, reference) in &config.consumer.references {
            let own = reference.params.iter();
            said.extend(own.filter(|(key, _)| key.starts_with("migration.")).map(
                |(key, value)| {
                    let path = format!("dubbo.consumer.references.{name}.params.{key}");
                    (path, value.as_str())
                },
            ));
        }
        for (path, value) in said {
            let message =
                "has no effect: no registry is used both ways; set `registry-type: all` for one";
            let problem = self.problem(ProblemKind::NoEffect, &path, value, message);
            self.problems.warn(problem);
        }
    }

    /// What instances say about themselves, and who looks at those of others.
    fn instances(&mut self) {
        let config = self.config;
        for (label, value) in &config.labels {
            if let Err(error) = Labels::default().insert(label, value) {
                let path = format!("dubbo.labels.{label}");
                self.error(ProblemKind::Type, &path, value, error.to_string());
            }
        }
        self.plugin_opt::<dyn Protocol>(
            "dubbo.application.protocol",
            config.application.protocol.as_ref(),
        );
        for name in config.metadata.instance_customizer.iter().flatten() {
            self.plugin::<dyn InstanceCustomizer>("dubbo.metadata.instance-customizer", name);
        }
        for (id, registry) in &config.registries {
            let path = format!("dubbo.registries.{id}.instance-filter");
            for name in registry.instance_filter.iter().flatten() {
                self.plugin::<dyn InstanceListFilter>(&path, name);
            }
        }
    }

    /// Who may call the metadata services, and where the one for operators is.
    fn metadata_services(&mut self) {
        let metadata = &self.config.metadata;
        let token = metadata.token.as_ref().map(Secret::expose);
        if let Some(token) = token.filter(|token| !is_token(token)) {
            let message = format!(
                "must have 1 to {LONGEST_TOKEN} visible ASCII characters, because it travels in a header"
            );
            self.error(ProblemKind::Type, "dubbo.metadata.token", token, message);
        }
        let mut protocols = self.config.protocols.values();
        let has_triple = protocols.any(|protocol| {
            let name = self
                .extensions
                .canonical::<dyn Protocol>(protocol.name_or_default());
            name.is_ok_and(|name| name == TRIPLE)
        });
        if metadata.admin == Some(true) && !has_triple {
            let message =
                "needs a Triple server: add one to `dubbo.protocols`, such as `tri: {port: 50051}`";
            self.error(
                ProblemKind::Missing,
                "dubbo.metadata.admin",
                "true",
                message,
            );
        }
    }

    /// What a plugin can do that is not there is not known; that it is not there is said already.
    fn may_be_report(&self, registry: &RegistryConfig) -> bool {
        let plugin = registry.plugin().unwrap_or_default();
        let is_known = self.extensions.contains::<dyn Registry>(plugin)
            || self.extensions.contains::<dyn ServiceDiscovery>(plugin);
        registry.is_report(self.extensions) || (!is_known && !registry.is_off())
    }

    fn provider(&mut self) {
        let provider = &self.config.provider;
        self.plugin_opt::<dyn RejectedHandler>(
            "dubbo.shutdown.reject-handler",
            self.config.shutdown.reject_handler.as_ref(),
        );
        self.service("dubbo.provider", &provider.defaults);
        for (name, service) in &provider.services {
            self.service(&format!("dubbo.provider.services.{name}"), service);
        }
        self.duplicate_services();
    }

    fn service(&mut self, path: &str, service: &ServiceConfig) {
        self.filters(path, service.filter.as_ref());
        self.limits(path, service);
        self.plugin_opt::<dyn Cluster>(&format!("{path}.cluster"), service.cluster.as_ref());
        let load_balance = service.loadbalance.as_ref();
        self.plugin_opt::<dyn LoadBalance>(&format!("{path}.loadbalance"), load_balance);
        self.methods(path, &service.methods);
        self.params_filter(path, &service.params);
        self.registry_ids(path, service.registry_ids.as_ref());
        let ids: Vec<&str> = if self.config.protocols.is_empty() {
            vec![DEFAULT_PROTOCOL_ID]
        } else {
            self.config.protocols.keys().map(String::as_str).collect()
        };
        self.ids(
            &format!("{path}.protocol-ids"),
            "protocol",
            service.protocol_ids.as_ref(),
            &ids,
        );
    }

    /// Two services of one key would take each other's calls, unless different protocols serve them.
    fn duplicate_services(&mut self) {
        let mut seen: Vec<(Served, &str)> = Vec::new();
        for (name, service) in &self.config.provider.services {
            let mut service = service.clone();
            self.config.complete_service(&mut service);
            let served = Served::of(&service, name);
            if let Some((_, other)) = seen.iter().find(|(other, _)| other.conflicts(&served)) {
                let key = &served.key;
                let message = format!("serves `{key}`, as `dubbo.provider.services.{other}` does");
                let path = format!("dubbo.provider.services.{name}");
                self.error(ProblemKind::Conflict, &path, "", message);
            }
            seen.push((served, name));
        }
    }

    fn consumer(&mut self) {
        let consumer = &self.config.consumer;
        self.consumer_filters("dubbo.consumer", consumer.filter.as_ref());
        if consumer.adaptive_service == Some(true) {
            let path = "dubbo.consumer.adaptive-service";
            self.plugin::<dyn Cluster>(path, ADAPTIVE_CLUSTER);
            self.plugin::<dyn LoadBalance>(path, ADAPTIVE_LOAD_BALANCE);
        }
        self.plugin_opt::<dyn Protocol>("dubbo.consumer.protocol", consumer.protocol.as_ref());
        self.registry_ids("dubbo.consumer", consumer.registry_ids.as_ref());
        for (name, reference) in &consumer.references {
            self.reference(&format!("dubbo.consumer.references.{name}"), reference);
        }
    }

    /// A parameter that Dubbo Java reads and nothing here does.
    fn scope(&mut self, path: &str, params: &BTreeMap<String, String>) {
        if let Some(scope) = params.get("scope") {
            let message = "is read by nobody: the protocol says where a service is called, and `injvm` is this instance";
            self.error(
                ProblemKind::Unsupported,
                &format!("{path}.params.scope"),
                scope,
                message,
            );
        }
    }

    fn reference(&mut self, path: &str, reference: &ReferenceConfig) {
        self.scope(path, &reference.params);
        self.consumer_filters(path, reference.filter.as_ref());
        self.plugin_opt::<dyn Protocol>(&format!("{path}.protocol"), reference.protocol.as_ref());
        self.plugin_opt::<dyn Cluster>(&format!("{path}.cluster"), reference.cluster.as_ref());
        let load_balance = reference.loadbalance.as_ref();
        self.plugin_opt::<dyn LoadBalance>(&format!("{path}.loadbalance"), load_balance);
        self.methods(path, &reference.methods);
        self.registry_ids(path, reference.registry_ids.as_ref());
        for url in reference.url.iter().flatten() {
            self.direct_url(&format!("{path}.url"), url);
        }
    }

    /// Rules name plugins, too; of those a configuration can say at once that they are not there.
    fn retry(&mut self) {
        let Some(document) = &self.config.retry else {
            return;
        };
        let letters = document.dead_letter.as_ref();
        let store = letters.and_then(|letters| letters.store.as_ref());
        self.plugin_opt::<dyn DeadLetterStore>("dubbo.retry.dead-letter.store", store);
        for (name, policy) in &document.policies {
            let Some(lost) = &policy.options.lost else {
                continue;
            };
            let path = format!("dubbo.retry.policies.{name}");
            self.plugin_opt::<dyn Outcome>(&format!("{path}.outcome"), lost.outcome.as_ref());
            let store = lost.store.as_ref();
            self.plugin_opt::<dyn DeadLetterStore>(&format!("{path}.dead-letter.store"), store);
        }
    }

    fn direct_url(&mut self, path: &str, text: &str) {
        for fault in names::direct_url(self.extensions, text)
            .err()
            .into_iter()
            .flatten()
        {
            self.fault(path, text, fault);
        }
    }

    fn methods(&mut self, path: &str, methods: &BTreeMap<String, MethodConfig>) {
        for method in methods.values() {
            let path = format!("{path}.methods");
            self.plugin_opt::<dyn LoadBalance>(&path, method.loadbalance.as_ref());
            self.plugin_opt::<dyn Cluster>(&path, method.cluster.as_ref());
        }
    }

    fn filters(&mut self, path: &str, filters: Option<&Vec<String>>) {
        for filter in filters.into_iter().flatten() {
            let name = filter.strip_prefix('-').unwrap_or(filter);
            if !name.eq_ignore_ascii_case("default") {
                self.plugin::<dyn Filter>(&format!("{path}.filter"), name);
            }
        }
    }

    /// A name at a consumer means a filter of calls or of attempts.
    fn consumer_filters(&mut self, path: &str, filters: Option<&Vec<String>>) {
        let of_attempts = |name: &&String| {
            let name = name.strip_prefix('-').unwrap_or(name);
            !self.extensions.contains::<dyn ClusterFilter>(name)
        };
        let listed = filters.map(|filters| filters.iter().filter(of_attempts).cloned().collect());
        self.filters(path, listed.as_ref());
    }

    /// Limits and who is let in, beyond what a key alone can tell.
    fn limits(&mut self, path: &str, service: &ServiceConfig) {
        let limits = &service.limits;
        let handlers = [
            ("tps.limit.rejected.handler", &limits.tps_rejected_handler),
            (
                "execute.limit.rejected.handler",
                &limits.execute_rejected_handler,
            ),
        ];
        for (key, handler) in handlers {
            self.plugin_opt::<dyn RejectedHandler>(&format!("{path}.{key}"), handler.as_ref());
        }
        for method in service.methods.values() {
            let handler = method.limits.execute_rejected_handler.as_ref();
            self.plugin_opt::<dyn RejectedHandler>(&format!("{path}.methods"), handler);
        }
        let param = |key: &str| service.params.get(key).map(String::as_str);
        if let Some(file) = &service.accesslog
            && !["", "true", "false", "default"].contains(&file.as_str())
            && param("accesslog.allow-file") != Some("true")
            && param("accesslog.fixed.path") != Some("true")
        {
            let message = "is the path of a file, which needs `accesslog.allow-file: true` among `params`; `true` is for \
                           events";
            self.error(
                ProblemKind::Conflict,
                &format!("{path}.accesslog"),
                file,
                message,
            );
        }
        let has_keys = [".accessKeyId", ".secretAccessKey"]
            .map(param)
            .iter()
            .all(Option::is_some);
        if service.auth == Some(true) && !has_keys && param("accessKey.storage").is_none() {
            let message = "needs keys to check with: set `.accessKeyId` and `.secretAccessKey` among `params`, or an \
                           `accessKey.storage`";
            self.error(
                ProblemKind::Missing,
                &format!("{path}.auth"),
                "true",
                message,
            );
        }
        if service
            .token
            .as_ref()
            .is_some_and(|token| token.expose().is_empty())
        {
            let message = "is empty: every caller would know it; `true` makes one up";
            self.error(ProblemKind::Type, &format!("{path}.token"), "", message);
        }
    }

    /// The filters of a service's metadata, which are named in one of its parameters.
    fn params_filter(&mut self, path: &str, params: &BTreeMap<String, String>) {
        let path = format!("{path}.params.{PARAMS_FILTER}");
        let listed = params.get(PARAMS_FILTER).into_iter();
        for name in listed.flat_map(|listed| listed.split(',')).map(str::trim) {
            let name = name.strip_prefix('-').map_or(name, str::trim);
            if !name.is_empty() && !name.eq_ignore_ascii_case("default") {
                self.plugin::<dyn MetadataParamsFilter>(&path, name);
            }
        }
    }

    fn registry_ids(&mut self, path: &str, ids: Option<&Vec<String>>) {
        let known: Vec<&str> = self.config.registries.keys().map(String::as_str).collect();
        self.ids(&format!("{path}.registry-ids"), "registry", ids, &known);
    }

    fn ids(&mut self, path: &str, kind: &str, ids: Option<&Vec<String>>, known: &[&str]) {
        for id in ids.into_iter().flatten() {
            if known.contains(&id.as_str()) {
                continue;
            }
            let message = if known.is_empty() {
                format!("no {kind} has the id `{id}`; there are none")
            } else {
                format!(
                    "no {kind} has the id `{id}`; there are: {}",
                    known.join(", ")
                )
            };
            let problem = self.problem(ProblemKind::UnknownName, path, id, message);
            let suggestion = nearest(id, known.iter().copied());
            self.problems.error(problem.suggest(suggestion));
        }
    }

    fn plugin_opt<T: ?Sized + ExtensionPoint>(&mut self, path: &str, name: Option<&String>) {
        if let Some(name) = name {
            self.plugin::<T>(path, name);
        }
    }

    fn plugin<T: ?Sized + ExtensionPoint>(&mut self, path: &str, name: &str) {
        if let Err(fault) = names::plugin::<T>(self.extensions, name) {
            self.fault(path, name, fault);
        }
    }

    fn fault(&mut self, path: &str, value: &str, fault: Fault) {
        let problem = self.problem(fault.kind, path, value, fault.message);
        self.problems.error(problem.suggest(fault.suggestion));
    }

    fn error(&mut self, kind: ProblemKind, path: &str, value: &str, message: impl Into<String>) {
        let problem = self.problem(kind, path, value, message);
        self.problems.error(problem);
    }

    /// A problem of the value at this path, or of the section if `value` is empty.
    fn problem(
        &self,
        kind: ProblemKind,
        path: &str,
        value: &str,
        message: impl Into<String>,
    ) -> Problem {
        let written = self.places.find(path, value).cloned();
        let at = written.unwrap_or_else(|| Location::named("code"));
        Problem::new(kind, at, path, message)
    }
}

/// Why an application cannot be registered under this name, if so: it stands in paths, in the mappings of interfaces and in
/// the keys of its metadata service.
fn unfit_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("an application is registered by its name, and this one is empty")
    } else if name.contains(',') {
        Some("a name with a comma cannot stand in the mapping of an interface")
    } else if name.contains('/') {
        Some("a name with a slash cannot be a name in every registry")
    } else if name.trim() != name || name.contains(char::is_control) {
        Some(
            "a name that has blanks around it or control characters in it cannot be told apart from others",
        )
    } else {
        None
    }
}

fn is_token(text: &str) -> bool {
    (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What calls a service takes.
pub(crate) struct Served {
    pub(crate) key: ServiceKey,
    protocols: Vec<String>,
}

impl Served {
    /// What a service takes by its complete options. Without an interface there, `name` is its interface.
    pub(crate) fn of(service: &ServiceConfig, name: &str) -> Self {
        Self {
            key: ServiceKey::new(service.interface.as_deref().unwrap_or(name))
                .with_group(service.group.as_deref().unwrap_or_default())
                .with_version(service.version.as_deref().unwrap_or_default()),
            protocols: service.protocol_ids.clone().unwrap_or_default(),
        }
    }

    /// Whether one of the two would take calls of the other.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let (one, two) = (&self.protocols, &other.protocols);
        let overlap = one.is_empty() || two.is_empty() || one.iter().any(|id| two.contains(id));
        self.key == other.key && overlap
    }
}

/// The id of the protocol that is there when none is set.
const DEFAULT_PROTOCOL_ID: &str = "tri";

/// The parameter of a service that names its [`MetadataParamsFilter`]s.
const PARAMS_FILTER: &str = "params-filter";

/// The plugin that serves Triple.
const TRIPLE: &str = "tri";

/// It stands in the metadata of an instance, which has little room.
const LONGEST_TOKEN: usize = 256;
