//! What a trace travels in, as a provider sees it.

use std::fmt;

/// How a trace is told to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Zipkin's headers.
    B3,
    /// W3C's.
    W3c,
}

/// The span that a header names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named<'a> {
    /// The header.
    pub(super) by: &'a str,
    /// None where it has a name for the span alone.
    pub(super) trace: Option<&'a str>,
    /// None where it has a name for the trace alone.
    pub(super) span: Option<&'a str>,
}

impl Carrier {
    pub(super) const ALL: [Self; 2] = [Self::W3c, Self::B3];

    /// What is named by those of the attachments `seen`, as `name: value`, that are of this kind.
    ///
    /// # Errors
    ///
    /// One of them that cannot be read, is there twice, or is of the other kind.
    pub(super) fn named(self, seen: &[String]) -> Result<Vec<Named<'_>>, String> {
        let mut named: Vec<Named<'_>> = Vec::new();
        for line in seen {
            let Some((by, value)) = line.split_once(": ") else {
                continue;
            };
            // Dubbo Java passes on what came with the call that it serves, and names its own span behind that.
            let value = match value.rsplit_once(',') {
                Some((_, last)) if by.starts_with("x-b3-") => last,
                _ => value,
            };
            let parts: Vec<_> = value.split('-').collect();
            let (of, trace, span) = match (by, &parts[..]) {
                ("traceparent", ["00", trace, span, "01"]) => {
                    (Self::W3c, Some(*trace), Some(*span))
                }
                // What is left of it is what the others say, too.
                ("b3", [trace, span, "1", ..]) => (Self::B3, Some(*trace), Some(*span)),
                ("x-b3-traceid", [trace]) => (Self::B3, Some(*trace), None),
                ("x-b3-spanid", [span]) => (Self::B3, None, Some(*span)),
                ("x-b3-sampled", ["1"]) => continue,
                _ if by == "traceparent" || by == "b3" || by.starts_with("x-b3-") => {
                    return Err(format!("the last provider got what says nothing: `{line}`"));
                }
                _ => continue,
            };
            if of != self {
                return Err(format!(
                    "the last provider got `{line}`, which is no {self}"
                ));
            }
            if named.iter().any(|it| it.by == by) {
                return Err(format!("the last provider got `{by}` twice: {seen:?}"));
            }
            named.push(Named { by, trace, span });
        }
        Ok(named)
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::B3 => "b3",
            Self::W3c => "w3c",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_name_a_trace_and_a_span() {
        let lines = |lines: &[&str]| {
            lines
                .iter()
                .map(|&line| line.to_owned())
                .collect::<Vec<_>>()
        };
        let named = |by, trace, span| Named { by, trace, span };
        let seen = lines(&["a: b", "traceparent: 00-11-22-01", "baggage: c=d"]);
        assert_eq!(
            Carrier::W3c.named(&seen),
            Ok(vec![named("traceparent", Some("11"), Some("22"))])
        );
        assert!(Carrier::B3.named(&seen).is_err(), "of the other kind");
        let several = [
            "b3: 11-22-1",
            "x-b3-traceid: 11",
            "x-b3-spanid: 22",
            "x-b3-sampled: 1",
        ];
        assert_eq!(
            Carrier::B3.named(&lines(&several)),
            Ok(vec![
                named("b3", Some("11"), Some("22")),
                named("x-b3-traceid", Some("11"), None),
                named("x-b3-spanid", None, Some("22")),
            ])
        );
        assert_eq!(
            Carrier::B3.named(&lines(&["x-b3-spanid: 11,22", "x-b3-sampled: 1,1"])),
            Ok(vec![named("x-b3-spanid", None, Some("22"))])
        );
        assert_eq!(Carrier::B3.named(&lines(&["path: x"])), Ok(vec![]));
        for bad in [
            &["traceparent: 00-11-22-00"][..],
            &["traceparent: 11-22"],
            &["traceparent: 00-11-22-01", "traceparent: 00-11-22-01"],
            &["traceparent: 00-11-22-01,00-11-33-01"],
            &["x-b3-sampled: 0"],
        ] {
            assert!(Carrier::W3c.named(&lines(bad)).is_err(), "{bad:?}");
        }
    }
}
