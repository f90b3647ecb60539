//! Pages that show documents. Their programs come from a content delivery network that the settings name.

use std::fmt::Write as _;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::Settings;

/// Swagger UI for the documents of `groups`.
pub(super) fn swagger(settings: &Settings, groups: &[&str]) -> String {
    let urls: Vec<_> = groups
        .iter()
        .map(|group| json!({"name": group, "url": address(settings, group)}))
        .collect();
    let mut config = Map::new();
    config.insert("urls".to_owned(), urls.into());
    config.insert("dom_id".to_owned(), "#swagger-ui".into());
    config.insert("layout".to_owned(), "StandaloneLayout".into());
    config.insert("displayRequestDuration".to_owned(), true.into());
    for (name, text) in &settings.swagger_ui_settings {
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(&**text));
        config.insert(name.clone(), value);
    }
    let config = script(&Value::from(config));
    let title = html(&settings.title);
    let cdn = html(&settings.swagger_ui);
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="stylesheet" href="{cdn}/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{cdn}/swagger-ui-bundle.js"></script>
<script src="{cdn}/swagger-ui-standalone-preset.js"></script>
<script>
const presets = [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset];
SwaggerUIBundle({{presets, ...{config}}});
</script>
</body>
</html>
"#
    )
}

/// Redoc for the document of `group`.
pub(super) fn redoc(settings: &Settings, group: &str) -> String {
    let title = html(&settings.title);
    let cdn = html(&settings.redoc);
    let document = html(&address(settings, group));
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
</head>
<body>
<redoc spec-url="{document}"></redoc>
<script src="{cdn}/redoc.standalone.js"></script>
</body>
</html>
"#
    )
}

fn address(settings: &Settings, group: &str) -> String {
    let group = utf8_percent_encode(group, NON_ALPHANUMERIC);
    format!("{}/api-docs/{group}.json", settings.path)
}

/// `value` where a script has a value: nothing in it can end the script.
fn script(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' | '\'' => {
                write!(escaped, "&#{};", u32::from(c))
                    .expect("invariant: writing into a text does not fail");
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_settings_becomes_markup_or_ends_the_script() {
        let mut settings = Settings {
            title: "</title><script>alert('1')</script>".to_owned(),
            swagger_ui: "https://cdn.example/\"><script>".to_owned(),
            ..Settings::default()
        };
        settings.redoc.clone_from(&settings.swagger_ui);
        for (key, value) in [
            ("docExpansion", "none"),
            ("filter", "true"),
            ("x", "</script>"),
        ] {
            let key = format!("{}{key}", Settings::SWAGGER_UI_SETTINGS);
            settings.set(&key, value).expect("known");
        }
        let swagger = swagger(&settings, &["default", "</script>"]);
        assert!(swagger.contains(r#""docExpansion":"none""#), "{swagger}");
        assert!(swagger.contains(r#""filter":true"#), "{swagger}");
        assert!(
            swagger.contains(r#""url":"/dubbo/openapi/api-docs/%3C%2Fscript%3E.json""#),
            "{swagger}"
        );
        assert_eq!(swagger.matches("<script").count(), 3, "{swagger}");
        assert_eq!(swagger.matches("</script>").count(), 3, "{swagger}");
        let redoc = redoc(&settings, "\"><script>");
        assert_eq!(redoc.matches("<script").count(), 1, "{redoc}");
        assert!(redoc.contains("/redoc.standalone.js"), "{redoc}");
    }
}
