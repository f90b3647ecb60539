use std::time::Duration;

use dubbo_cluster::migration::MigrationStep;
use dubbo_hessian2::{CheckMode, LoneSurrogates};
use dubbo_protocol::{Compression, TripleDialect};

use super::*;

#[test]
fn every_key_sets_what_its_builder_method_sets() {
    let want = Config::new()
        .application(application())
        .migration(
            MigrationConfig::new()
                .enabled(true)
                .comparators("errors, methods".parse().expect("known"))
                .readiness(true)
                .file_enable(true)
                .file("rules/migration.yaml".into()),
        )
        .label("zone", "east")
        .label("note", "a;b=c")
        .env(EnvConfig::new().keys(["POD_NAME", "Rack"]))
        .metadata(metadata())
        .protocol("tri", triple())
        .protocol("inside", ProtocolConfig::new().name("injvm").port(0))
        .registry(
            "local",
            RegistryConfig::memory()
                .address("memory://cell-a, cell-b")
                .timeout(ms(2_000))
                .group("g")
                .namespace("dev")
                .username("u")
                .password("p")
                .param("k", "v")
                .param("n", "1.10")
                .registry_type(RegistryType::Interface)
                .register_mode(RegistryType::Interface)
                .use_as_config_center(false)
                .instance_filter(["near"])
                .extend_param("rack", "r7"),
        )
        .provider(provider())
        .consumer(consumer())
        .shutdown(
            ShutdownConfig::new()
                .timeout(ms(10_000))
                .step_timeout(Duration::ZERO)
                .notify_timeout(ms(1_000))
                .consumer_update_wait_time(Duration::ZERO)
                .offline_request_window_timeout(ms(2_000))
                .internal_signal(false),
        )
        .logger(
            LoggerConfig::new()
                .level(LogLevel::Warn)
                .format(LogFormat::Json)
                .appender(vec![crate::config::LogAppender::Console]),
        )
        .tls_config(
            TlsConfig::new()
                .ca_cert_file("ca.pem")
                .tls_cert_file("s.pem")
                .tls_key_file("s.key")
                .tls_server_name("orders.internal"),
        )
        .hessian2(
            Hessian2Config::new()
                .max_depth(64)
                .max_nodes(1_000)
                .max_expansion(1 << 20)
                .max_classes(10)
                .max_fields(20)
                .max_name_length(100)
                .lone_surrogates(LoneSurrogates::Refuse)
                .class_check(CheckMode::Warn)
                .allow_classes(["shop.", "billing."])
                .deny_classes(["shop.internal."]),
        )
        .strict(true);
    assert_eq!(config(EVERY_KEY), want);
}

fn application() -> ApplicationConfig {
    ApplicationConfig::new()
        .name("order-center")
        .organization("acme")
        .module("orders")
        .owner("ann")
        .environment("cn")
        .group("g0")
        .version("1.10")
        .tag("gray")
        .weight(50)
        .protocol("TRI")
        .register_mode(RegistryType::All)
        .migration(
            ApplicationMigrationConfig::new()
                .step(MigrationStep::ForceInterface)
                .threshold(0.75)
                .proportion(30)
                .force(true)
                .delay(ms(1_500)),
        )
}

fn metadata() -> MetadataConfig {
    MetadataConfig::new()
        .instance_customizer(["zone"])
        .publish_delay(ms(250))
        .info_cache_size(0)
        .info_cache_expire(Duration::from_mins(1))
        .secret_params(["token", "Key"])
        .gc_dry_run(true)
        .cache(
            MetadataCacheConfig::new()
                .enabled(true)
                .path("/var/cache/dubbo")
                .size(1 << 20),
        )
}

fn provider() -> ProviderConfig {
    ProviderConfig::new()
        .defaults(
            ServiceConfig::new()
                .filter(["default", "audit"])
                .registry_ids(["local"])
                .protocol_ids(["tri"])
                .loadbalance("roundrobin"),
        )
        .service(
            "Orders",
            ServiceConfig::new()
                .interface("shop.OrderService")
                .filter(["echo", "-audit"])
                .registry_ids(["local"])
                .protocol_ids(["tri", "inside"])
                .group("no")
                .version("2.0")
                .cluster("failfast")
                .loadbalance("random")
                .retries(0)
                .serialization(Serialization::Protobuf)
                .param("p", "q")
                .not_register(true)
                .tag("blue")
                .weight(0)
                .warmup(ms(60_000))
                .method(
                    "Create",
                    MethodConfig::new()
                        .retries(0)
                        .loadbalance("random")
                        .timeout(ms(200))
                        .weight(5)
                        .sticky(true),
                ),
        )
}

fn consumer() -> ConsumerConfig {
    ConsumerConfig::new()
        .filter(["audit"])
        .registry_ids(["local"])
        .protocol("tri")
        .request_timeout(ms(2_000))
        .check(false)
        .max_wait_time_for_service_discovery(ms(1_000))
        .reference(
            "Users",
            ReferenceConfig::new()
                .interface("shop.UserService")
                .url(["tri://10.0.0.1:20000", "10.0.0.2:20000"])
                .filter(["echo"])
                .protocol("tri")
                .registry_ids(["local"])
                .cluster("failover")
                .loadbalance("random")
                .retries(1)
                .group("g1")
                .version("007")
                .serialization(Serialization::Json)
                .param("a", "b")
                .sticky(true)
                .timeout(ms(800))
                .check(true)
                .method("Get", MethodConfig::new().timeout(Duration::ZERO))
                .triple(
                    TripleConfig::new()
                        .keep_alive_interval(ms(1_000))
                        .keep_alive_timeout(ms(2_000))
                        .compression(CompressionConfig::new().send(vec![Compression::Deflate]))
                        .dialect(TripleDialect::GrpcWeb),
                ),
        )
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

const EVERY_KEY: &str = "
dubbo:
  application:
    name: order-center
    organization: acme
    module: orders
    owner: ann
    environment: cn
    group: g0
    version: 1.10
    tag: gray
    weight: 50
    protocol: TRI
    register-mode: ALL
    migration: {step: interface, threshold: 0.75, proportion: 30, force: true, delay: 1500}
  migration: {enabled: true, comparators: 'errors, methods', readiness: true, file: rules/migration.yaml}
  migration-file: {enable: true}
  labels: {zone: east, note: a;b=c}
  env: {keys: 'POD_NAME, Rack'}
  metadata:
    instance-customizer: zone
    publish-delay: 250ms
    info-cache-size: 0
    info-cache-expire: 1m
    secret-params: [token, Key]
    gc-dry-run: true
    cache: {enabled: true, path: /var/cache/dubbo, size: 1mib}
  protocols:
    tri:
      name: tri
      ip: 127.0.0.1
      port: 20000
      triple:
        max-server-send-msg-size: 8mb
        max-server-recv-msg-size: 16mib
        keep-alive-interval: 30s
        keep-alive-timeout: 5s
        connection-initial-window-size: 4mib
        handshake-timeout: 2s
        initial-window-size: 65535
        max-concurrent-streams: 200
        max-connection-age: 1h
        max-connection-age-grace: 0
        max-connection-idle: 5m
        max-connections: 10000
        max-frame-size: 16kib
        max-header-count: 100
        max-header-list-size: 32kib
        max-unfinished-size: 64mb
        request-timeout: 10s
        compression: {send: [zstd, gzip], min-size: 2kb}
        cors:
          allow-origins: ['https://*.example.com', 'http://localhost:3000']
          allow-methods: POST
          allow-headers: x-a, x-b
          expose-headers: [x-cost]
          allow-credentials: true
          max-age: 600
        openapi:
          enabled: true
          path: docs
          info-title: Orders
          info-description: What orders take
          info-version: 2.10
          default-consumes-media-types: application/json
          default-produces-media-types: [application/json, text/json]
          default-http-status-codes: [200, default]
          settings: {redoc.cdn: https://cdn.example}
        reflection: {enable: false}
    inside: {name: injvm, port: -1}
  registries:
    local:
      protocol: memory
      address: memory://cell-a, cell-b
      timeout: 2s
      group: g
      namespace: dev
      username: u
      password: p
      params: {k: v, n: 1.10}
      registry-type: interface
      register-mode: Interface
      use-as-config-center: false
      instance-filter: [near]
      extend-params: {rack: r7}
  provider:
    filter: default,audit
    registry-ids: [local]
    protocol-ids: tri
    loadbalance: roundrobin
    services:
      Orders:
        interface: shop.OrderService
        filter: [echo, -audit]
        registry-ids: local
        protocol-ids: [tri, inside]
        group: no
        version: 2.0
        cluster: failfast
        loadbalance: random
        retries: 0
        serialization: protobuf
        params: {p: q}
        not_register: true
        tag: blue
        weight: 0
        warmup: 60
        methods:
          - {name: Create, retries: 0, loadbalance: random, timeout: 200ms, weight: 5, sticky: true}
  consumer:
    filter: audit
    registry-ids: [local]
    protocol: tri
    request-timeout: 2s
    check: false
    max-wait-time-for-service-discovery: 1s
    references:
      Users:
        interface: shop.UserService
        url: tri://10.0.0.1:20000; 10.0.0.2:20000
        filter: echo
        protocol: tri
        registry-ids: [local]
        cluster: failover
        loadbalance: random
        retries: 1
        group: g1
        version: 007
        serialization: json
        params: {a: b}
        sticky: true
        timeout: 800
        check: true
        methods: [{name: Get, timeout: 0}]
        protocol_config: {triple: {keep-alive-interval: 1s, keep-alive-timeout: 2s, compression: {send: deflate}, dialect: grpc-web}}
  shutdown:
    timeout: 10s
    step-timeout: -1s
    notify-timeout: 1s
    consumer-update-wait-time: 0s
    offline-request-window-timeout: 2s
    internal-signal: false
  logger: {level: WARN, format: json, appender: console}
  tls-config: {ca-cert-file: ca.pem, tls-cert-file: s.pem, tls-key-file: s.key, tls-server-name: orders.internal}
  hessian2:
    max-depth: 64
    max-nodes: 1000
    max-expansion: 1mib
    max-classes: 10
    max-fields: 20
    max-name-length: 100
    lone-surrogates: refuse
    class-check: WARN
    allow-classes: [shop., billing.]
    deny-classes: shop.internal.
  strict: true
";

#[test]
fn nothing_set_is_nothing_read() {
    for text in [
        "",
        "dubbo:",
        "dubbo: {}",
        "dubbo: {application: , protocols: , provider: {services: }}",
    ] {
        assert_eq!(config(text), Config::new(), "{text:?}");
    }
    assert_eq!(ProtocolConfig::new().name_or_default(), "tri");
    assert_eq!(ProtocolConfig::new().port_or_default(), 50_051);
    assert_eq!(
        ProtocolConfig::new().name("dubbo").port_or_default(),
        20_880
    );
}

#[test]
fn custom_settings_are_the_programs_own() {
    let config = config("dubbo: {custom: {config-map: {limits: [1, 2]}}}");
    let custom = config.custom.expect("what was written");
    let map = custom.as_map().and_then(|custom| custom.get("config-map"));
    let limits = map
        .and_then(|map| map.value.as_map())
        .and_then(|map| map.get("limits"));
    assert_eq!(limits.expect("the list").value.kind(), "a list");
}

#[test]
fn any_free_port_has_three_spellings() {
    for port in ["0", "-1", "''"] {
        let text = format!("dubbo: {{protocols: {{tri: {{port: {port}}}}}}}");
        assert_eq!(config(&text).protocols["tri"].port, Some(0), "{port}");
    }
}

#[test]
fn a_registry_is_named_by_its_protocol_or_its_address() {
    for (registry, plugin, hosts, off) in [
        (RegistryConfig::memory(), Some("memory"), &[][..], false),
        (
            RegistryConfig::at("nacos://h:8848"),
            Some("nacos"),
            &["h:8848"],
            false,
        ),
        (
            RegistryConfig::at("10.0.0.1:8848, 10.0.0.2:8848").protocol("nacos"),
            Some("nacos"),
            &["10.0.0.1:8848", "10.0.0.2:8848"],
            false,
        ),
        (
            RegistryConfig::at("N/A").protocol("nacos"),
            Some("nacos"),
            &["N/A"],
            true,
        ),
        (RegistryConfig::at(" "), None, &[], true),
        (RegistryConfig::at("h:8848"), None, &["h:8848"], false),
    ] {
        assert_eq!(registry.plugin(), plugin, "{registry:?}");
        assert_eq!(registry.hosts(), hosts, "{registry:?}");
        assert_eq!(registry.is_off(), off, "{registry:?}");
    }
}

#[test]
fn a_password_is_never_printed() {
    let registry = RegistryConfig::memory().username("ann").password("s3cret");
    assert!(!format!("{registry:?}").contains("s3cret"), "{registry:?}");
    assert_eq!(registry.password.expect("set").expose(), "s3cret");
}

#[test]
fn the_stronger_layer_wins_field_by_field() {
    let mut code = Config::new()
        .application(ApplicationConfig::new().name("code"))
        .consumer(
            ConsumerConfig::new()
                .reference("Users", ReferenceConfig::new().retries(0).url([""; 0])),
        );
    code.complete_from(&config(
        "
dubbo:
  application: {name: file, owner: ann}
  consumer:
    references:
      Users: {retries: 3, group: g, url: 'h:1', methods: [{name: Get, sticky: true}]}
      Other: {retries: 4}
",
    ));
    let want = config(
        "
dubbo:
  application: {name: code, owner: ann}
  consumer:
    references:
      Users: {retries: 0, group: g, url: '', methods: [{name: Get, sticky: true}]}
      Other: {retries: 4}
",
    );
    assert_eq!(code, want);
}

fn triple() -> ProtocolConfig {
    ProtocolConfig::tri().ip("127.0.0.1").port(20_000).triple(
        TripleConfig::new()
            .max_server_send_msg_size(8_000_000)
            .max_server_recv_msg_size(16 << 20)
            .keep_alive_interval(ms(30_000))
            .keep_alive_timeout(ms(5_000))
            .server(
                TripleServerConfig::new()
                    .connection_initial_window_size(4 << 20)
                    .handshake_timeout(ms(2_000))
                    .initial_window_size(65_535)
                    .max_concurrent_streams(200)
                    .max_connection_age(ms(3_600_000))
                    .max_connection_age_grace(ms(0))
                    .max_connection_idle(ms(300_000))
                    .max_connections(10_000)
                    .max_frame_size(16_384)
                    .max_header_count(100)
                    .max_header_list_size(32 << 10)
                    .max_unfinished_size(64_000_000)
                    .request_timeout(ms(10_000)),
            )
            .compression(
                CompressionConfig::new()
                    .send(vec![Compression::Zstd, Compression::Gzip])
                    .min_size(2_000),
            )
            .cors(
                CorsConfig::new()
                    .allow_origins(["https://*.example.com", "http://localhost:3000"])
                    .allow_methods(["POST"])
                    .allow_headers(["x-a", "x-b"])
                    .expose_headers(["x-cost"])
                    .allow_credentials(true)
                    .max_age(Duration::from_mins(10)),
            )
            .openapi(
                OpenApiConfig::new()
                    .enabled(true)
                    .path("docs")
                    .info_title("Orders")
                    .info_description("What orders take")
                    .info_version("2.10")
                    .default_consumes_media_types(["application/json"])
                    .default_produces_media_types(["application/json", "text/json"])
                    .default_http_status_codes(["200", "default"])
                    .setting("redoc.cdn", "https://cdn.example"),
            )
            .reflection(ReflectionConfig::new().enable(false)),
    )
}
