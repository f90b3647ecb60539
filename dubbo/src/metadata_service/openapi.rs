//! What an application serves, as an OpenAPI document (`docs/spec/metadata.md` §3.2).

use dubbo_core::{
    codegen::ProtoJson,
    invocation::{Body, Invocation, Reply, RpcResult},
    payload::{Adapter as _, Payload},
    status::Status,
};
use dubbo_metadata::openapi::{Filter, Format, NOT_AVAILABLE, OpenApi, UnknownVersion, Version};

use super::{
    content::Content,
    proto::{OpenApiFormat, OpenApiInfo, OpenApiRequest},
};

/// The document that is asked for; an empty text when it would be about nothing.
pub(super) fn openapi_info(content: &dyn Content, invocation: Invocation) -> RpcResult {
    let method = invocation.method;
    let unusable = |why: String| Status::invalid_argument(format!("{method:?}: {why}"));
    let Some(api) = content.openapi() else {
        return Err(Status::unimplemented(NOT_AVAILABLE));
    };
    let Body::Unary(payload) = invocation.body else {
        return Err(unusable("it takes one request, not a stream".to_owned()));
    };
    let request = payload
        .decode::<ProtoJson<OpenApiRequest>>()
        .map_err(|error| unusable(error.to_string()).with_source(error))?
        .unwrap();
    let definition = document(api, request).map_err(unusable)?;
    let info = ProtoJson::wrap(OpenApiInfo { definition });
    Ok(Reply::new(Body::Unary(Payload::typed(info))))
}

fn document(api: &OpenApi, request: OpenApiRequest) -> Result<String, String> {
    let version: Version = request
        .openapi
        .parse()
        .map_err(|error: UnknownVersion| error.to_string())?;
    let pretty = request.pretty.unwrap_or_default();
    let format = match OpenApiFormat::try_from(request.format.unwrap_or_default()) {
        Ok(OpenApiFormat::Json) if pretty => Format::PrettyJson,
        Ok(OpenApiFormat::Json) => Format::Json,
        Ok(OpenApiFormat::Yaml) => Format::Yaml,
        Ok(OpenApiFormat::Proto) => {
            return Err("the format PROTO is not written here; JSON and YAML are".to_owned());
        }
        Err(error) => return Err(format!("its format is none: {error}")),
    };
    let filter = Filter {
        group: request.group,
        version: request.version,
        tags: request.tag,
        services: request.service,
    };
    let document = api.document(&filter, version);
    Ok(document.map_or_else(String::new, |document| document.write(format)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_core::service::{CallKind, MethodDescriptor, ServiceDescriptor};
    use dubbo_metadata::openapi::{DEFAULT_GROUP, Documented, Settings};
    use serde_json::Value;

    use super::{
        super::proto::{METADATA_SERVICE_V2_DESCRIPTOR, MetadataInfoV2, ServiceInfoV2},
        *,
    };

    fn api() -> OpenApi {
        let service = |key: &str| {
            let method = MethodDescriptor::java("get", CallKind::Unary, ["int"], "int");
            let key: dubbo_core::service::ServiceKey = key.parse().expect(key);
            Documented {
                descriptor: Arc::new(ServiceDescriptor::new(
                    key.interface().to_owned(),
                    vec![method],
                )),
                key,
                group: DEFAULT_GROUP.to_owned(),
            }
        };
        let services = vec![service("a.B"), service("g/a.C:1.0.0"), service("x.D")];
        OpenApi::new(Settings::default(), services)
    }

    /// What is asked for, beside nothing else.
    fn asked(ask: impl FnOnce(&mut OpenApiRequest)) -> Result<String, String> {
        let mut request = OpenApiRequest::default();
        ask(&mut request);
        document(&api(), request)
    }

    #[test]
    fn filters_say_which_services_it_is_about() {
        type Ask = fn(&mut OpenApiRequest);
        let asks: [(Ask, &[&str]); 7] = [
            (|_| {}, &["a.B", "a.C", "x.D"]),
            (|request| request.group = "g".to_owned(), &["a.C"]),
            (|request| request.version = "1.0.0".to_owned(), &["a.C"]),
            (
                |request| request.tag = vec!["a.B".to_owned(), "x.D".to_owned()],
                &["a.B", "x.D"],
            ),
            (
                |request| request.service = vec!["a".to_owned()],
                &["a.B", "a.C"],
            ),
            (
                |request| {
                    request.service = vec!["a".to_owned(), "x.D".to_owned()];
                    request.version = "1.0.0".to_owned();
                },
                &["a.C"],
            ),
            (
                |request| request.group = DEFAULT_GROUP.to_owned(),
                &["a.B", "a.C", "x.D"],
            ),
        ];
        for (ask, want) in asks {
            let document = asked(ask).expect("a document");
            let document: Value = serde_json::from_str(&document).expect("JSON");
            let paths = document["paths"].as_object().expect("paths").keys();
            let want: Vec<_> = want.iter().map(|name| format!("/{name}/get")).collect();
            assert_eq!(paths.collect::<Vec<_>>(), want.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_nothing_fits_is_an_empty_text() {
        for ask in [
            |request: &mut OpenApiRequest| request.group = "nobody".to_owned(),
            |request: &mut OpenApiRequest| request.tag = vec!["a".to_owned()],
        ] {
            assert_eq!(asked(ask), Ok(String::new()));
        }
    }

    #[test]
    fn it_is_written_as_it_is_asked_for() {
        let format = |format: OpenApiFormat| {
            move |request: &mut OpenApiRequest| request.format = Some(format.into())
        };
        let compact = asked(|_| {}).expect("a document");
        assert!(compact.starts_with(r#"{"openapi":"3.0.1","#), "{compact}");
        let pretty = asked(|request| request.pretty = Some(true)).expect("a document");
        assert!(pretty.starts_with("{\n  \"openapi\""), "{pretty}");
        let yaml = asked(format(OpenApiFormat::Yaml)).expect("a document");
        assert!(yaml.starts_with("openapi: \"3.0.1\"\n"), "{yaml}");
        let newer = asked(|request| request.openapi = "3.1.0".to_owned()).expect("a document");
        assert!(newer.starts_with(r#"{"openapi":"3.1.0","#), "{newer}");
        let refused = asked(format(OpenApiFormat::Proto)).expect_err("refused");
        assert!(refused.contains("PROTO"), "{refused}");
        let refused = asked(|request| request.format = Some(7)).expect_err("refused");
        assert!(refused.contains('7'), "{refused}");
        let refused = asked(|request| request.openapi = "2.0".to_owned()).expect_err("refused");
        assert!(
            refused.contains("2.0") && refused.contains("3.1.0"),
            "{refused}"
        );
    }

    /// Whether JSON is what `schema` of `document` says.
    fn fits(json: &Value, schema: &Value, document: &Value) -> bool {
        let referred = schema["$ref"].as_str();
        let schema = referred.map_or(schema, |at| {
            document.pointer(&at[1..]).expect("within the document")
        });
        match schema["type"].as_str().expect("a type") {
            "array" => {
                let items = json.as_array();
                items.is_some_and(|items| {
                    items
                        .iter()
                        .all(|item| fits(item, &schema["items"], document))
                })
            }
            "boolean" => json.is_boolean(),
            "integer" => json.is_i64(),
            "object" => json.as_object().is_some_and(|map| {
                map.iter().all(|(key, value)| {
                    let named = schema["properties"].get(key);
                    let schema = named.or_else(|| schema.get("additionalProperties"));
                    schema.is_some_and(|schema| fits(value, schema, document))
                })
            }),
            "string" => match schema["enum"].as_array() {
                Some(names) => names.contains(json),
                None => json.is_string(),
            },
            other => panic!("{other}"),
        }
    }

    #[test]
    fn messages_are_described_as_they_are_written() {
        let service = Documented {
            key: "x.Y".parse().expect("a key"),
            group: DEFAULT_GROUP.to_owned(),
            descriptor: Arc::clone(&METADATA_SERVICE_V2_DESCRIPTOR),
        };
        let api = OpenApi::new(Settings::default(), vec![service]);
        let document = document(&api, OpenApiRequest::default()).expect("a document");
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let service = ServiceInfoV2 {
            name: "a.B".to_owned(),
            port: 7,
            params: [("k".to_owned(), "v".to_owned())].into(),
            ..ServiceInfoV2::default()
        };
        let info = MetadataInfoV2 {
            app: "demo".to_owned(),
            services: [("a.B:tri".to_owned(), service)].into(),
            ..MetadataInfoV2::default()
        };
        let request = OpenApiRequest {
            tag: vec!["a.B".to_owned()],
            format: Some(OpenApiFormat::Yaml.into()),
            pretty: Some(true),
            ..OpenApiRequest::default()
        };
        for (json, method, part) in [
            (
                serde_json::to_value(info),
                "GetMetadataInfo",
                "responses/200",
            ),
            (
                serde_json::to_value(request),
                "GetOpenAPIInfo",
                "requestBody",
            ),
        ] {
            let json = json.expect("JSON");
            let at = format!("/paths/~1x.Y~1{method}/post/{part}/content/application~1json/schema");
            let schema = document.pointer(&at).expect("a schema");
            assert!(
                fits(&json, schema, &document),
                "{json} is not {schema} of {document}"
            );
            assert!(
                !fits(&serde_json::json!({"nope": 1}), schema, &document),
                "{schema}"
            );
        }
    }
}
