//! Methods of Java interfaces, by `$invoke`: arguments go and results come as JSON.

use dubbo::java::GenericClient;
use serde_json::Value;

use super::Beside;
use crate::fail::{Class, Failure};

/// A method of a Java interface.
pub(crate) struct JavaMethod {
    client: GenericClient,
    service: String,
    method: String,
    /// The types of the parameters of each method of this name, if they are known.
    overloads: Option<Vec<Vec<String>>>,
}

impl JavaMethod {
    pub(super) fn new(
        client: GenericClient,
        service: &str,
        method: &str,
        overloads: Option<Vec<Vec<String>>>,
    ) -> Self {
        Self {
            client,
            service: service.to_owned(),
            method: method.to_owned(),
            overloads,
        }
    }

    /// The arguments in `text` as a JSON array: what is no array is the only one.
    pub(super) fn input(&self, text: &str) -> Result<String, Failure> {
        let unusable = |why: String| {
            let name = format!("{}/{}", self.service, self.method);
            Failure::usage(format!("the input is of no use for {name}: {why}"))
        };
        let args = match text.trim() {
            "" => Vec::new(),
            text => match serde_json::from_str(text) {
                Ok(Value::Array(args)) => args,
                Ok(one) => vec![one],
                Err(error) => return Err(unusable(format!("it is no JSON: {error}"))),
            },
        };
        if let Some(overloads) = &self.overloads
            && !overloads.iter().any(|types| types.len() == args.len())
        {
            let known = overloads
                .iter()
                .map(|types| format!("({})", types.join(", ")));
            let known = known.collect::<Vec<_>>();
            return Err(match &known[..] {
                [] => unusable("the interface has no such method".to_owned())
                    .advise("`dubbo describe` shows its methods"),
                known => unusable(format!("it has {} arguments", args.len()))
                    .advise(format!("it takes {}", known.join(" or "))),
            });
        }
        Ok(Value::Array(args).to_string())
    }

    pub(super) async fn call(
        &self,
        args: &str,
        attachments: &[(String, String)],
        mut each: impl FnMut(Value) -> Result<(), Failure>,
    ) -> Result<Beside, Failure> {
        let types = self.types(args);
        let mut call = self
            .client
            .invoke_json(&self.method, types.as_deref(), args)?;
        for (name, value) in attachments {
            call = call.attach(name.clone(), value.clone());
        }
        let (json, headers, trailers) = call.await?.into_parts();
        let value = serde_json::from_str(&json).map_err(|error| {
            Failure::new(Class::Refused, format!("the answer is no JSON: {error}"))
        })?;
        each(value)?;
        Ok(Beside { headers, trailers })
    }

    /// The types of the one method that takes as many arguments; nothing where there may be several, which a provider tells
    /// apart, or says that it cannot.
    fn types(&self, args: &str) -> Option<Vec<&str>> {
        let args: Vec<Value> = serde_json::from_str(args).ok()?;
        let overloads = self.overloads.as_ref()?.iter();
        let mut fitting = overloads.filter(|types| types.len() == args.len());
        let types = fitting.next()?;
        let is_only = fitting.next().is_none();
        is_only.then(|| types.iter().map(String::as_str).collect())
    }
}
