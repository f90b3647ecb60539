//! Files as programs of dubbo-go have them: accepted as they are, or refused with the key, its place and what to do.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use dubbo::{
    config::{self, Environment, LoadOptions},
    extension::Extensions,
    spi::{
        config_center::ConfigCenter, discovery::ServiceDiscovery, metadata::MetadataReport,
        registry::Registry,
    },
};
use dubbo_registry::memory::MemoryRegistry;

/// What is linked, and registries of dubbo-go, whichever features there are. None of them is made here.
fn linked() -> Extensions {
    let mut extensions = Extensions::linked().expect("no duplicates");
    for name in ["etcdv3", "nacos", "zookeeper"] {
        extensions
            .register::<dyn Registry>(name, |cx| Ok(Arc::new(MemoryRegistry::new(cx.url.clone()))));
        extensions.register::<dyn ServiceDiscovery>(name, |cx| {
            Ok(MemoryRegistry::new(cx.url.clone()).discovery())
        });
        extensions.register::<dyn MetadataReport>(name, |cx| {
            Ok(MemoryRegistry::new(cx.url.clone()).report())
        });
        extensions.register::<dyn ConfigCenter>(name, |cx| {
            Ok(MemoryRegistry::new(cx.url.clone()).center())
        });
    }
    extensions
}

/// What is said about a file: the errors, and behind them the warnings.
fn said(options: &LoadOptions) -> String {
    let options = options.clone().environment(Environment::default());
    let checked = config::read(&options).and_then(|draft| draft.check(&linked()));
    match checked {
        Ok(loaded) => {
            let warnings = loaded.warnings.iter();
            let lines: Vec<_> = warnings.map(|it| format!("warning: {it}\n")).collect();
            lines.concat()
        }
        Err(errors) => format!("{errors}\n"),
    }
}

/// Each kind of file that was met, in words of our own.
#[test]
fn files_of_every_kind_are_accepted_or_explained() {
    for (text, want) in [
        (PROVIDER, ""),
        (CONSUMER, ""),
        (
            "dubbo:\n  consumer:\n    references:\n      Greeter: {registry: zk, retries: 3, timeout: 3000}\n",
            "t.yml:4:17: dubbo.consumer.references.Greeter.registry: unknown key (did you mean `registry-ids`?)\n",
        ),
        (
            "dubbo:\n  logger:\n    zap-config: {level: debug}\n",
            "t.yml:3:5: dubbo.logger.zap-config: unknown key",
        ),
        (
            "dubbo:\n  registries:\n    p: {protocol: polaris, address: 'h:8091'}\n",
            "t.yml:3:19: dubbo.registries.p.protocol: the registry `polaris` is not supported yet",
        ),
        (
            "dubbo:\n  registries:\n    x: {address: 'xds://h:15010'}\n",
            "t.yml:3:18: dubbo.registries.x.address: the registry `xds` is not supported yet",
        ),
        (
            "dubbo:\n  protocols:\n    j: {name: jsonrpc, port: 20001}\n",
            "t.yml:3:15: dubbo.protocols.j.name: the protocol `jsonrpc` is not supported yet",
        ),
        (
            "dubbo:\n  config-center: {protocol: apollo, address: 'h:8080', app-id: a, cluster: dev}\n",
            "t.yml:2:29: dubbo.config-center.protocol: the config center `apollo` is not supported yet",
        ),
        (
            "dubbo:\n  protocols:\n    tri: {triple: {http3: {enable: true}}}\n",
            "t.yml:3:28: dubbo.protocols.tri.triple.http3.enable: not supported: Triple is on HTTP/2 and HTTP/1.1 here, and \
             there is no HTTP/3; leave it out or set it to `false`\n",
        ),
        (
            "dubbo:\n  protocols:\n    tri: {triple: {http3: {enable: false}}}\n",
            "",
        ),
        (
            "dubbo:\n  consumer: {mesh-enabled: true}\n",
            "t.yml:2:14: dubbo.consumer.mesh-enabled: not supported: nothing makes up the addresses of a mesh",
        ),
        (
            "dubbo:\n  tracing: {jaeger: {name: jaeger, address: 'h:1'}}\n",
            "warning: t.yml:2:3: dubbo.tracing: has no effect: dubbo-go does not read these OpenTracing settings either\n",
        ),
        (
            "dubbo:\n  provider: {services: {S: {serialization: msgpack}}}\n",
            "t.yml:2:29: dubbo.provider.services.S.serialization: ",
        ),
    ] {
        let said = said(&LoadOptions::text("t.yml", text));
        let is_as_said = if want.is_empty() {
            said.is_empty()
        } else {
            said.starts_with(want)
        };
        assert!(is_as_said, "{text}\n{said}");
    }
}

/// Case 144: every `dubbogo.yaml` below the folder that `DUBBO_GO_SAMPLES` names.
#[test]
#[ignore = "needs a copy of dubbo-go's samples"]
#[allow(
    clippy::print_stdout,
    reason = "who runs it wants to see what was refused"
)]
fn the_samples_of_dubbo_go_are_accepted_or_explained() {
    let folder = std::env::var("DUBBO_GO_SAMPLES").expect("DUBBO_GO_SAMPLES says where they are");
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files);
    assert!(!files.is_empty(), "there is no dubbogo.yaml below {folder}");
    let mut accepted = 0;
    for file in &files {
        let options = LoadOptions::path(file).environment(Environment::default());
        let checked = config::read(&options).and_then(|draft| draft.check(&linked()));
        let Err(errors) = checked else {
            accepted += 1;
            continue;
        };
        for error in errors.errors() {
            assert!(
                error.at.line().is_some() && !error.path.is_empty(),
                "{error}"
            );
        }
        println!("{errors}");
    }
    println!("{accepted} of {} files are accepted", files.len());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            collect(&path, files);
        } else if name.starts_with("dubbogo")
            && path
                .extension()
                .is_some_and(|it| it == "yml" || it == "yaml")
        {
            files.push(path);
        }
    }
}

const PROVIDER: &str = "
dubbo:
  application: {name: shop, module: orders, organization: acme, owner: ann, environment: pro}
  registries:
    zk: {protocol: zookeeper, address: 127.0.0.1:2181, timeout: 3s}
    nacos: {protocol: nacos, address: '127.0.0.1:8848, 127.0.0.2:8848', group: g, namespace: n, registry-type: interface}
    etcd: {protocol: etcdv3, address: 127.0.0.1:2379, registry-type: all}
  config-center: {protocol: zookeeper, address: 127.0.0.1:2181, group: shop, data-id: shop}
  metadata-report: {protocol: zookeeper, address: 127.0.0.1:2181}
  protocols:
    triple: {name: tri, port: 20000}
    dubbo:
      name: dubbo
      port: 20001
  provider:
    registry-ids: zk, nacos
    filter: echo,token,accesslog,tps,generic_service,execute,pshutdown
    services:
      OrderProvider:
        protocol-ids: [triple]
        interface: shop.OrderService
        serialization: hessian2
        cluster: failover
        loadbalance: random
        warmup: 100
        token: 'true'
        accesslog: 'true'
        tps.limiter: method-service
        tps.limit.interval: 1000
        tps.limit.rate: 3
        tps.limit.strategy: fixedWindow
        tps.limit.rejected.handler: default
        methods:
          - {name: Create, retries: 1, loadbalance: random}
  logger: {level: debug, format: text, appender: 'console,file', file: {name: a.log, max-size: 1, max-age: 3, max-backups: 5, compress: false}}
  shutdown: {timeout: 60s, step-timeout: 10s}
";

const CONSUMER: &str = "
dubbo:
  application:
    name: shop-web
  registries:
    zk:
      address: zookeeper://127.0.0.1:2181
      timeout: 10s
  consumer:
    request-timeout: 100ms
    check: false
    filter: echo
    registry-ids: zk
    references:
      OrderServiceImpl:
        protocol: tri
        interface: shop.OrderService
        provided_by: shop
        cluster: failover
        loadbalance: p2c
        retries: 3
        timeout: 3000
        force.tag: false
        sticky: false
        url: 'tri://127.0.0.1:20000;tri://127.0.0.1:20001'
        methods:
          - {name: Create, retries: 0, timeout: 1s}
  custom:
    config-map: {test-config: true}
";
