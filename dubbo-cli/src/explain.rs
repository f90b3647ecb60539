//! `dubbo explain`: why there is a provider or none.

use dubbo::{Explanation, Instance, Road, route};
use serde_json::{Value, json};

use crate::{
    admin::Admin,
    callee::Attached,
    console::Console,
    fail::{Class, Failure},
    reach::{self, Registries},
};

/// Explains step by step why a service has providers or none
///
/// With a registry, as a consumer with no options of its own would find them; with `--admin`, as the references of a running
/// process do. It ends with exit code 1 if nobody can be called.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The service, `[group/]interface[:version]`
    service: String,
    /// Explains for calls of this method, which rules may treat in another way
    #[arg(long, conflicts_with = "admin")]
    method: Option<String>,
    #[command(flatten)]
    attached: Attached,
    #[command(flatten)]
    registries: Registries,
    #[command(flatten)]
    admin: Admin,
}

impl Args {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        if self.admin.is_asked() {
            return self.ask(console).await;
        }
        let instance = self.registries.instance(None)?;
        let explained = self.explain(&instance).await;
        reach::end(instance).await;
        let explanation = explained?;
        console.show(|| to_json(&explanation), &explanation)?;
        if explanation.is_available() {
            return Ok(());
        }
        Err(nobody(&explanation.service.to_string()))
    }

    /// Has the process explain it, whose answer begins with how it ends.
    async fn ask(&self, console: &Console) -> Result<(), Failure> {
        let path = format!("/explain/{}", escaped(&self.service));
        let text = self.admin.get(&path, self.registries.timeout).await?;
        let text = text.trim_end();
        let Some(is_available) = verdict(text) else {
            let first = text.lines().next().unwrap_or_default();
            let failure = format!("{path} is answered with no explanation: {first}");
            return Err(Failure::new(Class::Refused, failure)
                .advise("it has to be an admin port of this framework, of about this release"));
        };
        console.show(|| json!({"available": is_available, "text": text}), text)?;
        if is_available {
            return Ok(());
        }
        Err(nobody(&self.service))
    }

    async fn explain(&self, instance: &Instance) -> Result<Explanation, Failure> {
        let key = &self.service;
        let Some(method) = &self.method else {
            return Ok(instance.explain(key).await?);
        };
        let (group, rest) = key.split_once('/').unwrap_or(("", key));
        let (interface, version) = rest.rsplit_once(':').unwrap_or((rest, ""));
        let mut request = route::Request::new(interface, method.clone());
        for (name, value) in [("group", group), ("version", version)] {
            if !value.is_empty() {
                request = request.consumer(name, value);
            }
        }
        for (name, value) in &self.attached.attachments {
            request = request.attachment(name.clone(), value.clone());
        }
        Ok(instance.explain_call(&request).await?)
    }
}

fn nobody(service: &str) -> Failure {
    Failure::no(format!("{service} {UNAVAILABLE}"))
}

/// What the text of an [`Explanation`] says in the end; nothing if it is none.
fn verdict(text: &str) -> Option<bool> {
    let (_service, verdict) = text.lines().next()?.split_once(' ')?;
    match verdict {
        AVAILABLE => Some(true),
        UNAVAILABLE => Some(false),
        _ => None,
    }
}

fn to_json(explanation: &Explanation) -> Value {
    let steps = |road: &Road| -> Vec<Value> {
        let steps = road.steps.iter();
        let steps = steps
            .map(|step| json!({"step": step.name, "evidence": step.evidence, "left": step.left}));
        steps.collect()
    };
    let roads = explanation.roads.iter().map(|road| {
        let emptied = road.emptied().map(|step| step.name);
        json!({"origin": road.origin, "steps": steps(road), "emptiedAt": emptied})
    });
    json!({
        "service": explanation.service.to_string(),
        "available": explanation.is_available(),
        "roads": roads.collect::<Vec<_>>(),
    })
}

/// A service key as the rest of a path. Its slash is one of the path, too.
fn escaped(key: &str) -> String {
    let mut escaped = String::new();
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'/' | b':' | b'$' => {
                escaped.push(byte.into());
            }
            other => escaped += &format!("%{other:02X}"),
        }
    }
    escaped
}

const AVAILABLE: &str = "can be called";
const UNAVAILABLE: &str = "has no provider that can be called";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_an_explanation_says_how_it_ends() {
        for (text, want) in [
            ("g/a.B:1 can be called\n  registry r", Some(true)),
            (
                "a.B has no provider that can be called\n  there is no reference to it",
                Some(false),
            ),
            ("a.B", None),
            ("", None),
            ("<html> can be called upon", None),
        ] {
            assert_eq!(verdict(text), want, "{text}");
        }
    }

    #[test]
    fn a_service_key_is_a_path() {
        assert_eq!(escaped("g/a.B$C:1.0"), "g/a.B$C:1.0");
        assert_eq!(escaped("a b?é"), "a%20b%3F%C3%A9");
    }
}
