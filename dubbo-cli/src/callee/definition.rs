//! What providers have written to a metadata report about their interfaces: service definitions.

use dubbo::Instance;
use serde_json::Value;

use crate::{fail::Failure, reach::Reach};

/// A service definition (`docs/spec/config.md` §6.3).
#[derive(Debug)]
pub(crate) struct Definition(Value);

impl Definition {
    /// The types of the parameters of each method called `method`.
    pub(crate) fn overloads(&self, method: &str) -> Vec<Vec<String>> {
        let methods = self.methods().filter(|one| one["name"] == method);
        methods
            .map(|method| texts(&method["parameterTypes"]))
            .collect()
    }

    /// As Java's source has it: the methods, then the types that have fields or constants.
    pub(crate) fn text(&self) -> String {
        let name = self.0["canonicalName"].as_str().unwrap_or_default();
        let methods = self.methods().map(|method| {
            let returns = method["returnType"].as_str().unwrap_or("void");
            let name = method["name"].as_str().unwrap_or_default();
            let parameters = texts(&method["parameterTypes"]).join(", ");
            format!("  {returns} {name}({parameters});\n")
        });
        let mut text = format!("interface {name} {{\n{}}}", methods.collect::<String>());
        for definition in self.0["types"].as_array().into_iter().flatten() {
            let name = definition["type"].as_str().unwrap_or_default();
            let constants = texts(&definition["enums"]);
            if !constants.is_empty() {
                text += &format!("\n\nenum {name} {{ {} }}", constants.join(", "));
            }
            let fields = definition["properties"].as_object().into_iter().flatten();
            let fields = fields.map(|(field, of)| {
                let of = of.as_str().or_else(|| of["type"].as_str());
                format!("  {} {field};\n", of.unwrap_or("?"))
            });
            let fields: String = fields.collect();
            if !fields.is_empty() {
                text += &format!("\n\nclass {name} {{\n{fields}}}");
            }
        }
        text
    }

    pub(crate) fn json(&self) -> &Value {
        &self.0
    }

    fn methods(&self) -> impl Iterator<Item = &Value> {
        self.0["methods"].as_array().into_iter().flatten()
    }
}

/// The definition of `interface` that any of its applications has written to any of the reports; nothing when none has.
pub(crate) async fn definition_of(
    instance: &Instance,
    reach: &Reach,
    interface: &str,
) -> Result<Option<Definition>, Failure> {
    let version = reach.service_version.as_deref().unwrap_or_default();
    let group = reach.group.as_deref().unwrap_or_default();
    for registry in instance.registries() {
        let Some(report) = registry.report else {
            continue;
        };
        let (mapping, _) = report.mapping(interface).await?;
        for application in mapping.applications() {
            let id = format!("{interface}:{version}:{group}:provider:{application}");
            let Some(bytes) = report.definition(&id).await? else {
                continue;
            };
            let value = serde_json::from_slice(&bytes).map_err(|error| {
                Failure::usage(format!(
                    "the definition `{id}` at {} is no JSON: {error}",
                    registry.address
                ))
            })?;
            return Ok(Some(Definition(value)));
        }
    }
    Ok(None)
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    let texts = items.filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_shown_as_java_has_it_whatever_is_missing_in_it() {
        let definition = Definition(json!({
            "canonicalName": "com.x.Users",
            "methods": [
                {"name": "find", "parameterTypes": ["java.lang.String"], "returnType": "com.x.User"},
                {"name": "find", "parameterTypes": ["int", "int"], "returnType": "com.x.User"},
                {"name": "ping"},
            ],
            "types": [
                {"type": "com.x.User", "properties": {"id": "int", "level": {"type": "com.x.Level"}}},
                {"type": "com.x.Level", "enums": ["A", "B"]},
                {"type": "int"},
                7,
            ],
        }));
        assert_eq!(
            definition.text(),
            "interface com.x.Users {\n  com.x.User find(java.lang.String);\n  com.x.User find(int, int);\n  void ping();\n}\
             \n\nclass com.x.User {\n  int id;\n  com.x.Level level;\n}\n\nenum com.x.Level { A, B }"
        );
        let overloads = definition.overloads("find");
        assert_eq!(overloads, [vec!["java.lang.String"], vec!["int", "int"]]);
        assert!(Definition(json!(null)).overloads("find").is_empty());
    }
}
