//! Documents, and the pages that show them, by the paths of dubbo-go (`docs/spec/config.md` §1.9).

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::http::{HttpBody, HttpHandler};
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE},
};
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::{DEFAULT_GROUP, Format, OpenApi, Version, ui};

/// The documents of a server, one for each group, and the pages that show them.
#[derive(Debug)]
pub struct OpenApiPages {
    path: String,
    groups: BTreeMap<String, Written>,
    swagger_ui: Bytes,
    /// Of each group.
    redoc: BTreeMap<String, Bytes>,
}

#[derive(Debug)]
struct Written {
    json: Bytes,
    yaml: Bytes,
}

impl OpenApiPages {
    /// Writes all of them, once.
    pub fn new(api: &OpenApi) -> Self {
        let settings = api.settings();
        let groups = api.groups();
        let written = groups.iter().map(|group| {
            let document = api.document_of_group(group, Version::default());
            let written = Written {
                json: document.write(Format::PrettyJson).into(),
                yaml: document.write(Format::Yaml).into(),
            };
            ((*group).to_owned(), written)
        });
        let redoc = groups
            .iter()
            .map(|group| ((*group).to_owned(), ui::redoc(settings, group).into()));
        Self {
            path: settings.path.clone(),
            groups: written.collect(),
            swagger_ui: ui::swagger(settings, &groups).into(),
            redoc: redoc.collect(),
        }
    }

    /// The document that `name` names, with or without what it is to be written in behind a point.
    fn document(&self, name: &str) -> Page {
        let name = percent_decode_str(name).decode_utf8_lossy();
        let (group, is_yaml) = match name.rsplit_once('.') {
            _ if self.groups.contains_key(&*name) => (&*name, false),
            Some((group, "json")) => (group, false),
            Some((group, "yaml" | "yml")) => (group, true),
            _ => (&*name, false),
        };
        match self.groups.get(group) {
            Some(written) if is_yaml => found(YAML, &written.yaml),
            Some(written) => found(JSON, &written.json),
            None => self.no_group(group),
        }
    }

    fn redoc(&self, query: Option<&str>) -> Page {
        let asked = query
            .into_iter()
            .flat_map(|query| query.split('&'))
            .find_map(|pair| pair.strip_prefix("group="));
        let group = percent_decode_str(asked.unwrap_or(DEFAULT_GROUP)).decode_utf8_lossy();
        match self.redoc.get(&*group) {
            Some(page) => found(HTML, page),
            None => self.no_group(&group),
        }
    }

    fn no_group(&self, group: &str) -> Page {
        let groups: Vec<_> = self
            .groups
            .keys()
            .map(|group| format!("`{group}`"))
            .collect();
        missing(&format!(
            "there are no documents `{group:.128}`; there are {}",
            groups.join(", ")
        ))
    }
}

impl OpenApiPages {
    fn page(&self, uri: &Uri) -> Page {
        let below = uri.path().strip_prefix(&*self.path).unwrap_or_default();
        let parts: Vec<_> = below.split('/').skip(1).collect();
        match parts[..] {
            [] | ["" | "api-docs"] | ["api-docs", ""] => self.document(DEFAULT_GROUP),
            ["openapi.json"] => self.document("default.json"),
            ["openapi.yaml" | "openapi.yml"] => self.document("default.yaml"),
            ["swagger-ui"] | ["swagger-ui", "" | "index" | "index.html"] => {
                found(HTML, &self.swagger_ui)
            }
            ["redoc"] | ["redoc", "" | "index" | "index.html"] => self.redoc(uri.query()),
            ["api-docs", group] | [group] => self.document(group),
            _ => missing(
                "there is no such page; try /openapi.json, /openapi.yaml, /swagger-ui or /redoc",
            ),
        }
    }
}

#[async_trait]
impl HttpHandler for OpenApiPages {
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        answer(request.method(), || self.page(request.uri()))
    }
}

/// What is answered where OpenAPI is switched off, as dubbo-go and Dubbo Java do.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPages;

#[async_trait]
impl HttpHandler for NoPages {
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        answer(request.method(), || missing(NOT_AVAILABLE))
    }
}

/// One document.
struct Page {
    status: StatusCode,
    content_type: &'static str,
    body: Bytes,
}

fn answer(method: &Method, page: impl FnOnce() -> Page) -> Response<HttpBody> {
    let mut headers = HeaderMap::with_capacity(3);
    let page = if method == Method::GET || method == Method::HEAD {
        page()
    } else {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        let why = format!("{method} is not served here, only GET and HEAD");
        refused(StatusCode::METHOD_NOT_ALLOWED, &why)
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(page.body.len()));
    let body = if method == Method::HEAD {
        HttpBody::empty()
    } else {
        page.body.into()
    };
    let mut response = Response::new(body);
    *response.status_mut() = page.status;
    *response.headers_mut() = headers;
    response
}

fn found(content_type: &'static str, body: &Bytes) -> Page {
    Page {
        status: StatusCode::OK,
        content_type,
        body: body.clone(),
    }
}

fn missing(why: &str) -> Page {
    refused(StatusCode::NOT_FOUND, why)
}

fn refused(status: StatusCode, why: &str) -> Page {
    let body = json!({"message": why, "status": status.as_str()});
    Page {
        status,
        content_type: JSON,
        body: body.to_string().into(),
    }
}

/// What those hear who ask for a document where OpenAPI is switched off.
pub const NOT_AVAILABLE: &str = "OpenAPI is not available";

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
