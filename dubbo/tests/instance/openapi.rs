//! The section `triple.openapi` of a protocol: documents on the port, and what each key does to them.

use std::{net::SocketAddr, sync::Arc};

use dubbo::{Instance, Url};
use dubbo_core::{
    invoker::Invoker,
    protocol::{Drained, Exporter, Protocol, ProtocolError},
    service::ServiceDescriptor,
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::peer::h2::Client;
use examples::{
    Polite,
    greet::GreeterServer,
    users::{UserServiceServer, Users},
};
use tokio::time::Instant;

use super::rig::load;

/// Starts a provider of both example services with this section `openapi`, and these sections beside the protocol.
async fn provide(openapi: &str, sections: &str) -> Instance {
    let yaml = format!(
        "dubbo: {{protocols: {{t: {{ip: 127.0.0.1, port: 0, triple: {{openapi: {{{openapi}}}}}}}}}, {sections}}}"
    );
    let builder = load(&yaml)
        .provide(GreeterServer::new(Polite))
        .provide(UserServiceServer::new(Users));
    let instance = builder.build().expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// Status, content type and body of a page.
async fn get(instance: &Instance, path: &str) -> (u16, String, String) {
    let port = instance.exported()[0].port().expect("bound");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut client = Client::connect(address).await;
    let request = http::Request::get(format!("http://{address}{path}"));
    let mut call = client.open(request.body(()).expect("legal"), true).await;
    let response = call.response().await;
    let content_type = response.headers["content-type"].to_str().expect("text");
    let content_type = content_type.to_owned();
    let body = String::from_utf8(call.body().await).expect("text");
    (response.status, content_type, body)
}

/// A document in JSON.
async fn document(instance: &Instance, path: &str) -> serde_json::Value {
    let (status, content_type, body) = get(instance, path).await;
    assert_eq!(
        (status, &*content_type),
        (200, "application/json"),
        "{body}"
    );
    serde_json::from_str(&body).expect("JSON")
}

fn keys(value: &serde_json::Value) -> Vec<&str> {
    let map = value.as_object().expect("a map");
    map.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn while_it_is_off_the_address_says_so() {
    for (openapi, path) in [
        ("", "/dubbo/openapi"),
        ("enabled: false", "/dubbo/openapi/openapi.json"),
        ("path: docs", "/docs/swagger-ui"),
    ] {
        let instance = provide(openapi, "").await;
        let (status, content_type, body) = get(&instance, path).await;
        assert_eq!(
            (status, &*content_type),
            (404, "application/json"),
            "{openapi}"
        );
        assert_eq!(
            body,
            r#"{"message":"OpenAPI is not available","status":"404"}"#
        );
    }
}

#[tokio::test]
async fn switched_on_it_shows_every_unary_method_of_every_service() {
    let instance = provide("enabled: true", "").await;
    let document = document(&instance, "/dubbo/openapi").await;
    assert_eq!(document["openapi"], "3.0.1");
    assert_eq!(
        keys(&document["paths"]),
        [
            "/com.example.UserService/getUser",
            "/com.example.UserService/getUsers",
            "/com.example.UserService/rename",
            "/greet.Greeter/Greet",
        ]
    );
    // What the generated code and the macro know of messages and classes.
    let schemas = &document["components"]["schemas"];
    assert_eq!(
        keys(&schemas["com.example.User"]["properties"]),
        ["age", "friend", "id", "level", "name"]
    );
    assert_eq!(schemas["com.example.Level"]["enum"][0], "MEMBER");
    assert_eq!(keys(&schemas["greet.GreetRequest"]["properties"]), ["name"]);
    let users = &document["paths"]["/com.example.UserService/getUsers"]["post"];
    assert_eq!(
        users["responses"]["200"]["content"]["application/json"]["schema"]["items"]["$ref"],
        "#/components/schemas/com.example.User"
    );
    assert_eq!(users["parameters"][0]["schema"]["enum"][0], "1.0.0");
    let tags = document["tags"].as_array().expect("tags");
    let streams = tags[1]["description"].as_str().expect("a text");
    assert!(streams.contains("in JSON: `GreetMany`."), "{streams}");
    assert!(
        streams.contains("Dubbo: `GreetAll`, `GreetEach`."),
        "{streams}"
    );
}

#[tokio::test]
async fn the_keys_say_where_it_is_and_what_stands_in_it() {
    let openapi = "enabled: true, path: /docs/, info-title: Shop, info-description: Orders, info-version: 2.10, \
                   default-consumes-media-types: [application/json, text/json], \
                   default-produces-media-types: text/plain, default-http-status-codes: [200, 404], \
                   settings: {swagger-ui.cdn: 'https://ui.example', redoc.cdn: 'https://redoc.example/x', \
                   swagger-ui.settings.docExpansion: full}";
    let instance = provide(openapi, "").await;
    let document = document(&instance, "/docs/openapi.json").await;
    assert_eq!(
        document["info"],
        serde_json::json!({"title": "Shop", "description": "Orders", "version": "2.10"})
    );
    let greet = &document["paths"]["/greet.Greeter/Greet"]["post"];
    assert_eq!(
        keys(&greet["requestBody"]["content"]),
        ["application/json", "text/json"]
    );
    assert_eq!(keys(&greet["responses"]), ["200", "404"]);
    assert_eq!(keys(&greet["responses"]["200"]["content"]), ["text/plain"]);

    let (_, content_type, page) = get(&instance, "/docs/swagger-ui/index.html").await;
    assert_eq!(content_type, "text/html; charset=utf-8");
    for part in [
        "<title>Shop</title>",
        "https://ui.example/swagger-ui.css",
        r#""docExpansion":"full""#,
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (_, _, page) = get(&instance, "/docs/redoc").await;
    assert!(
        page.contains("https://redoc.example/x/redoc.standalone.js"),
        "{page}"
    );
    let (status, ..) = get(&instance, "/dubbo/openapi").await;
    assert_eq!(status, 404, "it is elsewhere");
}

#[tokio::test]
async fn services_may_be_in_documents_of_their_own() {
    let sections = "provider: {services: {Users: {interface: com.example.UserService, params: {openapi.group: partners}}}}";
    let instance = provide("enabled: true", sections).await;
    let paths = |document: serde_json::Value| -> Vec<String> {
        keys(&document["paths"])
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    let own = paths(document(&instance, "/dubbo/openapi/default.json").await);
    assert_eq!(own, ["/greet.Greeter/Greet"]);
    let partners = paths(document(&instance, "/dubbo/openapi/api-docs/partners").await);
    assert!(
        partners.contains(&"/com.example.UserService/rename".to_owned()),
        "{partners:?}"
    );
    let (_, content_type, yaml) = get(&instance, "/dubbo/openapi/partners.yaml").await;
    assert_eq!(content_type, "application/yaml");
    assert!(yaml.contains("/com.example.UserService/rename:"), "{yaml}");
    let (status, ..) = get(&instance, "/dubbo/openapi/nobody").await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn each_protocol_shows_what_it_serves() {
    let yaml = "
dubbo:
  protocols:
    open: {ip: 127.0.0.1, port: 0, triple: {openapi: {enabled: true, info-title: Open}}}
    own: {ip: 127.0.0.2, port: 0, triple: {openapi: {enabled: true, info-title: Own}}}
  provider:
    services:
      Polite: {interface: greet.Greeter, protocol-ids: open}
      Users: {interface: com.example.UserService, protocol-ids: own}
";
    let instance = load(yaml)
        .provide(GreeterServer::new(Polite))
        .provide(UserServiceServer::new(Users))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    for url in instance.exported() {
        let address: SocketAddr = url.address().parse().expect("an address");
        let mut client = Client::connect(address).await;
        let request = http::Request::get(format!("http://{address}/dubbo/openapi"));
        let mut call = client.open(request.body(()).expect("legal"), true).await;
        assert_eq!(call.response().await.status, 200);
        let document: serde_json::Value = serde_json::from_slice(&call.body().await).expect("JSON");
        let (title, interface) = match address.ip().to_string().as_str() {
            "127.0.0.1" => ("Open", "greet.Greeter"),
            _ => ("Own", "com.example.UserService"),
        };
        assert_eq!(document["info"]["title"], title);
        let prefix = format!("/{interface}/");
        assert!(
            keys(&document["paths"])
                .iter()
                .all(|path| path.starts_with(&prefix)),
            "{document}"
        );
    }
}

#[tokio::test]
async fn pages_end_with_the_instance() {
    let instance = provide("enabled: true", "").await;
    let port = instance.exported()[0].port().expect("bound");
    instance.shutdown(std::time::Duration::ZERO).await;
    let refused = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
    assert!(refused.is_err(), "nobody listens any more");
}

/// The pages that were asked for in a recording, and the whole answers: path, status, content type and body.
fn recorded(file: &str) -> Vec<(String, u16, String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../dubbo-test/golden");
    let text = std::fs::read_to_string(folder.join(file)).expect("recordings");
    let records = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let asked = records.filter(|record: &serde_json::Value| record["kind"] == "stream");
    let header = |message: &serde_json::Value, name: &str| -> String {
        let headers = message["headers"].as_array().expect("a list").iter();
        let found = headers.clone().find(|header| header[0] == name);
        found.expect(name)[1].as_str().expect("a text").to_owned()
    };
    asked
        .map(|record| {
            let (request, response) = (&record["request"], &record["response"]);
            (
                header(request, ":path"),
                header(response, ":status").parse().expect("a status"),
                header(response, "content-type"),
                response["data_text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            )
        })
        .collect()
}

#[tokio::test]
async fn pages_are_where_dubbo_go_has_them() {
    let instance = provide("enabled: true", "").await;
    let recorded = recorded("go/triple-openapi.jsonl");
    assert_eq!(recorded.len(), 7);
    for (path, status, content_type, body) in recorded {
        let own = get(&instance, &path).await;
        if path.ends_with("/nope") {
            // A group that no service is in: an empty document there.
            assert!(
                body.contains("\"openapi\": \"3.0.1\"") && own.0 == 404,
                "{body}"
            );
            continue;
        }
        assert_eq!(own.0, status, "{path}");
        // A page says in which characters it is, too.
        assert!(own.1.starts_with(&content_type), "{path}: {}", own.1);
    }
}

#[tokio::test]
async fn while_it_is_off_the_answer_is_that_of_dubbo_java() {
    let instance = provide("", "").await;
    let recorded = recorded("java/triple-openapi-off.jsonl");
    assert_eq!(recorded.len(), 2);
    for (path, status, content_type, body) in recorded {
        assert_eq!(
            get(&instance, &path).await,
            (status, content_type, body),
            "{path}"
        );
    }
}

/// Somebody's own Triple, which serves no pages.
struct Plain(TripleProtocol);

#[dubbo::async_trait]
impl Protocol for Plain {
    fn default_port(&self) -> u16 {
        self.0.default_port()
    }

    async fn export(
        &self,
        url: &Url,
        service: Arc<ServiceDescriptor>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        self.0.export(url, service, invoker).await
    }

    async fn refer(
        &self,
        url: &Url,
        service: Arc<ServiceDescriptor>,
    ) -> Result<Arc<dyn Invoker>, ProtocolError> {
        self.0.refer(url, service).await
    }

    async fn drain(&self, deadline: Instant) -> Drained {
        self.0.drain(deadline).await
    }

    async fn close(&self, deadline: Instant) -> Drained {
        self.0.close(deadline).await
    }
}

#[tokio::test]
async fn a_protocol_that_has_no_pages_is_asked_for_them_where_they_are_wanted_alone() {
    for (enabled, want) in [
        (false, None),
        (true, Some("the protocol `tri` serves calls alone")),
    ] {
        let yaml = format!(
            "dubbo: {{protocols: {{t: {{ip: 127.0.0.1, port: 0, triple: {{openapi: {{enabled: {enabled}}}}}}}}}}}"
        );
        let instance = load(&yaml)
            .extension::<dyn Protocol>("tri", |_| Ok(Arc::new(Plain(TripleProtocol::default()))))
            .provide(GreeterServer::new(Polite))
            .build()
            .expect("valid");
        let started = instance.start().await.map_err(|error| error.to_string());
        match want {
            None => assert_eq!(started, Ok(())),
            Some(want) => {
                let error = started.expect_err("refused");
                assert!(
                    error.contains(want) && error.contains("/dubbo/openapi"),
                    "{error}"
                );
            }
        }
    }
}
