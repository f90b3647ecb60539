//! A method that can be called: what it takes, how it is found, and the call.

mod definition;
mod java;
mod proto;
mod raw;

use std::path::PathBuf;

use dubbo::{AttachmentValue, Attachments, Instance};
use prost_reflect::DescriptorPool;
use serde_json::{Map, Value};

pub(crate) use self::definition::definition_of;
use self::{java::JavaMethod, proto::ProtoMethod};
use crate::{
    fail::Failure,
    reach::{Reach, Target},
    schema::{self, Reflection},
};

/// What goes along with a call.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Attached {
    /// Adds an attachment; may be repeated
    #[arg(short = 'H', long = "attachment", value_name = "NAME:VALUE", value_parser = attachment)]
    pub(crate) attachments: Vec<(String, String)>,
}

/// What is said about a call besides whom it is for.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CallOptions {
    #[command(flatten)]
    attached: Attached,
    /// How often a call that failed is tried again
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: i32,
    /// Takes the messages of the service from this set of descriptors, as `protoc --include_imports --descriptor_set_out`
    /// writes it, in place of asking the server
    #[arg(long, value_name = "FILE")]
    descriptor: Option<PathBuf>,
    /// Calls a method of a Java interface with parameters of these types, such as `java.lang.String,int`
    #[arg(long, value_name = "TYPES", conflicts_with = "descriptor")]
    types: Option<String>,
    /// Prints fields that have their zero value, too
    #[arg(long)]
    defaults: bool,
}

/// A method that can be called.
pub(crate) enum Callee {
    /// A method of a proto file.
    Proto(ProtoMethod),
    /// A method of a Java interface.
    Java(JavaMethod),
}

/// What a call sends, checked and ready to be sent many times.
pub(crate) enum Input {
    Proto(Vec<bytes::Bytes>),
    Java(String),
}

/// What came besides the messages.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    pub(crate) headers: Attachments,
    pub(crate) trailers: Attachments,
}

impl Callee {
    /// Finds out what `method` of `service` takes, and refers to it.
    ///
    /// A service is that of a proto file if a set of descriptors or the server's reflection knows it, else it is a Java
    /// interface. Who is found by registries only is asked at the first of its addresses.
    pub(crate) async fn find(
        instance: &Instance,
        reach: &Reach,
        target: Option<&Target>,
        (service, method): (&str, &str),
        options: &CallOptions,
    ) -> Result<Self, Failure> {
        let pool = options.pool(instance, reach, target, service).await?;
        let reference = reach.reference(target).retries(options.retries);
        let Some(pool) = pool else {
            let types = options.types.as_deref().map(types);
            let types = match types {
                Some(types) => Some(types),
                None if target.is_none() => {
                    let definition = definition_of(instance, reach, service).await?;
                    definition.map(|definition| definition.overloads(method))
                }
                None => None,
            };
            let client = instance.generic_with(service, reference).await?;
            return Ok(Self::Java(JavaMethod::new(client, service, method, types)));
        };
        let described = schema::service(&pool, service)?;
        let method = schema::method(&described, method)?;
        let stub = instance
            .refer_described(&schema::described(&described), reference)
            .await?;
        let defaults = options.defaults;
        Ok(Self::Proto(ProtoMethod::new(stub, method, defaults)))
    }

    /// Checks the messages of `text`, JSON values one after another.
    pub(crate) fn input(&self, text: &str) -> Result<Input, Failure> {
        match self {
            Self::Java(method) => method.input(text).map(Input::Java),
            Self::Proto(method) => method.input(text).map(Input::Proto),
        }
    }

    /// Calls the method, and gives `each` message of the answer, as JSON text, as it comes.
    pub(crate) async fn call(
        &self,
        input: &Input,
        options: &CallOptions,
        each: impl FnMut(Value) -> Result<(), Failure>,
    ) -> Result<Beside, Failure> {
        match (self, input) {
            (Self::Java(method), Input::Java(args)) => {
                method.call(args, &options.attached.attachments, each).await
            }
            (Self::Proto(method), Input::Proto(messages)) => {
                method
                    .call(messages, &options.attached.attachments, each)
                    .await
            }
            _ => Err(Failure::usage("the input is that of another method")),
        }
    }

    /// Whether the answer is a stream.
    pub(crate) fn streams(&self) -> bool {
        match self {
            Self::Java(_) => false,
            Self::Proto(method) => method.streams(),
        }
    }
}

impl CallOptions {
    /// All that is known of the messages of `service`; nothing for a Java interface.
    async fn pool(
        &self,
        instance: &Instance,
        reach: &Reach,
        target: Option<&Target>,
        service: &str,
    ) -> Result<Option<DescriptorPool>, Failure> {
        if self.types.is_some() {
            return Ok(None);
        }
        if let Some(file) = &self.descriptor {
            return schema::of_file(file).map(Some);
        }
        let found;
        let asked = if target.is_some() {
            target
        } else {
            found = provider(instance, reach, service).await?;
            Some(&found)
        };
        let Some(asked) = asked.filter(|asked| asked.is_triple()) else {
            return Ok(None);
        };
        match Reflection::of(instance, reach, asked).await? {
            Some(reflection) => reflection.schema(service).await,
            None => Ok(None),
        }
    }
}

/// One of the providers of `interface` that registries list, of those that speak Triple if there are some.
pub(crate) async fn provider(
    instance: &Instance,
    reach: &Reach,
    interface: &str,
) -> Result<Target, Failure> {
    let key = reach.service_key(interface);
    let mut reasons = Vec::new();
    let mut targets = Vec::new();
    for listed in instance.listed(&key).await? {
        match listed.providers {
            Ok(providers) => targets.extend(providers.iter().map(Target::of_provider)),
            Err(error) => reasons.push(format!("{} by {}: {error}", listed.registry, listed.path)),
        }
    }
    targets.sort_by_key(|target| !target.is_triple());
    if let Some(target) = targets.into_iter().next() {
        return Ok(target);
    }
    let reasons = match &reasons[..] {
        [] => String::new(),
        reasons => format!(" ({})", reasons.join("; ")),
    };
    Err(
        Failure::unreachable(format!("no registry lists a provider of {key}{reasons}"))
            .advise(format!("`dubbo explain {key}` says why, step by step")),
    )
}

/// Attachments as an object; several values of one name are a list.
pub(crate) fn attachments_json(attachments: &Attachments) -> Value {
    let mut object = Map::new();
    for (name, value) in attachments.iter() {
        let value = match value {
            AttachmentValue::Text(text) => text.into_owned(),
            AttachmentValue::Binary(bytes) => format!("{} bytes", bytes.len()),
            _ => continue,
        };
        match object.get_mut(&*name) {
            None => drop(object.insert(name.into_owned(), value.into())),
            Some(Value::Array(values)) => values.push(value.into()),
            Some(one) => *one = Value::Array(vec![one.take(), value.into()]),
        }
    }
    Value::Object(object)
}

/// `service/method`, or `service.method` if it has no slash.
pub(crate) fn split_method(word: &str) -> Result<(&str, &str), Failure> {
    let split = word.split_once('/').or_else(|| word.rsplit_once('.'));
    match split {
        Some((service, method)) if !service.is_empty() && !method.is_empty() => {
            Ok((service, method))
        }
        _ => Err(Failure::usage(format!(
            "`{word}` does not say which method of which service"
        ))
        .advise("write `package.Service/Method`")),
    }
}

/// Reads `NAME:VALUE`.
fn attachment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| "write `NAME:VALUE`".to_owned())?;
    if name.trim().is_empty() {
        return Err("its name is empty".to_owned());
    }
    Ok((name.trim().to_owned(), value.trim_start().to_owned()))
}

fn types(text: &str) -> Vec<Vec<String>> {
    let names = text.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty()).map(str::to_owned);
    vec![names.collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_named_with_a_slash_or_a_dot() {
        for (word, want) in [
            ("greet.Greeter/Greet", Some(("greet.Greeter", "Greet"))),
            ("greet.Greeter.Greet", Some(("greet.Greeter", "Greet"))),
            ("Greeter/Greet", Some(("Greeter", "Greet"))),
            ("Greet", None),
            ("/Greet", None),
            ("greet.Greeter/", None),
            ("", None),
        ] {
            assert_eq!(split_method(word).ok(), want, "{word}");
        }
    }

    #[test]
    fn attachments_and_types_are_read() {
        let read = |text| attachment(text).ok();
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(read("tenant: a:b"), pair("tenant", "a:b"));
        assert_eq!(read("x:"), pair("x", ""));
        assert_eq!(read("x"), None);
        assert_eq!(read(":x"), None);
        assert_eq!(
            types(" java.lang.String, int"),
            [["java.lang.String", "int"]]
        );
        assert_eq!(types(""), [[""; 0]]);
    }
}
