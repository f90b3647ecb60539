//! What the parameter `mock` says.

use std::{borrow::Cow, fmt, sync::Arc};

use bytes::Bytes;
use dubbo_core::{
    cluster::{ClusterConfig, Mock},
    extension::BoxError,
    invocation::{Body, PayloadStream, Reply, RpcResult},
    payload::{Codec, Payload},
    service::{CallKind, MethodDescriptor},
    status::Status,
    url::Key,
};
use futures_util::stream;

/// The mock of one method (`docs/spec/cluster.md` §1.8).
pub(crate) struct MockRule {
    /// Whether the providers are not asked.
    pub(super) forced: bool,
    pub(super) substitute: Substitute,
}

/// What is in place of the providers.
pub(super) enum Substitute {
    Fixed(Fixed),
    Named(Arc<dyn Mock>),
}

/// One answer to all calls.
pub(super) enum Fixed {
    Return {
        payload: Option<Payload>,
        kind: CallKind,
    },
    Throw(Status),
}

impl Fixed {
    pub(super) fn answer(&self) -> RpcResult {
        match self {
            Self::Throw(status) => Err(status.clone()),
            Self::Return { payload, kind } if kind.streams_responses() => {
                let items = stream::iter(payload.clone().map(Ok));
                Ok(Reply::new(Body::Stream(PayloadStream::new(items))))
            }
            Self::Return { payload, .. } => {
                let nothing = || Payload::encoded(Codec::Protobuf, Bytes::new());
                let payload = payload.clone().unwrap_or_else(nothing);
                Ok(Reply::new(Body::Unary(payload)))
            }
        }
    }
}

impl MockRule {
    /// What the URL of `config` says for `method`; `None` when its calls are not mocked.
    ///
    /// # Errors
    ///
    /// There is no mock of the name that is said, or a value that the method cannot return.
    pub(crate) fn read(
        config: &ClusterConfig,
        method: &str,
    ) -> Result<Option<Arc<Self>>, BoxError> {
        let text = config.url.get_for(method, &MOCK)?;
        let text = text.trim();
        if OFF.iter().any(|off| text.eq_ignore_ascii_case(off)) {
            return Ok(None);
        }
        let (forced, what) = split(text);
        // Methods that the service does not know have no type: those of generic calls.
        let mut known = config.descriptor().methods().iter();
        let descriptor = known.rfind(|known| known.name == method);
        let substitute = if let Some(value) = after_word(what, "return") {
            let value = value.replace('`', "\"");
            let fixed = returned(value.trim(), descriptor)
                .map_err(|why| format!("`mock` of `{method}` is {text:?}: {why}"))?;
            Substitute::Fixed(fixed)
        } else if let Some(class) = after_word(what, "throw") {
            Substitute::Fixed(Fixed::Throw(thrown(class.trim())))
        } else {
            let own = format!("{}Mock", config.service.interface());
            let by_interface = DEFAULT.iter().any(|word| what.eq_ignore_ascii_case(word));
            let name = if by_interface { &own } else { what };
            Substitute::Named(config.extensions.create::<dyn Mock>(name, &config.url)?)
        };
        Ok(Some(Arc::new(Self { forced, substitute })))
    }
}

impl fmt::Debug for MockRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockRule")
            .field("forced", &self.forced)
            .finish_non_exhaustive()
    }
}

/// Whether the providers are not asked, and what is answered instead.
fn split(text: &str) -> (bool, &str) {
    for (word, forced) in [("force", true), ("fail", false)] {
        if text.eq_ignore_ascii_case(word) {
            return (forced, "default");
        }
        let head = text.get(..=word.len());
        if head.is_some_and(|head| {
            head.ends_with(':') && head[..word.len()].eq_ignore_ascii_case(word)
        }) {
            return (forced, text[word.len() + 1..].trim());
        }
    }
    (false, text)
}

/// What stands behind `word`, if `text` begins with it.
fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (head, rest) = (text.get(..word.len())?, &text[word.len()..]);
    let is_word = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_word && head.eq_ignore_ascii_case(word)).then_some(rest)
}

fn returned(value: &str, method: Option<&MethodDescriptor>) -> Result<Fixed, String> {
    let kind = method.map_or(CallKind::Unary, |method| method.kind);
    let is_message = method.is_some_and(|method| method.java.is_none());
    let payload = match value {
        "" | "null" | "empty" if is_message || kind.streams_responses() => None,
        "" | "null" => Some(Cow::Borrowed("null")),
        "empty" => Some(Cow::Borrowed(empty(method))),
        value => Some(json(value)?),
    };
    if is_message && payload.as_ref().is_some_and(|json| !json.starts_with('{')) {
        let why = "the method answers with a message of a proto file: it can return a JSON object, `null` or `empty`";
        return Err(why.to_owned());
    }
    let payload = payload.map(|json| Payload::encoded(Codec::Json, json.into_owned().into()));
    Ok(Fixed::Return { payload, kind })
}

/// The value as JSON. What is no JSON is a text, as in Dubbo Java.
fn json(value: &str) -> Result<Cow<'static, str>, String> {
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(value);
    let single = value.len() > 1 && value.starts_with('\'') && value.ends_with('\'');
    match parsed {
        Ok(_) => Ok(value.to_owned().into()),
        Err(error) if value.starts_with(['{', '[', '"']) => Err(format!("it is no JSON: {error}")),
        Err(_) => {
            let text = if single {
                &value[1..value.len() - 1]
            } else {
                value
            };
            Ok(serde_json::Value::from(text).to_string().into())
        }
    }
}

/// What a Java method returns that has nothing to return, as JSON.
fn empty(method: Option<&MethodDescriptor>) -> &'static str {
    let java_type = method.map_or("", |method| &method.output);
    let simple = java_type.rsplit('.').next().unwrap_or(java_type);
    match java_type {
        "boolean" | "java.lang.Boolean" => "false",
        "byte" | "short" | "int" | "long" | "float" | "double" | "java.lang.Byte"
        | "java.lang.Short" | "java.lang.Integer" | "java.lang.Long" | "java.lang.Float"
        | "java.lang.Double" => "0",
        "java.lang.String" => "\"\"",
        "" | "void" | "char" | "java.lang.Void" | "java.lang.Character" | "java.lang.Object" => {
            "null"
        }
        name if name.starts_with('[') => "[]",
        name if name.starts_with("java.util.") && simple.ends_with("Map") => "{}",
        name if name.starts_with("java.util.")
            && ["Collection", "Iterable", "List", "Set", "Queue", "Deque"]
                .iter()
                .any(|end| simple.ends_with(end)) =>
        {
            "[]"
        }
        // A bean: its fields are what null reads as.
        _ => "{}",
    }
}

/// `throw` is a failure of no known kind, `throw x.y.Z` an exception of the application.
fn thrown(class: &str) -> Status {
    const WHY: &str = "mocked exception for service degradation";
    if class.is_empty() {
        Status::unknown(WHY)
    } else {
        Status::business(format_args!("{class}: {WHY}"))
    }
}

const MOCK: Key<String> = Key {
    name: "mock",
    default: String::new,
};

const OFF: [&str; 5] = ["", "false", "0", "null", "N/A"];

/// The mock is called like the interface.
const DEFAULT: [&str; 2] = ["default", "true"];

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use dubbo_core::{
        cluster::MethodConfig,
        extension::Extensions,
        invocation::Invocation,
        service::{ServiceDescriptor, ServiceKey},
        status::{Code, Origin},
        url::Url,
    };

    use super::*;
    use crate::loadbalance::Random;

    /// The rule of a method that returns `output` in Java, or a message if that is empty.
    fn rule(mock: &str, output: &'static str) -> Result<Option<Arc<MockRule>>, String> {
        let method = if output.is_empty() {
            MethodDescriptor::new("get", CallKind::Unary)
        } else {
            MethodDescriptor::java("get", CallKind::Unary, ["int"], output)
        };
        let descriptor = Arc::new(ServiceDescriptor::new("a.B", vec![method]));
        let options = MethodConfig {
            timeout: None,
            retries: None,
            sticky: false,
            load_balance: Arc::new(Random::new()),
        };
        let url = Url::new("consumer", "h").with_param("mock", mock);
        let config = ClusterConfig::new(
            ServiceKey::new("a.B"),
            &descriptor,
            url,
            options,
            &HashMap::new(),
        );
        let mut extensions = Extensions::none();
        for name in ["a.BMock", "x.Other"] {
            extensions.register::<dyn Mock>(name, move |_| {
                Ok(Arc::new(move |_: Invocation, _: Option<Status>| async move {
                    Err(Status::aborted(name))
                }))
            });
        }
        MockRule::read(&config.with_extensions(extensions), "get")
            .map_err(|error| error.to_string())
    }

    /// What the payload of a fixed answer looks like.
    fn returned_by(mock: &str, output: &'static str) -> Result<String, String> {
        let rule = rule(mock, output)?.expect("it is mocked");
        let Substitute::Fixed(fixed) = &rule.substitute else {
            return Err("a named one".to_owned());
        };
        let reply = fixed.answer().map_err(|status| format!("{status:?}"))?;
        let Body::Unary(payload) = reply.body else {
            return Err("a stream".to_owned());
        };
        let mut text = bytes::BytesMut::new();
        if payload.encode(Codec::Json, &mut text).is_ok() {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        Ok(format!("{payload:?}"))
    }

    #[test]
    fn words_for_off_and_for_when_are_those_of_dubbo_java() {
        for off in ["", " ", "false", "False", "0", "null", "N/A", "n/a"] {
            assert!(rule(off, "").expect("valid").is_none(), "{off:?}");
        }
        for (text, forced) in [
            ("force:return null", true),
            ("FORCE: return null", true),
            ("fail:return null", false),
            ("return null", false),
            ("return", false),
            ("force", true),
            ("fail", false),
            ("true", false),
            ("default", false),
            ("x.Other", false),
            ("force:x.Other", true),
        ] {
            let rule = rule(text, "").expect(text).expect("it is mocked");
            assert_eq!(rule.forced, forced, "{text}");
        }
    }

    #[tokio::test]
    async fn a_mock_in_code_is_called_like_the_interface_or_as_it_is_said() {
        for (text, want) in [
            ("true", "a.BMock"),
            ("force", "a.BMock"),
            ("fail:default", "a.BMock"),
            ("x.other", "x.Other"),
        ] {
            let rule = rule(text, "").expect(text).expect("it is mocked");
            let Substitute::Named(mock) = &rule.substitute else {
                panic!("{text} is a named one");
            };
            let call = crate::testing::invocation();
            let status = mock.answer(call, None).await.expect_err("refuses");
            assert_eq!(status.message(), want, "{text}");
        }
        let error = rule("x.Unknown", "").expect_err("nobody is called so");
        assert_eq!(
            error,
            r#"no mock is called `x.Unknown`; linked: ["a.BMock", "x.Other"]"#
        );
    }

    #[test]
    fn what_is_returned_is_json_or_nothing() {
        for (mock, output, want) in [
            ("return", "int", "null"),
            ("return null", "java.lang.String", "null"),
            ("return empty", "java.lang.String", "\"\""),
            ("return empty", "int", "0"),
            ("return empty", "java.util.List", "[]"),
            ("return empty", "java.util.HashMap", "{}"),
            ("return empty", "[I", "[]"),
            ("return empty", "void", "null"),
            ("return empty", "com.x.User", "{}"),
            ("return true", "boolean", "true"),
            ("return 1.5", "double", "1.5"),
            ("return \"a b\"", "java.lang.String", "\"a b\""),
            ("return `a`", "java.lang.String", "\"a\""),
            ("return 'a\"b'", "java.lang.String", "\"a\\\"b\""),
            ("return plain words", "java.lang.String", "\"plain words\""),
            ("return {`id`: 7}", "com.x.User", "{\"id\": 7}"),
            ("return [1, 2]", "java.util.List", "[1, 2]"),
            ("return {\"name\": \"x\"}", "", "{\"name\": \"x\"}"),
            ("return null", "", "0 bytes of protobuf"),
            ("return empty", "", "0 bytes of protobuf"),
        ] {
            assert_eq!(
                returned_by(mock, output).as_deref(),
                Ok(want),
                "{mock} as {output}"
            );
        }
        for (mock, output, why) in [
            ("return {broken", "com.x.User", "it is no JSON"),
            ("return 7", "", "it can return a JSON object"),
            ("return words", "", "it can return a JSON object"),
        ] {
            let error = returned_by(mock, output).expect_err(mock);
            assert!(
                error.contains(why) && error.contains("`mock` of `get`"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_class_that_is_thrown_is_the_applications_word() {
        for (mock, code, origin, text) in [
            (
                "throw",
                Code::Unknown,
                Origin::Framework,
                "mocked exception for service degradation",
            ),
            (
                "force: throw com.x.SoldOut",
                Code::Business,
                Origin::Business,
                "com.x.SoldOut: mocked exception for service degradation",
            ),
        ] {
            let rule = rule(mock, "int").expect(mock).expect("it is mocked");
            let Substitute::Fixed(Fixed::Throw(status)) = &rule.substitute else {
                panic!("{mock} throws");
            };
            let got = (status.code(), status.origin(), status.message());
            assert_eq!(got, (code, origin, text));
        }
    }
}
