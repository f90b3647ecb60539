//! Whether what conditions ask for is so.

use std::borrow::Cow;

use dubbo_core::{invocation::Invocation, url::Url};

use super::{
    super::call,
    grammar::{Key, Of, Side, Term, Wanted},
};
use crate::rules::glob;

impl Side {
    /// Whether `consumer`, who makes the call `invocation`, is as described.
    pub(super) fn meets_call(&self, consumer: &Url, invocation: &Invocation) -> bool {
        self.0.iter().all(|term| {
            let value = match &term.key {
                Key::Argument(position) => call::argument(invocation, *position),
                Key::Attachment(name) => invocation.attachments.get(name).map(Cow::Borrowed),
                Key::Method => Some(Cow::Borrowed(call::method(invocation))),
                key => of_url(key, consumer),
            };
            term.holds(value.as_deref(), Of::Consumer, consumer)
        })
    }

    /// Whether `provider` is as described. Who asks is `consumer`.
    pub(super) fn meets_provider(&self, provider: &Url, consumer: &Url) -> bool {
        self.0.iter().all(|term| {
            let value = of_url(&term.key, provider);
            term.holds(value.as_deref(), Of::Provider, consumer)
        })
    }
}

impl Term {
    /// A value that is missing is never as it should be, not even when it should be another one.
    fn holds(&self, value: Option<&str>, of: Of, consumer: &Url) -> bool {
        let Some(value) = value else { return false };
        let fits = |wanted: &Wanted| wanted.fits(value, of, consumer);
        let says_something = !(self.is.is_empty() && self.is_not.is_empty());
        says_something
            && !self.is_not.iter().any(fits)
            && (self.is.is_empty() || self.is.iter().any(fits))
    }
}

impl Wanted {
    fn fits(&self, value: &str, of: Of, consumer: &Url) -> bool {
        match self {
            Self::Glob(pattern) => glob(pattern, value),
            Self::Range(from, to) => match value.parse() {
                Ok(number) => (from..=to).contains(&&number),
                Err(_) => of == Of::Provider,
            },
            Self::OfConsumer(key) => match of_url(key, consumer).as_deref() {
                None | Some("") => value.is_empty(),
                Some(pattern) => glob(pattern, value),
            },
        }
    }
}

/// What `url` says; an empty part is none.
fn of_url<'u>(key: &Key, url: &'u Url) -> Option<Cow<'u, str>> {
    let part = match key {
        Key::Host => url.host(),
        Key::Param(name) => return url.param(name).map(Cow::Borrowed),
        Key::Password => url.password(),
        Key::Path => url.path(),
        Key::Port => return url.port().map(|port| Cow::Owned(port.to_string())),
        Key::Protocol => url.protocol(),
        Key::Username => url.username(),
        Key::Argument(_) | Key::Attachment(_) | Key::Method => return None,
    };
    (!part.is_empty()).then_some(Cow::Borrowed(part))
}
