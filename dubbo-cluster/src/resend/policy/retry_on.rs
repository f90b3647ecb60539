//! Which failures are tried again.

use dubbo_core::{
    status::{Code, Status},
    yaml::{ProblemKind, Section, Value, nearest},
};

use crate::resend::Class;

/// Which failures are tried again, beside what their class says (`docs/spec/cluster.md` §7.3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RetryOn {
    /// `codes`: of what was sent, only these. `None`: all that the table in §7.3 tries again.
    pub codes: Option<Vec<Code>>,
    /// `biz`: which errors of the application.
    pub business: Business,
    /// `not-sent`: what never left.
    pub not_sent: NotSent,
}

/// Which errors of the application are tried again, where that does no harm.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Business {
    /// None.
    #[default]
    Never,
    /// All.
    Always,
    /// Those that are exceptions of these classes: their message begins with the name.
    Named(Vec<String>),
}

/// When a call that never left is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NotSent {
    /// Always: it does no harm.
    #[default]
    Always,
    /// Never.
    Never,
}

impl RetryOn {
    /// Whether a failure of `class` may be tried again at all.
    pub fn covers(&self, class: Class, status: &Status) -> bool {
        match class {
            Class::NotSent => self.not_sent == NotSent::Always,
            Class::Business => self.business.covers(status),
            Class::Aborted | Class::Ambiguous | Class::Refused | Class::Unknown => {
                let codes = self.codes.as_ref();
                codes.is_none_or(|codes| codes.contains(&status.code()))
            }
            Class::CallerFault | Class::Canceled | Class::Deadline | Class::NoProvider => false,
        }
    }

    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let codes = s.list("codes").map(|names| {
            let mut codes = Vec::with_capacity(names.len());
            for name in names {
                match code(&name) {
                    Ok(code) => codes.push(code),
                    Err(message) => s.error("codes", ProblemKind::UnknownName, message),
                }
            }
            codes
        });
        Self {
            codes,
            business: Business::read(s),
            not_sent: s.choice("not-sent", &NOT_SENT).unwrap_or_default(),
        }
    }
}

impl Business {
    fn covers(&self, status: &Status) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Named(classes) => classes.iter().any(|class| {
                let rest = status.message().strip_prefix(class.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
            }),
        }
    }

    fn read(s: &mut Section<'_, '_>) -> Self {
        let is_list = s
            .node("biz")
            .is_some_and(|node| matches!(node.value, Value::Seq(_)));
        if is_list {
            return Self::Named(s.list("biz").unwrap_or_default());
        }
        match s.bool("biz") {
            Some(true) => Self::Always,
            Some(false) | None => Self::Never,
        }
    }
}

/// The code called `name`, as `deadline-exceeded` or `deadline_exceeded`.
fn code(name: &str) -> Result<Code, String> {
    let wanted = name.to_ascii_lowercase().replace('-', "_");
    let of = |number| Code::from_number(number);
    if let Some(code) = REPEATED
        .map(of)
        .into_iter()
        .find(|code| code.to_string() == wanted)
    {
        return Ok(code);
    }
    let all = REPEATED.map(|number| of(number).to_string().replace('_', "-"));
    if (0..=17).any(|number| of(number).to_string() == wanted) {
        return Err(format!(
            "`{name}` is never tried again, for another provider would answer the same; there are {}",
            all.join(", ")
        ));
    }
    let meant = nearest(name, all.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |meant| format!(" (did you mean `{meant}`?)"));
    Err(format!(
        "no code that is tried again is called `{name}`{meant}; there are {}",
        all.join(", ")
    ))
}

/// The codes of the table in §7.3 that are tried again.
const REPEATED: [u32; 7] = [1, 2, 4, 8, 10, 13, 14];

const NOT_SENT: [(&str, NotSent); 2] = [("always", NotSent::Always), ("never", NotSent::Never)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_narrow_what_was_sent_and_nothing_else() {
        let only = RetryOn {
            codes: Some(vec![Code::Unavailable]),
            ..RetryOn::default()
        };
        let unavailable = Status::unavailable("x");
        let late = Status::deadline_exceeded("x");
        for (class, status, want) in [
            (Class::Ambiguous, &unavailable, true),
            (Class::Ambiguous, &late, false),
            (Class::NotSent, &late, true),
            (Class::NoProvider, &unavailable, false),
            (Class::CallerFault, &unavailable, false),
            (Class::Business, &unavailable, false),
        ] {
            assert_eq!(only.covers(class, status), want, "{class} {status}");
        }
        assert!(RetryOn::default().covers(Class::Ambiguous, &late));
        let never = RetryOn {
            not_sent: NotSent::Never,
            ..RetryOn::default()
        };
        assert!(!never.covers(Class::NotSent, &unavailable));
    }

    #[test]
    fn errors_of_the_application_are_opted_in_by_name() {
        let named = Business::Named(vec!["com.x.Busy".to_owned()]);
        for (message, want) in [
            ("com.x.Busy: try later", true),
            ("com.x.Busy", true),
            ("com.x.BusyTone: x", false),
            ("no com.x.Busy", false),
        ] {
            assert_eq!(named.covers(&Status::business(message)), want, "{message}");
        }
        assert!(Business::Always.covers(&Status::business("x")));
        assert!(!Business::Never.covers(&Status::business("x")));
    }

    #[test]
    fn a_code_has_either_spelling_and_one_that_is_never_repeated_is_refused() {
        assert_eq!(code("deadline-exceeded"), Ok(Code::DeadlineExceeded));
        assert_eq!(code("Deadline_Exceeded"), Ok(Code::DeadlineExceeded));
        let error = code("not-found").expect_err("never");
        assert!(
            error.starts_with("`not-found` is never tried again"),
            "{error}"
        );
        let error = code("unavailible").expect_err("unknown");
        assert!(error.contains("did you mean `unavailable`?"), "{error}");
    }
}
