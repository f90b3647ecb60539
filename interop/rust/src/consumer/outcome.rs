//! What a case came to, and how it is printed.

use std::{fmt, time::Duration};

use dubbo::{Status, hessian2::java::Throwable, java};
use prost::Message as _;
use serde_json::{Value, json};

use crate::contract::FailDetail;

/// What the calls of a case gave, and what ended them.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) got: Value,
    pub(super) fault: Option<Fault>,
}

/// An error: with a code if it is the framework's or a status, with a class if it is an exception of the provider.
#[derive(Debug)]
pub(super) struct Fault {
    code: Option<u32>,
    class: Option<String>,
    message: String,
    details: Vec<Value>,
    cause: Option<Box<Self>>,
}

/// The line of a case.
#[derive(Debug)]
pub struct Report(Value);

impl<T: Into<Value>> From<Result<T, Fault>> for Outcome {
    fn from(result: Result<T, Fault>) -> Self {
        match result {
            Ok(got) => Self {
                got: got.into(),
                fault: None,
            },
            Err(fault) => Self {
                got: Value::Null,
                fault: Some(fault),
            },
        }
    }
}

impl Fault {
    /// One that is none of a call.
    pub(super) fn local(error: impl fmt::Display) -> Self {
        Self {
            code: None,
            class: None,
            message: error.to_string(),
            details: Vec::new(),
            cause: None,
        }
    }

    /// The error as JSON.
    pub(super) fn to_json(&self) -> Value {
        let mut json = json!({"message": self.message});
        if let Some(code) = self.code {
            json["code"] = code.into();
        }
        if let Some(class) = &self.class {
            json["class"] = class.as_str().into();
        }
        if let Some(cause) = &self.cause {
            json["cause"] = cause.to_json();
        }
        if !self.details.is_empty() {
            json["details"] = self.details.clone().into();
        }
        json
    }
}

impl From<Status> for Fault {
    fn from(status: Status) -> Self {
        if let Some(thrown) = java::thrown(&status)
            && thrown.class() != "org.apache.dubbo.rpc.RpcException"
        {
            return thrown.into();
        }
        let details = status.details().iter().map(|detail| {
            let name = detail.type_url.rsplit('/').next().unwrap_or_default();
            let value = match FailDetail::decode(detail.value.clone()) {
                Ok(message) if name == "dubbo.interop.v1.FailDetail" => json!(message),
                _ => Value::Null,
            };
            json!({"type": name, "value": value})
        });
        Self {
            code: Some(status.code().number()),
            class: None,
            details: details.collect(),
            message: status.message().to_owned(),
            cause: None,
        }
    }
}

impl From<&Throwable> for Fault {
    fn from(thrown: &Throwable) -> Self {
        Self {
            code: None,
            class: Some(thrown.class().to_owned()),
            message: thrown.message().unwrap_or_default().to_owned(),
            details: Vec::new(),
            cause: thrown.cause().map(|cause| Box::new(cause.into())),
        }
    }
}

impl From<dubbo::Error> for Fault {
    fn from(error: dubbo::Error) -> Self {
        Self::local(error)
    }
}

impl Report {
    pub(super) fn new(case: &str, outcome: Outcome, took: Duration) -> Self {
        let Outcome { got, fault } = outcome;
        let mut line = json!({
            "case": case,
            "millis": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        line["got"] = got;
        if let Some(fault) = fault {
            line["error"] = fault.to_json();
        }
        Self(line)
    }

    /// Prints it.
    pub fn print(&self) {
        println!("{}", self.0);
    }
}
