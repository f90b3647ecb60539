//! Which calls a route is for.

use std::collections::BTreeMap;

use dubbo_core::{
    invocation::Invocation,
    url::Url,
    yaml::{ProblemKind, Section},
};

use super::super::call;
use crate::rules::StringMatch;

/// What has to be so of a call: all of it.
#[derive(Debug, Default)]
pub(super) struct CallMatch {
    method: Option<MethodMatch>,
    /// Parameters of the consumer.
    source_labels: BTreeMap<String, String>,
    /// Attachments of the call.
    context: Vec<(String, StringMatch)>,
    /// Whether it asks for what nobody here knows.
    is_never: bool,
}

#[derive(Debug, Default)]
struct MethodMatch {
    name: Option<StringMatch>,
    /// How many arguments there are.
    count: Option<usize>,
    /// What the types of the arguments are called.
    types: Option<Vec<StringMatch>>,
    arguments: Vec<ArgumentMatch>,
}

/// What has to be so of one argument.
#[derive(Debug)]
struct ArgumentMatch {
    position: usize,
    /// One of them, if there are any.
    text: Vec<StringMatch>,
    /// One of them, if there are any.
    number: Vec<NumberMatch>,
    truth: Option<bool>,
}

/// A test of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NumberMatch {
    Exact(f64),
    /// From the one to below the other.
    Range(f64, f64),
    /// What is left after a division by the one is the other.
    Rest {
        modulus: f64,
        rest: f64,
    },
}

impl CallMatch {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        s.string("name");
        for key in ["headers", "threshold"] {
            s.no_effect(key, "neither does Dubbo Java look at it");
        }
        let has_method = s.node("method").is_some_and(|node| !node.is_null());
        let method = s.section("method", MethodMatch::read);
        let (context, is_never) = s.section("attachments", |s| {
            let tracing = s.node("tracingContext").is_some_and(|node| !node.is_null());
            if tracing {
                s.no_effect(
                    "tracingContext",
                    "nothing here provides it, so this match is never met",
                );
            }
            (matches_by_key(s, "dubboContext"), tracing)
        });
        Self {
            method: has_method.then_some(method),
            source_labels: s.texts("sourceLabels"),
            context,
            is_never,
        }
    }

    pub(super) fn meets(&self, consumer: &Url, invocation: &Invocation) -> bool {
        let mut labels = self.source_labels.iter();
        let mut context = self.context.iter();
        !self.is_never
            && labels.all(|(key, value)| consumer.param(key) == Some(value))
            && context.all(|(key, value)| value.matches(invocation.attachments.get(key)))
            && self
                .method
                .as_ref()
                .is_none_or(|method| method.meets(invocation))
    }
}

impl MethodMatch {
    fn read(s: &mut Section<'_, '_>) -> Self {
        s.no_effect("headers", "neither does Dubbo Java look at them");
        let has = |s: &mut Section<'_, '_>, key| s.node(key).is_some_and(|node| !node.is_null());
        let has_name = has(s, "name_match");
        let has_types = has(s, "argp");
        Self {
            name: if has_name {
                s.section("name_match", StringMatch::read)
            } else {
                None
            },
            count: s.integer("argc", 0..=255_u8).map(usize::from),
            types: has_types.then(|| {
                s.items("argp", StringMatch::read)
                    .into_iter()
                    .flatten()
                    .collect()
            }),
            arguments: s.items("args", ArgumentMatch::read),
        }
    }

    fn meets(&self, invocation: &Invocation) -> bool {
        let name = call::method(invocation);
        let mut arguments = self.arguments.iter();
        self.name
            .as_ref()
            .is_none_or(|test| test.matches(Some(name)))
            && self
                .count
                .is_none_or(|count| call::count(invocation) == count)
            && self.types.as_ref().is_none_or(|tests| {
                let types = call::types(invocation);
                let mut pairs = tests.iter().zip(&types);
                types.len() == tests.len() && pairs.all(|(test, name)| test.matches(Some(name)))
            })
            && arguments.all(|argument| argument.meets(invocation))
    }
}

impl ArgumentMatch {
    fn read(s: &mut Section<'_, '_>) -> Self {
        s.string("type");
        let position = s.integer("index", 0..=255_u8);
        if position.is_none() {
            s.error(
                "index",
                ProblemKind::Missing,
                "needs the position of the argument, from 0",
            );
        }
        let text = s.section("str_value", |s| s.items("oneof", StringMatch::read));
        let number = s.section("num_value", |s| s.items("oneof", NumberMatch::read));
        Self {
            position: position.map_or(0, usize::from),
            text: text.into_iter().flatten().collect(),
            number: number.into_iter().flatten().collect(),
            truth: s.section("bool_value", |s| s.bool("exact")),
        }
    }

    fn meets(&self, invocation: &Invocation) -> bool {
        let Some(value) = call::argument(invocation, self.position) else {
            return false;
        };
        let is_number = |tests: &[NumberMatch]| {
            let number = value.parse().ok().filter(|number: &f64| number.is_finite());
            number.is_some_and(|number| tests.iter().any(|test| test.meets(number)))
        };
        (self.text.is_empty() || self.text.iter().any(|test| test.matches(Some(&value))))
            && (self.number.is_empty() || is_number(&self.number))
            && self
                .truth
                .is_none_or(|truth| value.eq_ignore_ascii_case(&truth.to_string()))
    }
}

impl NumberMatch {
    fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let number = |s: &mut Section<'_, '_>, key| {
            let read = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
            s.parse(key, "a number", read)
        };
        let exact = number(s, "exact");
        let modulus = number(s, "mod").or_else(|| number(s, "mode"));
        let range = s.section("range", |s| {
            let (start, end) = (number(s, "start"), number(s, "end"));
            (start.is_some() || end.is_some()).then(|| {
                Self::Range(
                    start.unwrap_or(f64::NEG_INFINITY),
                    end.unwrap_or(f64::INFINITY),
                )
            })
        });
        let test = match (exact, modulus) {
            (Some(rest), Some(modulus)) => Some(Self::Rest { modulus, rest }),
            (Some(exact), None) => Some(Self::Exact(exact)),
            (None, _) => range,
        };
        if test.is_none() {
            s.error(
                "exact",
                ProblemKind::Missing,
                "needs `exact`, or `range` with `start` or `end`",
            );
        }
        test
    }

    // A rule names numbers as callers write them.
    #[expect(clippy::float_cmp)]
    fn meets(self, number: f64) -> bool {
        match self {
            Self::Exact(exact) => number == exact,
            Self::Range(start, end) => (start..end).contains(&number),
            Self::Rest { modulus, rest } => number % modulus == rest,
        }
    }
}

/// The tests in the map below `key`, by what they test.
fn matches_by_key(s: &mut Section<'_, '_>, key: &'static str) -> Vec<(String, StringMatch)> {
    let tests = s.entries(key, StringMatch::read).into_iter();
    tests.filter_map(|(key, test)| Some((key, test?))).collect()
}
