use dubbo_core::discovery::ServiceDiscovery;

use super::*;

/// `docs/spec/config.md` §1.23: what is not named here is accepted.
#[test]
fn the_sample_of_the_specification_is_refused_for_exactly_what_is_not_there_yet() {
    let want = "
t.yaml:5:21: dubbo.registries.hz.protocol: the registry `nacos` is not built in: add the feature `nacos` to the dependency `dubbo`; linked: memory
t.yaml:6:20: dubbo.registries.sh.address: the registry `zookeeper` is not built in: add the feature `zookeeper` to the dependency `dubbo`; linked: memory
t.yaml:7:30: dubbo.config-center.protocol: the config center `nacos` is not built in: add the feature `nacos` to the dependency `dubbo`; none is linked
t.yaml:10:20: dubbo.protocols.dubbo.name: the protocol `dubbo` is not supported yet; linked: injvm, tri
t.yaml:24:80: dubbo.consumer.references.UserServiceImpl.loadbalance: no load balance is called `leastactive`; linked: random, roundrobin
warning: t.yaml:2:23: dubbo.profiles.active: there is no file `t-prod.yaml`
";
    let report = report(include_str!("sample.yaml"));
    // What is built in by a feature of this crate is for the features to say.
    let said = report.lines().filter(|line| {
        !["`otel`", "`prometheus`"]
            .iter()
            .any(|it| line.contains(&format!("the feature {it}")))
    });
    let said: Vec<_> = said.map(|line| format!("{line}\n")).collect();
    let said = said.concat();
    assert_eq!(said, want.trim_start());
}

#[test]
fn one_report_names_every_problem_with_its_place_and_a_suggestion() {
    let text = "\
dubbo:
  aplication: {name: x}
  application: {nmae: x, version: [1]}
  protocols: {tri: {port: 70000}}
  registries:
    local: {protocol: memory, timeout: soon, timeout: 1s}
  consumer:
    chek: true
    timeout: 3s
    registry-ids: [lokal]
    references:
      R: {cluster: failovr, retries: 1s, url: 'tri://h'}
other: 1
";
    let want = "
t.yaml:2:3: dubbo.aplication: unknown key (did you mean `application`?)
t.yaml:3:17: dubbo.application.nmae: unknown key (did you mean `name`?)
t.yaml:3:35: dubbo.application.version: expected a text, found a list
t.yaml:4:27: dubbo.protocols.tri.port: expected a port from 0 to 65535, or -1 for any free one, found `70000`
t.yaml:6:40: dubbo.registries.local.timeout: expected a duration such as `3s` or `500ms`, or a number of milliseconds, found `soon`
t.yaml:6:46: dubbo.registries.local.timeout: the key is there already, at t.yaml:6:31
t.yaml:8:5: dubbo.consumer.chek: unknown key (did you mean `check`?)
t.yaml:9:5: dubbo.consumer.timeout: unknown key (did you mean `request-timeout`?)
t.yaml:10:20: dubbo.consumer.registry-ids: no registry has the id `lokal`; there are: local (did you mean `local`?)
t.yaml:12:20: dubbo.consumer.references.R.cluster: no cluster is called `failovr`; linked: failfast, failover (did you mean `failover`?)
t.yaml:12:38: dubbo.consumer.references.R.retries: expected a whole number from 0 to 2147483647, found `1s`
t.yaml:12:47: dubbo.consumer.references.R.url: `tri://h` has no port
t.yaml:13:1: other: unknown key; all settings stand below `dubbo`
";
    assert_eq!(report(text), want.trim_start());
}

const CONTRADICTIONS: &[(&str, &str)] = &[
    (
        "protocols: {a: {}, b: {port: 50051}, c: {port: 0}, d: {port: -1}, e: {port: 0, ip: 127.0.0.1}}",
        "t.yaml:2:22: dubbo.protocols.b: listens on port 50051, as `dubbo.protocols.a` does\n\
             t.yaml:2:54: dubbo.protocols.d: listens on any free port, as `dubbo.protocols.c` does",
    ),
    (
        // The same protocol in another case.
        "protocols: {a: {}, b: {name: TRI, port: 50051}}",
        "t.yaml:2:22: dubbo.protocols.b: listens on port 50051, as `dubbo.protocols.a` does",
    ),
    (
        "protocols: {a: {triple: {cors: {allow-origins: ['*'], allow-credentials: true, expose-headers: x y}}}, \
             b: {port: 1, triple: {cors: {allow-origins: [a.test, 'https://*'], max-age: soon}}}, \
             c: {name: injvm, triple: {cors: {allow-origins: a.test}}}, d: {port: 2, triple: {cors: {max-age: 1}}}}",
        "t.yaml:2:51: dubbo.protocols.a.triple.cors.allow-origins: `*` cannot go together with `allow-credentials`, \
             which would let every page act for its visitor; list the origins\n\
             t.yaml:2:98: dubbo.protocols.a.triple.cors.expose-headers: `x y` is no name of a header\n\
             t.yaml:2:159: dubbo.protocols.b.triple.cors.allow-origins: `https://*` has a `*` where none can be: write `*` \
             for every page, or `https://*.example.com`\n\
             t.yaml:2:182: dubbo.protocols.b.triple.cors.max-age: expected a duration such as `10m`, or a number of seconds, \
             found `soon`\n\
             t.yaml:2:217: dubbo.protocols.c.triple.cors: only `tri` is called by browsers, and the protocol is `injvm`\n\
             warning: t.yaml:2:272: dubbo.protocols.d.triple.cors: has no effect: no page of another origin is let in \
             without `allow-origins`",
    ),
    (
        "protocols: {a: {triple: {openapi: {path: /, info-titel: x, default-http-status-codes: [200, 20], \
             default-consumes-media-types: json, settings: {swagger.cdn: x}}}}, b: {name: injvm, triple: {openapi: {enabled: true}}}}",
        "t.yaml:2:44: dubbo.protocols.a.triple.openapi.path: `/` is no path of a page\n\
             t.yaml:2:47: dubbo.protocols.a.triple.openapi.info-titel: unknown key (did you mean `info-title`?)\n\
             t.yaml:2:95: dubbo.protocols.a.triple.openapi.default-http-status-codes: `20` is no HTTP status: a number \
             from 100 to 599, or `default`\n\
             t.yaml:2:130: dubbo.protocols.a.triple.openapi.default-consumes-media-types: `json` is no media type\n\
             t.yaml:2:160: dubbo.protocols.a.triple.openapi.settings.swagger.cdn: `swagger.cdn` is no setting of the \
             pages; there are `swagger-ui.cdn`, `swagger-ui.settings.*` and `redoc.cdn`\n\
             t.yaml:2:193: dubbo.protocols.b.triple.openapi: only `tri` serves pages, and the protocol is `injvm`",
    ),
    (
        "protocols: {b: {name: injvm, triple: {reflection: {enable: false}}}}\n  consumer: {references: {R: {url: 'h:1', \
             protocol_config: {triple: {reflection: {enable: false}}}}}}",
        "t.yaml:2:41: dubbo.protocols.b.triple.reflection: only `tri` has it, and the protocol is `injvm`\n\
             warning: t.yaml:3:70: dubbo.consumer.references.R.protocol_config.triple.reflection: has no effect: a server \
             describes its services; write it under `dubbo.protocols`",
    ),
    (
        "protocols: {a: {triple: {compression: {send: [gzip, br, lz4], min-size: x, level: 9}}}, \
             b: {name: injvm, triple: {compression: {min-size: 1}}}}\n  consumer: {references: {R: {url: 'h:1', \
             protocol_config: {triple: {compression: {send: 'gzip,zstd'}}}}}}",
        "t.yaml:2:42: dubbo.protocols.a.triple.compression.send: the compression \"br\" is not known here; use one of gzip, \
             deflate and zstd, or identity\n\
             t.yaml:2:42: dubbo.protocols.a.triple.compression.send: the compression \"lz4\" is not known here; use one of gzip, \
             deflate and zstd, or identity\n\
             t.yaml:2:75: dubbo.protocols.a.triple.compression.min-size: expected a size such as `4mib`, `4mb` or a number of \
             bytes, found `x`\n\
             t.yaml:2:78: dubbo.protocols.a.triple.compression.level: unknown key\n\
             t.yaml:2:117: dubbo.protocols.b.triple.compression: only `tri` compresses, and the protocol is `injvm`\n\
             t.yaml:3:84: dubbo.consumer.references.R.protocol_config.triple.compression.send: a reference sends one \
             compression: nobody has told it which of several its providers take",
    ),
    (
        "protocols: {a: {triple: {dialect: connect}}}\n  consumer: {references: {R: {url: 'h:1', \
             protocol_config: {triple: {dialect: grpcweb}}}}}",
        "t.yaml:3:70: dubbo.consumer.references.R.protocol_config.triple.dialect: Triple has no dialect \"grpcweb\"; use one of \
             grpc, grpc-web and connect\n\
             warning: t.yaml:2:28: dubbo.protocols.a.triple.dialect: has no effect: a server speaks all of them, and a \
             reference chooses: write it under its `protocol_config`",
    ),
    (
        "consumer: {references: {A: {url: 'h:1', serialization: msgpack}, B: {url: 'h:1', serialization: avro}}}",
        "t.yaml:2:43: dubbo.consumer.references.A.serialization: `msgpack` is not supported; `protobuf`, `json` and \
             `hessian2` are\n\
             t.yaml:2:84: dubbo.consumer.references.B.serialization: expected `protobuf`, `json` or `hessian2`, found `avro`",
    ),
    (
        "tls_config: {tls-cert-file: c.pem}",
        "t.yaml:2:31: dubbo.tls_config.tls-cert-file: needs its private key: set `tls-key-file` too",
    ),
    (
        "tls_config: {tls-key-file: c.key, tls-server-name: h}",
        "t.yaml:2:30: dubbo.tls_config.tls-key-file: needs the certificate that it is the key of: set `tls-cert-file` too\n\
             warning: t.yaml:2:54: dubbo.tls_config.tls-server-name: has no effect: clients use TLS only with a `ca-cert-file`",
    ),
    (
        "registries: {a: {protocol: memory, namespace: x}, b: {protocol: Memory, namespace: x}, \
             c: {address: 'memory://'}}",
        "t.yaml:2:53: dubbo.registries.b: has the same address, namespace and group as `dubbo.registries.a`",
    ),
    (
        "registries: {a: {address: 'h:1'}, b: {protocol: zk, address: 'memory://h'}, \
             c: {address: 'memory://h?x=1', namespace: n}, d: {address: N/A}}",
        "t.yaml:2:16: dubbo.registries.a: needs a `protocol`, or an address such as `nacos://host:port`\n\
             t.yaml:2:64: dubbo.registries.b.address: says `memory`, but `protocol` is `zk`\n\
             t.yaml:2:92: dubbo.registries.c.address: takes no parameters; write them under `params`",
    ),
    (
        // What a registry needs that is not there is not known.
        "registries: {a: {protocol: memoryy}, b: {protocol: Nacos}, c: {protocol: redis, address: 'h:1'}}",
        "t.yaml:2:30: dubbo.registries.a.protocol: no registry is called `memoryy`; linked: memory (did you mean `memory`?)\n\
             t.yaml:2:54: dubbo.registries.b.protocol: the registry `Nacos` is not built in: add the feature `nacos` to the dependency `dubbo`; \
             linked: memory\n\
             t.yaml:2:76: dubbo.registries.c.protocol: the registry `redis` is not supported yet; linked: memory",
    ),
    (
        "application: {name: 'a,b', metadata-type: remote, metadata-service-protocol: tree}\n  \
             metadata-report: {timeout: 1s, address: 'h:1'}\n  registries: {a: {protocol: memory, registry-type: service}}",
        "t.yaml:2:23: dubbo.application.name: a name with a comma cannot stand in the mapping of an interface\n\
             t.yaml:2:80: dubbo.application.metadata-service-protocol: no protocol is called `tree`; linked: injvm, tri\n\
             t.yaml:3:3: dubbo.metadata-report: needs a `protocol`, or an address such as `nacos://host:port`\n\
             t.yaml:4:30: dubbo.registries.a.protocol: no service discovery is called `memory`; none is linked",
    ),
    (
        "application: {name: a/b}\n  registries: {a: {address: 'memory://127.0.0.1:99999', registry-type: all}, \
             b: {address: 'memory://h', group: g1}, c: {address: 'memory://h', group: g2}, \
             d: {address: 'memory:///var/lib/x'}, e: {address: 'memory://./x'}}",
        "t.yaml:2:23: dubbo.application.name: a name with a slash cannot be a name in every registry\n\
             t.yaml:3:29: dubbo.registries.a.address: no service discovery is called `memory`; none is linked\n\
             t.yaml:3:29: dubbo.registries.a.address: `127.0.0.1:99999` is no address: `memory://127.0.0.1:99999` is not a URL: port \"99999\" is not a number up to 65535",
    ),
    (
        "registries: {a: {protocol: memory, params: {file-cache: 'no'}}}",
        "t.yaml:2:59: dubbo.registries.a.params.file-cache: expected `true` or `false`, found `no`",
    ),
    (
        "application: {metadata-type: remote}",
        "t.yaml:2:32: dubbo.application.metadata-type: needs a metadata report: set `metadata-report`, or let a \
             registry be one with `use-as-meta-report`",
    ),
    (
        "metadata: {token: 'a b', admin: true, rate-limit: -1}\n  protocols: {local: {name: injvm}}",
        "t.yaml:2:21: dubbo.metadata.token: must have 1 to 256 visible ASCII characters, because it travels in a header\n\
             t.yaml:2:35: dubbo.metadata.admin: needs a Triple server: add one to `dubbo.protocols`, such as \
             `tri: {port: 50051}`\n\
             t.yaml:2:53: dubbo.metadata.rate-limit: expected a whole number from 0 to 1000000, found `-1`",
    ),
];

#[test]
fn what_contradicts_itself_is_refused() {
    for (text, want) in CONTRADICTIONS {
        let report = report(&format!("dubbo:\n  {text}\n"));
        assert_eq!(report, format!("{want}\n"), "{text}");
    }
}

#[test]
fn services_references_and_migrations_that_cannot_be_are_refused() {
    for (text, want) in [
        (
            "provider: {version: 1, services: {A: {interface: s.S}, B: {interface: s.S, version: 1}, \
             C: {interface: s.S, version: 2}, s.S: {version: 3, group: g}}}",
            "t.yaml:2:58: dubbo.provider.services.B: serves `s.S:1`, as `dubbo.provider.services.A` does",
        ),
        (
            "application: {register-mode: both, migration: {step: SOON, threshold: -1, proportion: 101, delay: -1}}\n  \
             migration: {enabled: maybe, comparators: 'methods, x'}\n  migration-file: {enabled: true}",
            "t.yaml:2:32: dubbo.application.register-mode: expected `all` or `instance` or `interface` or `service`, found `both`\n\
             t.yaml:2:56: dubbo.application.migration.step: expected `APPLICATION_FIRST` or `FORCE_APPLICATION` or \
             `FORCE_INTERFACE` or `INTERFACE_FIRST` or `APPLICATION` or `INTERFACE`, found `SOON`\n\
             t.yaml:2:73: dubbo.application.migration.threshold: expected a number that is not negative, such as 0.8, found `-1`\n\
             t.yaml:2:89: dubbo.application.migration.proportion: expected a whole number from 0 to 100, found `101`\n\
             t.yaml:2:101: dubbo.application.migration.delay: expected a duration such as `3s` or `500ms`, or a number of \
             milliseconds, found `-1`\n\
             t.yaml:3:24: dubbo.migration.enabled: expected `true` or `false`, found `maybe`\n\
             t.yaml:3:44: dubbo.migration.comparators: expected `methods`, `protocols` or `errors`, or several of them with \
             commas between, found `methods, x`\n\
             t.yaml:4:20: dubbo.migration-file.enabled: unknown key (did you mean `enable`?)",
        ),
        (
            "protocols: {t: {}, i: {name: injvm}}\n  provider: {services: {A: {interface: S, protocol-ids: t}, \
             B: {interface: S, protocol-ids: i}, C: {interface: S}}}",
            "t.yaml:3:97: dubbo.provider.services.C: serves `S`, as `dubbo.provider.services.A` does",
        ),
        (
            "consumer: {references: {A: {protocol: tri, protocol_config: {name: injvm}}}}",
            "t.yaml:2:64: dubbo.consumer.references.A.protocol_config.name: `injvm`, but the reference's `protocol` is `tri`",
        ),
        (
            "provider: {services: {S: {interface: S, scope: local}}}\n  consumer: {references: {R: {url: 'h:1', scope: remote}}}",
            "t.yaml:2:43: dubbo.provider.services.S.scope: not supported: a service is exported by the protocols that \
             `protocol-ids` names, those of `injvm` for this instance alone; leave it out\n\
             t.yaml:3:43: dubbo.consumer.references.R.scope: not supported: `protocol: injvm` calls the service of this \
             instance, any other protocol one beyond it; leave it out",
        ),
        (
            "provider: {protocol-ids: [tri, dubbo], registry-ids: zk}",
            "t.yaml:2:34: dubbo.provider.protocol-ids: no protocol has the id `dubbo`; there are: tri\n\
             t.yaml:2:56: dubbo.provider.registry-ids: no registry has the id `zk`; there are none",
        ),
        (
            "provider: {filter: 'Default, -audit, -echo, adit, -classloader', methods: [{retries: 1}, {name: A}, {name: A}]}",
            "t.yaml:2:22: dubbo.provider.filter: no filter is called `adit`; linked: audit, echo (did you mean `audit`?)\n\
             t.yaml:2:22: dubbo.provider.filter: the filter `classloader` has no place here: class loaders have no meaning in Rust\n\
             t.yaml:2:78: dubbo.provider.methods[0].name: required: the method's name\n\
             t.yaml:2:104: dubbo.provider.methods[2].name: a second entry for the method `A`",
        ),
        (
            "provider: {tps.limiter: polaris-limit, tps.limit.strategy: leaky, tps.limit.rate: -2, execute.limit: 1.5, \
             param.sign: true, auth: true, token: '', accesslog: /var/log/x, \
             tps.limit.rejected.handler: mine, services: {S: {auth: true, accesslog: true, token: true, \
             params: {.accessKeyId: a, .secretAccessKey: b}, methods: [{name: A, execute.limit: -2}]}}}",
            "t.yaml:2:14: dubbo.provider.tps.limiter: `polaris-limit` is not supported; `default` (`method-service`) is\n\
             t.yaml:2:42: dubbo.provider.tps.limit.strategy: no `tps.limit.strategy` is called `leaky`; there are: default, \
             fixed, fixedWindow, gcra, sliding, slidingWindow, threadSafeFixedWindow\n\
             t.yaml:2:85: dubbo.provider.tps.limit.rate: expected a whole number from -1 to 2147483647, found `-2`\n\
             t.yaml:2:104: dubbo.provider.execute.limit: expected a whole number from -1 to 2147483647, found `1.5`\n\
             t.yaml:2:109: dubbo.provider.param.sign: not supported: dubbo-go signs the JSON of its own structs, which no \
             other implementation writes alike; leave it out or set it to `false`\n\
             t.yaml:2:133: dubbo.provider.auth: needs keys to check with: set `.accessKeyId` and `.secretAccessKey` among \
             `params`, or an `accessKey.storage`\n\
             t.yaml:2:146: dubbo.provider.token: is empty: every caller would know it; `true` makes one up\n\
             t.yaml:2:161: dubbo.provider.accesslog: is the path of a file, which needs `accesslog.allow-file: true` among \
             `params`; `true` is for events\n\
             t.yaml:2:201: dubbo.provider.tps.limit.rejected.handler: no rejected handler is called `mine`; none is linked\n\
             t.yaml:2:347: dubbo.provider.services.S.methods[0].execute.limit: expected a whole number from -1 to \
             2147483647, found `-2`",
        ),
        (
            "retry: {dead-letter: {store: disk, path: p}, \
             policies: {p: {outcome: hodl, dead-letter: {store: tape}}}}",
            "t.yaml:2:32: dubbo.retry.dead-letter.store: the dead letter store `disk` is not built in: add the feature \
             `durable` to the dependency `dubbo`; none is linked\n\
             t.yaml:2:72: dubbo.retry.policies.p.outcome: no outcome is called `hodl`; none is linked\n\
             t.yaml:2:99: dubbo.retry.policies.p.dead-letter.store: no dead letter store is called `tape`; none is linked",
        ),
        (
            "consumer: {references: {A: {url: 'registry://h:1;tri://h:x;rest://h:1;injvm://h/S'}}}",
            "t.yaml:2:36: dubbo.consumer.references.A.url: `registry://` is not supported; write the registry under \
             `dubbo.registries` and its id under `registry-ids`\n\
             t.yaml:2:36: dubbo.consumer.references.A.url: `tri://h:x` is not a URL: port \"x\" is not a number up to 65535\n\
             t.yaml:2:36: dubbo.consumer.references.A.url: the protocol `rest` is not supported yet; linked: injvm, tri",
        ),
    ] {
        let report = report(&format!("dubbo:\n  {text}\n"));
        assert_eq!(report, format!("{want}\n"), "{text}");
    }
}

#[test]
fn a_key_without_effect_is_accepted_with_a_warning() {
    let text = "
dubbo:
  cache_file: x
  application: {metadata-type: local}
  protocols: {tri: {max-server-recv-msg-size: 1mib, triple: {max-server-send-msg-size: 2mib, keep-alive-timeout: 1s}}}
  registries: {a: {protocol: memory, use-as-meta-report: 'false', preferred: false, simplified: true}}
  provider: {adaptive-service: false, tracing-key: x, services: {S: {interface: S, methods: [{name: A, weight: 5}]}}}
  consumer:
    proxy: default
    references:
      R:
        async: false
        keep-alive-interval: 1s
        methods: [{name: A, weight: 1}]
        protocol_config: {triple: {max-server-recv-msg-size: 1}}
  logger: {driver: zap}
";
    let want = "
warning: t.yaml:3:3: dubbo.cache_file: has no effect: dubbo-go does not read it either
warning: t.yaml:5:21: dubbo.protocols.tri.max-server-recv-msg-size: deprecated, write `triple.max-server-recv-msg-size`
warning: t.yaml:6:85: dubbo.registries.a.simplified: has no effect: dubbo-go does not read it either
warning: t.yaml:7:39: dubbo.provider.tracing-key: has no effect: dubbo-go does not read it either
warning: t.yaml:7:104: dubbo.provider.services.S.methods[0].weight: has no effect: consumers of this framework go by the weight of the service; it is published for those of others
warning: t.yaml:9:5: dubbo.consumer.proxy: has no effect: dubbo-go does not read it either
warning: t.yaml:13:9: dubbo.consumer.references.R.keep-alive-interval: deprecated, write `protocol_config.triple.keep-alive-interval`
warning: t.yaml:14:29: dubbo.consumer.references.R.methods[0].weight: has no effect: a weight is the provider's to set
warning: t.yaml:15:36: dubbo.consumer.references.R.protocol_config.triple.max-server-recv-msg-size: has no effect: it limits a server; write it under `dubbo.protocols`
warning: t.yaml:16:12: dubbo.logger.driver: has no effect: it chooses a logging library of Go; here it is `tracing`
";
    assert_eq!(report(text), want.trim_start());
    let config = config(text);
    let triple = &config.protocols["tri"].triple;
    assert_eq!(
        triple.max_server_recv_msg_size,
        Some(1 << 20),
        "the old spelling counts"
    );
    assert_eq!(triple.max_server_send_msg_size, Some(2 << 20));
    assert!(
        config.consumer.references["R"]
            .triple
            .keep_alive_interval
            .is_some()
    );
}

#[test]
fn an_unknown_key_is_a_warning_when_not_strict_and_all_else_stays_an_error() {
    let text = "dubbo: {strict: false, chek: 1, application: {name: '${NOPE}'}}\nother: 1\n";
    let want = "
warning: t.yaml:1:24: dubbo.chek: unknown key
warning: t.yaml:1:53: dubbo.application.name: `${NOPE}` is neither a key nor an environment variable, and has no default
warning: t.yaml:2:1: other: unknown key; all settings stand below `dubbo`
";
    assert_eq!(report(text), want.trim_start());
    let want = "t.yaml:1:42: dubbo.consumer.check: expected `true` or `false`, found `yes`\n";
    assert_eq!(
        report("dubbo: {strict: false, consumer: {check: yes}}"),
        want
    );
}

#[test]
fn what_code_adds_is_checked_with_what_was_read() {
    let options = LoadOptions::text(
        "t.yaml",
        "dubbo: {consumer: {registry-ids: [a, b], chek: true}}",
    );
    let mut draft = read(&options).expect("YAML");
    draft.config = draft.config.registry("a", RegistryConfig::memory());
    draft.config.consumer.protocol = Some("trio".to_owned());
    let want = "
code: dubbo.consumer.protocol: no protocol is called `trio`; linked: injvm, tri (did you mean `tri`?)
t.yaml:1:38: dubbo.consumer.registry-ids: no registry has the id `b`; there are: a
t.yaml:1:42: dubbo.consumer.chek: unknown key (did you mean `check`?)
";
    assert_eq!(outcome(&draft.check(&linked())), want.trim_start());

    let alone = Draft {
        config: Config::new().consumer(ConsumerConfig::new().registry_ids(["a"])),
        ..Draft::default()
    };
    let want = "code: dubbo.consumer.registry-ids: no registry has the id `a`; there are none\n";
    assert_eq!(outcome(&alone.check(&linked())), want);
}

#[test]
fn no_input_makes_it_panic() {
    let sample: Vec<char> = include_str!("sample.yaml").chars().collect();
    let alphabet: Vec<char> = "a1:-?[]{},&*!|>'\"%$`#~<\\ \t\n\u{0}é".chars().collect();
    let mut state = 0x5eed_u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).expect("below a usize")
    };
    for _ in 0..1_000 {
        let mut text = sample.clone();
        for _ in 0..=below(4) {
            let at = below(text.len());
            match below(4) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, alphabet[below(alphabet.len())]),
                2 => text[at] = alphabet[below(alphabet.len())],
                _ => text.truncate(at + 1),
            }
        }
        let text: String = text.into_iter().collect();
        let report = report(&text);
        assert!(
            report.lines().all(|line| line.contains(": ")),
            "{text}\n{report}"
        );
    }
}

#[test]
fn a_configuration_on_its_way_prints_no_password() {
    let text = "dubbo: {registries: {a: {protocol: memory, password: s3cret}}}";
    let options = LoadOptions::text("t.yaml", text).environment(Environment::from_iter([(
        "DUBBO_REGISTRIES_A_USERNAME",
        "s3cret",
    )]));
    let mut draft = read(&options).expect("YAML");
    draft
        .config
        .registries
        .values_mut()
        .for_each(|registry| registry.username = None);
    let printed = format!("{options:?}{draft:?}");
    assert!(!printed.contains("s3cret"), "{printed}");
}

#[test]
fn what_is_said_of_a_migration_that_cannot_be_is_told() {
    let text = |kind: &str| {
        format!(
            "dubbo:
  application: {{migration: {{step: FORCE_INTERFACE}}}}
  registries: {{a: {{protocol: memory, registry-type: {kind}}}}}
  migration-file: {{enable: true}}
  consumer: {{references: {{Users: {{interface: a.Users, params: {{migration.step: FORCE_INTERFACE}}}}}}}}
"
        )
    };
    let why = "has no effect: no registry is used both ways; set `registry-type: all` for one";
    let want = format!(
        "warning: t.yaml:2:17: dubbo.application.migration: {why}\n\
         warning: t.yaml:4:28: dubbo.migration-file.enable: {why}\n\
         warning: t.yaml:5:80: dubbo.consumer.references.Users.params.migration.step: {why}\n"
    );
    assert_eq!(report(&text("interface")), want);
    let older = report("dubbo: {application: {service-discovery: {migration: FORCE_INTERFACE}}}");
    let want = "warning: t.yaml:1:54: dubbo.application.service-discovery.migration: ";
    assert_eq!(older, format!("{want}{why}\n"));

    let mut linked = linked();
    linked.register::<dyn ServiceDiscovery>("memory", |_| Err("never made".into()));
    let both = load(&LoadOptions::text("t.yaml", text("all")), &linked);
    assert_eq!(outcome(&both), "");
}
