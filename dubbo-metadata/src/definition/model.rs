//! The definition of a service.

use std::collections::BTreeMap;

use bytes::Bytes;
use dubbo_core::{service::ServiceDescriptor, url::Url};
use serde::{Deserialize, Deserializer, Serialize};

use super::{java, parameters, proto};
use crate::error::MetadataError;

/// What a service is, as Dubbo Java's `FullServiceDefinition` has it.
///
/// Types are called what Java's source calls them; those of a proto file as its Java options say, and by their full names
/// where it has none. Methods have the names that they are called by on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ServiceDefinition {
    /// Java's annotations of the interface.
    #[serde(deserialize_with = "nullable")]
    pub annotations: Vec<String>,
    /// The interface.
    #[serde(deserialize_with = "nullable")]
    pub canonical_name: String,
    /// Where the interface came from: in Java the place of its classes, here the framework with its version.
    #[serde(deserialize_with = "nullable")]
    pub code_source: String,
    /// The methods, in the order of their definition.
    #[serde(deserialize_with = "nullable")]
    pub methods: Vec<MethodDefinition>,
    /// The parameters of the URL that the service was exported at.
    #[serde(deserialize_with = "nullable")]
    pub parameters: BTreeMap<String, String>,
    /// All types of the methods and what these consist of, in the order of their names.
    #[serde(deserialize_with = "nullable")]
    pub types: Vec<TypeDefinition>,
    /// `{canonicalName}@{codeSource}`.
    #[serde(deserialize_with = "nullable")]
    pub unique_id: String,
}

/// A method.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MethodDefinition {
    /// Java's annotations of it.
    #[serde(deserialize_with = "nullable")]
    pub annotations: Vec<String>,
    /// What it is called.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// The types of its parameters.
    #[serde(deserialize_with = "nullable")]
    pub parameter_types: Vec<String>,
    /// Dubbo Java leaves it empty.
    #[serde(deserialize_with = "nullable")]
    pub parameters: Vec<TypeDefinition>,
    /// The type of its result.
    #[serde(deserialize_with = "nullable")]
    pub return_type: String,
}

/// A type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeDefinition {
    /// The constants of an enum.
    #[serde(deserialize_with = "nullable")]
    pub enums: Vec<String>,
    /// The type of an array's elements, or the type arguments of a collection.
    #[serde(deserialize_with = "nullable")]
    pub items: Vec<String>,
    /// The fields of a class, with their types.
    #[serde(deserialize_with = "nullable")]
    pub properties: BTreeMap<String, String>,
    /// What it is called.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub name: String,
}

impl ServiceDefinition {
    /// What `descriptor` says of a service. `code_source` tells where that came from.
    pub fn new(descriptor: &ServiceDescriptor, code_source: impl Into<String>) -> Self {
        let (methods, types) = if descriptor.is_java() {
            java::describe(descriptor)
        } else {
            proto::describe(descriptor)
        };
        let canonical_name = descriptor.interface().to_owned();
        let code_source = code_source.into();
        Self {
            annotations: Vec::new(),
            unique_id: format!("{canonical_name}@{code_source}"),
            canonical_name,
            code_source,
            methods,
            parameters: BTreeMap::new(),
            types,
        }
    }

    /// Adds the parameters of `provider`, except for the paths of files, for what looks like a secret, and for those called
    /// one of `secrets`.
    pub fn with_parameters_of<S: AsRef<str>>(mut self, provider: &Url, secrets: &[S]) -> Self {
        self.parameters = parameters::told(provider, secrets);
        self
    }

    /// As it is stored.
    pub fn to_json(&self) -> Bytes {
        json(self)
    }

    /// Reads what any Dubbo has stored: what is missing or null is empty, and what is unknown is left out.
    ///
    /// # Errors
    ///
    /// It is no JSON, or something in it has another shape.
    pub fn from_json(text: &[u8]) -> Result<Self, MetadataError> {
        serde_json::from_slice(text)
            .map_err(|error| MetadataError::json("a service definition", &error))
    }
}

impl TypeDefinition {
    /// A type of which only the name is told.
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

pub(super) fn json(value: &impl Serialize) -> Bytes {
    let json = serde_json::to_vec(value);
    json.expect("invariant: texts, lists and maps of texts are JSON")
        .into()
}

/// Java leaves nulls out or not, as its JSON library likes.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The observer that a stream is in Java.
pub(super) const STREAM_OBSERVER: &str = "org.apache.dubbo.common.stream.StreamObserver";
