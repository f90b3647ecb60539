//! What peers print: one JSON object per line.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a consumer says of a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Report {
    pub(super) case: String,
    /// What the calls of the case gave.
    pub(super) got: Value,
    /// What ended them, unless they ended well.
    pub(super) error: Option<Fault>,
    /// How long they took.
    pub(super) millis: u64,
}

/// An error as a consumer describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    /// The status code, where the framework or the provider gave one.
    pub(super) code: Option<u64>,
    /// The class, when the error is an exception of the provider.
    pub(super) class: Option<String>,
    pub(super) message: String,
    /// `{"type": …, "value": …}` each.
    pub(super) details: Vec<Value>,
    pub(super) cause: Option<Box<Self>>,
}

/// What a provider says of itself (`ready`, and ours `left` at its end) or of a call that it holds: `held` when it begins,
/// `cut_short` when it was cancelled or ran out of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) event: String,
    pub(super) case: String,
    pub(super) method: String,
    /// How old the call was.
    pub(super) millis: u64,
    /// How many calls over `dubbo` it has answered to consumers that discovered it.
    pub(super) answered: Option<u64>,
    /// The attachments, as `name: value`, of a held call that wants them told.
    pub(super) seen: Vec<String>,
}

/// What became of the calls that our consumer was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub(crate) calls: u64,
    /// How many each provider has answered.
    pub(crate) by: BTreeMap<String, u64>,
    /// How often each error came, as `CODE: TEXT`.
    pub(super) errors: BTreeMap<String, u64>,
    /// The attachments, as `name: value`, of a call that asks for them.
    pub(super) seen: Vec<String>,
}

/// How the calls of a discovering consumer fare: said whenever that changes, and at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sighting {
    /// `PROTOCOL/SERVICE`
    pub(crate) contract: String,
    pub(super) state: State,
    /// How many calls there were so far.
    pub(crate) calls: u64,
    /// How many of them failed.
    pub(crate) failed: u64,
}

/// What became of the last call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// The provider of this name answered.
    Answered(String),
    /// It failed, with this error.
    Failed(String),
    /// It was the last one.
    Over,
}

/// How the calls of a consumer under load went so far: said a few times a second, and at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    /// `PROTOCOL/SERVICE`
    pub(crate) contract: String,
    /// Whether no call follows.
    pub(super) over: bool,
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    /// The first one of those that failed.
    pub(super) error: Option<String>,
    /// How often each error came, where the consumer tells.
    pub(super) errors: BTreeMap<String, u64>,
    /// How many each provider has answered.
    pub(crate) by: BTreeMap<String, u64>,
    /// How many went by the application and by the interface, where the consumer can tell.
    pub(super) ways: Option<(u64, u64)>,
    /// The step of the migration, where the consumer can tell.
    pub(super) step: Option<String>,
    /// Why another step was refused.
    pub(super) refused: Option<String>,
    /// How many attempts were not the first of their calls, where the consumer tells.
    pub(crate) retried: u64,
    /// The longest time without an answer, in milliseconds, where the consumer tells.
    pub(crate) worst_gap: u64,
    /// The calls that failed since the line before, where the consumer tells of each.
    pub(crate) losses: Vec<Loss>,
}

/// A call that failed. Times are in milliseconds, on the clock of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    /// `PROTOCOL/SERVICE`
    pub(crate) contract: String,
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    pub(crate) error: String,
}

impl Report {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let error = match &value["error"] {
            Value::Null => None,
            error => Some(Fault::read(error)?),
        };
        Some(Self {
            case: text(&value["case"])?,
            got: value["got"].clone(),
            error,
            millis: value["millis"].as_u64()?,
        })
    }
}

impl Fault {
    fn read(value: &Value) -> Option<Self> {
        let cause = match &value["cause"] {
            Value::Null => None,
            cause => Some(Box::new(Self::read(cause)?)),
        };
        Some(Self {
            code: value["code"].as_u64(),
            class: text(&value["class"]),
            message: text(&value["message"])?,
            details: value["details"].as_array().cloned().unwrap_or_default(),
            cause,
        })
    }
}

impl Notice {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        Some(Self {
            event: text(&value["event"])?,
            case: text(&value["case"]).unwrap_or_default(),
            method: text(&value["method"]).unwrap_or_default(),
            millis: value["millis"].as_u64().unwrap_or_default(),
            answered: value["answered"].as_u64(),
            seen: texts(&value["seen"]),
        })
    }
}

impl Account {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        (value["event"] == "done").then_some(())?;
        Some(Self {
            calls: value["calls"].as_u64()?,
            by: counts(&value["by"])?,
            errors: counts(&value["errors"])?,
            seen: texts(&value["seen"]),
        })
    }
}

impl Sighting {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let state = match value["event"].as_str()? {
            "answered" => State::Answered(text(&value["by"])?),
            "failed" => State::Failed(text(&value["error"])?),
            "totals" => State::Over,
            _ => return None,
        };
        Some(Self {
            contract: text(&value["contract"])?,
            state,
            calls: value["calls"].as_u64()?,
            failed: value["failed"].as_u64()?,
        })
    }
}

impl Progress {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let over = match value["event"].as_str()? {
            "progress" => false,
            "totals" => true,
            _ => return None,
        };
        let ways = &value["ways"];
        let contract = text(&value["contract"])?;
        let losses = value["losses"].as_array().into_iter().flatten();
        Some(Self {
            losses: losses
                .map(|loss| Loss::read(&contract, loss))
                .collect::<Option<_>>()?,
            contract,
            over,
            calls: value["calls"].as_u64()?,
            failed: value["failed"].as_u64()?,
            error: text(&value["error"]),
            errors: match &value["errors"] {
                Value::Null => BTreeMap::new(),
                errors => counts(errors)?,
            },
            by: counts(&value["by"])?,
            ways: ways["application"].as_u64().zip(ways["interface"].as_u64()),
            step: text(&value["step"]),
            refused: text(&value["refused"]),
            retried: value["retried"].as_u64().unwrap_or_default(),
            worst_gap: value["worst_gap"].as_u64().unwrap_or_default(),
        })
    }
}

impl Loss {
    fn read(contract: &str, value: &Value) -> Option<Self> {
        Some(Self {
            contract: contract.to_owned(),
            begun: value["begun"].as_u64()?,
            ended: value["ended"].as_u64()?,
            error: text(&value["error"])?,
        })
    }
}

fn counts(value: &Value) -> Option<BTreeMap<String, u64>> {
    let counts = value.as_object()?.iter();
    counts
        .map(|(what, count)| Some((what.clone(), count.as_u64()?)))
        .collect()
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    texts.filter_map(text).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_and_notices_are_read() {
        let line = r#"{"case":"a","got":null,"error":{"code":3,"message":"no","details":[{"type":"t","value":{}}]},"millis":7}"#;
        let report = Report::parse(line).expect(line);
        assert_eq!((report.case.as_str(), report.millis), ("a", 7));
        let fault = report.error.expect("the line has an error");
        assert_eq!((fault.code, fault.message.as_str()), (Some(3), "no"));
        assert_eq!(fault.details, [json!({"type": "t", "value": {}})]);

        let line = r#"{"case":"a","got":null,"error":{"class":"x.Y","message":"m","cause":{"class":"x.Z","message":""}},"millis":7}"#;
        let report = Report::parse(line).expect(line);
        let fault = report.error.expect("the line has an error");
        assert_eq!((fault.code, fault.class.as_deref()), (None, Some("x.Y")));
        let cause = fault.cause.expect("the error has a cause");
        assert_eq!(cause.class.as_deref(), Some("x.Z"));

        let line = r#"{"case":"b","got":["x"],"millis":0}"#;
        let report = Report::parse(line).expect(line);
        assert_eq!((report.got, report.error), (json!(["x"]), None));

        let line = r#"{"event":"cut_short","case":"c","method":"Sleep","millis":200}"#;
        let notice = Notice::parse(line).expect(line);
        assert_eq!((notice.event.as_str(), notice.millis), ("cut_short", 200));
    }

    #[test]
    fn sightings_are_read() {
        for (line, state) in [
            (
                r#"{"event":"answered","contract":"tri/greeter","by":"one","calls":7,"failed":2}"#,
                State::Answered("one".to_owned()),
            ),
            (
                r#"{"event":"failed","contract":"tri/greeter","error":"no provider","calls":7,"failed":2}"#,
                State::Failed("no provider".to_owned()),
            ),
            (
                r#"{"event":"totals","contract":"tri/greeter","calls":7,"failed":2}"#,
                State::Over,
            ),
        ] {
            let sighting = Sighting::parse(line).expect(line);
            assert_eq!((sighting.calls, sighting.failed), (7, 2));
            assert_eq!(
                (&*sighting.contract, sighting.state),
                ("tri/greeter", state)
            );
        }
    }

    #[test]
    fn progress_is_read() {
        let line = r#"{"event":"progress","contract":"tri/greeter","calls":9,"failed":1,"error":"no","by":{"one":3,"two":5},"ways":{"application":4,"interface":5},"step":"FORCE_INTERFACE","refused":null}"#;
        let progress = Progress::parse(line).expect(line);
        assert_eq!((progress.calls, progress.failed), (9, 1));
        assert_eq!((progress.by["one"], progress.by["two"]), (3, 5));
        assert_eq!(progress.ways, Some((4, 5)));
        assert_eq!(progress.step.as_deref(), Some("FORCE_INTERFACE"));
        assert_eq!((progress.over, progress.refused), (false, None));
        assert!(progress.errors.is_empty());
        let line = r#"{"event":"progress","contract":"dubbo/user","calls":9,"failed":3,"error":"no","errors":{"no":2,"gone":1},"by":{}}"#;
        let progress = Progress::parse(line).expect(line);
        assert_eq!((progress.errors["no"], progress.errors["gone"]), (2, 1));
        let line = r#"{"event":"progress","contract":"dubbo/user","calls":9,"failed":1,"by":{},"retried":4,"worst_gap":31,"losses":[{"begun":7,"ended":8,"error":"no"}]}"#;
        let progress = Progress::parse(line).expect(line);
        assert_eq!((progress.retried, progress.worst_gap), (4, 31));
        let loss = Loss {
            contract: "dubbo/user".to_owned(),
            begun: 7,
            ended: 8,
            error: "no".to_owned(),
        };
        assert_eq!(progress.losses, [loss]);
        let line = r#"{"event":"totals","contract":"tri/greeter","calls":9,"failed":0,"by":{}}"#;
        let progress = Progress::parse(line).expect(line);
        assert_eq!((progress.over, progress.ways), (true, None));
    }

    #[test]
    fn accounts_say_who_answered_and_what_failed() {
        let line = r#"{"event":"done","calls":9,"by":{"one":8},"errors":{"unavailable: gone":1},"seen":["a: 1"]}"#;
        let account = Account::parse(line).expect(line);
        assert_eq!((account.calls, account.by["one"]), (9, 8));
        assert_eq!(account.errors["unavailable: gone"], 1);
        assert_eq!(account.seen, ["a: 1"]);
        assert_eq!(Account::parse(r#"{"event":"ready"}"#), None);
    }

    #[test]
    fn anything_else_is_not_taken_for_one() {
        for line in ["", "panic: x", "{}", r#"{"case":1,"millis":1}"#, "[]"] {
            assert_eq!(Report::parse(line), None, "{line}");
            assert_eq!(Notice::parse(line), None, "{line}");
            assert_eq!(Sighting::parse(line), None, "{line}");
            assert_eq!(Progress::parse(line), None, "{line}");
        }
    }
}
