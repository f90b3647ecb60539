//! What a case has to come to, and where a run differs from it.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::{
    lines::{Fault, Report},
    play::Played,
};

/// What a case has to come to.
#[derive(Debug, Clone)]
pub(super) struct Expect {
    got: Got,
    fault: Option<WantedFault>,
    took: Option<RangeInclusive<u64>>,
    cut_short: Option<(&'static str, RangeInclusive<u64>)>,
    unseen: &'static [&'static str],
}

#[derive(Debug, Clone)]
enum Got {
    /// Of an object: these members, and each of these elements somewhere in their arrays.
    Holds(Value),
    Is(Value),
    /// A text with this part.
    Mentions(&'static str),
}

#[derive(Debug, Clone)]
struct WantedFault {
    code: Option<u64>,
    class: Option<&'static str>,
    text: Text,
    details: Vec<Value>,
    /// Class and text.
    cause: Option<(&'static str, &'static str)>,
}

#[derive(Debug, Clone, Copy)]
enum Text {
    Any,
    Has(&'static str),
    Is(&'static str),
}

/// The calls end well and give `value`.
pub(super) fn gives(value: impl Into<Value>) -> Expect {
    Expect::new(Got::Is(value.into()), None)
}

/// The calls end well and give at least what `value` has.
pub(super) fn holds(value: Value) -> Expect {
    Expect::new(Got::Holds(value), None)
}

/// The calls end well and give a text that has `part` in it.
pub(super) fn mentions(part: &'static str) -> Expect {
    Expect::new(Got::Mentions(part), None)
}

/// The calls end with the status `code` and exactly the text `message`.
pub(super) fn fails(code: u64, message: &'static str) -> Expect {
    Expect::failing(Some(code), None, Text::Is(message))
}

/// The calls end with the status `code`, whose text each implementation words for itself.
pub(super) fn ends(code: u64) -> Expect {
    Expect::failing(Some(code), None, Text::Any)
}

/// The calls end with the status `code` and a text that has `part` in it.
pub(super) fn ends_saying(code: u64, part: &'static str) -> Expect {
    Expect::failing(Some(code), None, Text::Has(part))
}

/// The calls end with an exception of the provider.
pub(super) fn throws(class: &'static str, message: &'static str) -> Expect {
    Expect::failing(None, Some(class), Text::Is(message))
}

/// The calls end with an exception of the provider that has `part` in its text.
pub(super) fn throws_saying(class: &'static str, part: &'static str) -> Expect {
    Expect::failing(None, Some(class), Text::Has(part))
}

/// The calls end with an error that has neither a code nor a class, and `part` in its text.
pub(super) fn says(part: &'static str) -> Expect {
    Expect::failing(None, None, Text::Has(part))
}

impl Expect {
    fn new(got: Got, fault: Option<WantedFault>) -> Self {
        Self {
            got,
            fault,
            took: None,
            cut_short: None,
            unseen: &[],
        }
    }

    fn failing(code: Option<u64>, class: Option<&'static str>, text: Text) -> Self {
        let fault = WantedFault {
            code,
            class,
            text,
            details: Vec::new(),
            cause: None,
        };
        Self::new(Got::Is(Value::Null), Some(fault))
    }

    /// `value` was given before the failure.
    pub(super) fn after(mut self, value: impl Into<Value>) -> Self {
        self.got = Got::Is(value.into());
        self
    }

    /// The failure carries these details, in this order.
    pub(super) fn details(mut self, details: impl IntoIterator<Item = Value>) -> Self {
        if let Some(fault) = &mut self.fault {
            fault.details = details.into_iter().collect();
        }
        self
    }

    /// The failure has another one as its cause.
    pub(super) fn caused_by(mut self, class: &'static str, message: &'static str) -> Self {
        if let Some(fault) = &mut self.fault {
            fault.cause = Some((class, message));
        }
        self
    }

    /// The calls take that many milliseconds.
    pub(super) fn took(mut self, millis: RangeInclusive<u64>) -> Self {
        self.took = Some(millis);
        self
    }

    /// The provider sees its call of `method` cut short at that age in milliseconds.
    pub(super) fn cut_short(mut self, method: &'static str, age: RangeInclusive<u64>) -> Self {
        self.cut_short = Some((method, age));
        self
    }

    /// The provider does not see attachments of these names.
    pub(super) fn unseen(mut self, names: &'static [&'static str]) -> Self {
        self.unseen = names;
        self
    }

    /// Whether the provider has something to say about the case.
    pub(super) fn awaits_notice(&self) -> bool {
        self.cut_short.is_some()
    }

    /// Where the run differs; nothing when all is as it has to be.
    pub(super) fn problems(&self, case: &str, played: &Played) -> Vec<String> {
        let reports: Vec<_> = played.reports.iter().filter(|r| r.case == case).collect();
        let [report] = reports[..] else {
            let mut problems = vec![format!("{} reports instead of one", reports.len())];
            problems.extend(played.trouble.iter().cloned());
            return problems;
        };
        let mut problems = self.report_problems(report);
        if let Some((method, age)) = &self.cut_short {
            let ages: Vec<_> = played
                .notices
                .iter()
                .filter(|n| n.event == "cut_short" && n.case == case && n.method == *method)
                .map(|n| n.millis)
                .collect();
            if ages.len() != 1 || !age.contains(&ages[0]) {
                problems.push(format!(
                    "the provider should see {method} cut short once, {} to {} ms after its start; it saw {ages:?}",
                    age.start(),
                    age.end()
                ));
            }
        }
        problems
    }

    fn report_problems(&self, report: &Report) -> Vec<String> {
        let mut problems = Vec::new();
        match &self.got {
            Got::Is(wanted) if *wanted != report.got => {
                problems.push(format!("wanted {wanted}, got {}", report.got));
            }
            Got::Holds(wanted) if !contains(&report.got, wanted) => {
                problems.push(format!("wanted at least {wanted}, got {}", report.got));
            }
            Got::Mentions(part) if !report.got.as_str().is_some_and(|got| got.contains(part)) => {
                problems.push(format!("wanted a text with {part:?}, got {}", report.got));
            }
            _ => {}
        }
        let seen = report.got["seen"].as_array().into_iter().flatten();
        let unwanted = seen.filter_map(Value::as_str).filter(|line| {
            let name = line.split_once(':').map_or(*line, |(name, _)| name);
            self.unseen.contains(&name)
        });
        problems.extend(unwanted.map(|line| format!("the provider should not see `{line}`")));
        match (&self.fault, &report.error) {
            (None, None) => {}
            (None, Some(fault)) => problems.push(format!("failed: {}", describe(fault))),
            (Some(wanted), None) => problems.push(format!("should fail: {}", wanted.describe())),
            (Some(wanted), Some(fault)) => problems.extend(wanted.problem(fault)),
        }
        if let Some(took) = &self.took
            && !took.contains(&report.millis)
        {
            problems.push(format!(
                "should take {} to {} ms, took {}",
                took.start(),
                took.end(),
                report.millis
            ));
        }
        problems
    }
}

impl WantedFault {
    fn problem(&self, fault: &Fault) -> Option<String> {
        let text = match self.text {
            Text::Any => true,
            Text::Has(part) => fault.message.contains(part),
            Text::Is(whole) => fault.message == whole,
        };
        let cause = fault
            .cause
            .as_ref()
            .map(|cause| (cause.class.as_deref().unwrap_or(""), &*cause.message));
        let same = text
            && fault.code == self.code
            && fault.class.as_deref() == self.class
            && fault.details == self.details
            && cause == self.cause;
        (!same).then(|| {
            format!(
                "should fail: {}; failed: {}",
                self.describe(),
                describe(fault)
            )
        })
    }

    fn describe(&self) -> String {
        let text = match self.text {
            Text::Any => "any text".to_owned(),
            Text::Has(part) => format!("a text with {part:?}"),
            Text::Is(whole) => format!("{whole:?}"),
        };
        let cause = self
            .cause
            .map(|(class, message)| format!(", caused by {class}, {message:?}"));
        outline(self.code, self.class, &text, &self.details) + &cause.unwrap_or_default()
    }
}

fn describe(fault: &Fault) -> String {
    let text = format!("{:?}", fault.message);
    let cause = fault
        .cause
        .as_ref()
        .map(|cause| format!(", caused by {}", describe(cause)));
    outline(fault.code, fault.class.as_deref(), &text, &fault.details) + &cause.unwrap_or_default()
}

fn outline(code: Option<u64>, class: Option<&str>, text: &str, details: &[Value]) -> String {
    let kind = match (code, class) {
        (Some(code), _) => format!("code {code}"),
        (None, Some(class)) => class.to_owned(),
        (None, None) => "no code".to_owned(),
    };
    match details {
        [] => format!("{kind}, {text}"),
        _ => format!("{kind}, {text}, details {}", Value::Array(details.to_vec())),
    }
}

fn contains(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::Object(got), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, value)| got.get(name).is_some_and(|found| contains(found, value))),
        (Value::Array(got), Value::Array(wanted)) => {
            wanted.iter().all(|element| got.contains(element))
        }
        _ => got == wanted,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::interop::lines::Notice;

    fn played(line: &str) -> Played {
        Played {
            reports: vec![Report::parse(line).expect(line)],
            ..Played::default()
        }
    }

    fn differs(expect: &Expect, line: &str) -> bool {
        !expect.problems("x", &played(line)).is_empty()
    }

    #[test]
    fn every_part_of_a_report_is_compared() {
        let good = r#"{"case":"x","got":["a"],"error":{"code":3,"message":"bad name","details":[1]},"millis":300}"#;
        let base = || ends(3).after(json!(["a"])).details([json!(1)]);
        for expect in [
            base(),
            base().took(250..=700),
            fails(3, "bad name").after(json!(["a"])).details([json!(1)]),
            ends_saying(3, "name")
                .after(json!(["a"]))
                .details([json!(1)]),
        ] {
            assert!(!differs(&expect, good), "{expect:?}");
        }
        for expect in [
            gives(json!(["a"])),
            ends(3).details([json!(1)]),
            ends(3).after(json!(["a"])),
            ends(5).after(json!(["a"])).details([json!(1)]),
            fails(3, "bad").after(json!(["a"])).details([json!(1)]),
            ends_saying(3, "good")
                .after(json!(["a"]))
                .details([json!(1)]),
            base().took(0..=299),
            base().cut_short("Sleep", 0..=1000),
        ] {
            assert!(differs(&expect, good), "{expect:?}");
        }
        assert!(differs(&ends(3), r#"{"case":"x","got":null,"millis":1}"#));
    }

    #[test]
    fn exceptions_have_a_class_and_a_cause() {
        let line = r#"{"case":"x","got":null,"error":{"class":"a.B","message":"m","cause":{"class":"a.C","message":"n"}},"millis":1}"#;
        assert!(!differs(&throws("a.B", "m").caused_by("a.C", "n"), line));
        for expect in [
            throws("a.B", "m"),
            throws("a.B", "m").caused_by("a.C", "m"),
            throws("a.C", "m").caused_by("a.C", "n"),
            fails(2, "m").caused_by("a.C", "n"),
            says("m").caused_by("a.C", "n"),
        ] {
            assert!(differs(&expect, line), "{expect:?}");
        }
        let plain = r#"{"case":"x","got":null,"error":{"message":"it broke"},"millis":1}"#;
        assert!(!differs(&says("broke"), plain));
    }

    #[test]
    fn parts_of_an_answer_can_be_wanted_and_unwanted() {
        let line = r#"{"case":"x","got":{"seen":["te: trailers","k: v","k: w"],"n":1},"millis":1}"#;
        assert!(!differs(&holds(json!({"seen": ["k: w"]})), line));
        assert!(differs(&holds(json!({"seen": ["k: x"]})), line));
        assert!(differs(&holds(json!({"seen": ["k: v"], "n": 2})), line));
        assert!(!differs(
            &holds(json!({})).unseen(&["t", "interface"]),
            line
        ));
        assert!(differs(&holds(json!({})).unseen(&["te"]), line));
        assert!(differs(&mentions("te"), line));
        let text = r#"{"case":"x","got":"a text","millis":1}"#;
        assert!(!differs(&mentions("te"), text));
        assert!(differs(&mentions("b"), text));
    }

    #[test]
    fn what_the_provider_saw_is_compared() {
        let notice = |millis| Notice {
            event: "cut_short".to_owned(),
            case: "x".to_owned(),
            method: "Sleep".to_owned(),
            millis,
            answered: None,
            seen: Vec::new(),
        };
        let expect = gives(Value::Null).cut_short("Sleep", 150..=400);
        let mut played = played(r#"{"case":"x","got":null,"millis":1}"#);
        played.notices = vec![notice(200)];
        assert_eq!(expect.problems("x", &played), Vec::<String>::new());
        played.notices = vec![notice(900)];
        assert_eq!(expect.problems("x", &played).len(), 1);
        played.notices = vec![notice(200), notice(200)];
        assert_eq!(expect.problems("x", &played).len(), 1);
    }

    #[test]
    fn a_missing_report_comes_with_what_went_wrong() {
        let played = Played {
            trouble: vec!["the consumer was killed".to_owned()],
            ..Played::default()
        };
        assert_eq!(
            gives("a").problems("x", &played),
            ["0 reports instead of one", "the consumer was killed"]
        );
    }
}
