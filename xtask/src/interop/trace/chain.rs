//! One trace: what is recorded of a call that makes its provider call another one.

use super::{
    carried::Carrier,
    otlp::{Kind, Span},
};

/// The applications on the way: our consumer, the peer's provider, ours.
pub(super) const FRONT: &str = "trace-front";
pub(super) const MIDDLE: &str = "trace-middle";
pub(super) const BACK: &str = "trace-back";

/// The spans of such a call, each below the one before it.
pub(super) const WHOLE: [(&str, Kind); 5] = [
    (FRONT, Kind::Internal),
    (FRONT, Kind::Client),
    (MIDDLE, Kind::Server),
    (MIDDLE, Kind::Client),
    (BACK, Kind::Server),
];

/// What is wrong with `spans`, all that were recorded of one call, and with `seen`, the attachments that came with the last
/// step of it, each as `name: value`.
pub(super) fn problems(spans: &[Span], seen: &[String], carrier: Carrier) -> Vec<String> {
    let mut problems = Vec::new();
    let mut before: Option<&Span> = None;
    for (service, kind) in WHOLE {
        let mut of_step = spans
            .iter()
            .filter(|span| span.service == service && span.kind == kind);
        let Some(span) = of_step.next() else {
            problems.push(format!("no {kind} span of {service} came"));
            break;
        };
        if of_step.next().is_some() {
            problems.push(format!("more than one {kind} span of {service} came"));
        }
        let parent = before.map_or("", |before| &before.id);
        if span.parent != parent {
            problems.push(format!("should be below `{parent}`: {span}"));
        }
        if before.is_some_and(|before| before.trace != span.trace) {
            problems.push(format!(
                "is in another trace than what is before it: {span}"
            ));
        }
        before = Some(span);
    }
    if spans.len() > WHOLE.len() {
        problems.push(format!(
            "{} spans came instead of {}",
            spans.len(),
            WHOLE.len()
        ));
    }
    let caller = spans
        .iter()
        .find(|span| (&*span.service, span.kind) == (MIDDLE, Kind::Client));
    if let Some(caller) = caller {
        problems.extend(headers(caller, seen, carrier));
    }
    if !problems.is_empty() {
        problems.extend(spans.iter().map(|span| format!("recorded: {span}")));
        problems.push(format!("the last provider got {seen:?}"));
    }
    problems
}

/// What is wrong with the headers that `caller` should be named by.
fn headers(caller: &Span, seen: &[String], carrier: Carrier) -> Vec<String> {
    let named = match carrier.named(seen) {
        Ok(named) => named,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    if named.is_empty() {
        problems.push("the last provider got no trace".to_owned());
    }
    for it in named {
        let is_right = it.trace.is_none_or(|trace| trace == caller.trace)
            && it.span.is_none_or(|span| span == caller.id);
        if !is_right {
            problems.push(format!(
                "`{}` names another span than that of the call: {it:?}",
                it.by
            ));
        }
    }
    if !seen
        .iter()
        .any(|line| *line == format!("baggage: {BAGGAGE}"))
    {
        problems.push("the baggage did not come through".to_owned());
    }
    problems
}

/// What the first caller has put into the trace.
pub(super) const BAGGAGE: &str = "tenant=acme";

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Vec<Span> {
        (0..)
            .zip(WHOLE)
            .map(|(number, (service, kind)): (u32, _)| Span {
                service: service.to_owned(),
                kind,
                name: "call".to_owned(),
                trace: "t".to_owned(),
                id: number.to_string(),
                parent: number
                    .checked_sub(1)
                    .map(|it| it.to_string())
                    .unwrap_or_default(),
            })
            .collect()
    }

    fn seen() -> Vec<String> {
        ["traceparent: 00-t-3-01", "baggage: tenant=acme"]
            .map(str::to_owned)
            .into()
    }

    #[test]
    fn a_whole_trace_has_no_problems() {
        let mut spans = whole();
        assert_eq!(
            problems(&spans, &seen(), Carrier::W3c),
            Vec::<String>::new()
        );
        spans.reverse();
        assert_eq!(
            problems(&spans, &seen(), Carrier::W3c),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_breaks_a_trace_is_told() {
        type Change = fn(&mut Vec<Span>, &mut Vec<String>);
        let cases: [(Change, &str); 8] = [
            (
                |spans, _| spans[4].parent = "1".to_owned(),
                "should be below `3`",
            ),
            (|spans, _| spans[2].parent.clear(), "should be below `1`"),
            (
                |spans, _| spans[0].parent = "9".to_owned(),
                "should be below ``",
            ),
            (
                |spans, _| spans[3].trace = "u".to_owned(),
                "in another trace",
            ),
            (
                |spans, _| drop(spans.remove(3)),
                "no client span of trace-middle came",
            ),
            (
                |spans, _| spans.push(spans[1].clone()),
                "more than one client span of trace-front",
            ),
            (
                |_, seen| seen[0] = "traceparent: 00-t-1-01".to_owned(),
                "`traceparent` names another span",
            ),
            (|_, seen| drop(seen.remove(1)), "baggage"),
        ];
        for (change, want) in cases {
            let (mut spans, mut seen) = (whole(), seen());
            change(&mut spans, &mut seen);
            let problems = problems(&spans, &seen, Carrier::W3c);
            assert!(
                problems.iter().any(|it| it.contains(want)),
                "{want}: {problems:?}"
            );
        }
        assert_ne!(
            problems(&whole(), &seen(), Carrier::B3),
            Vec::<String>::new()
        );
    }
}
