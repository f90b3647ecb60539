use std::sync::Arc;

use dubbo_core::{
    attachments::Attachments,
    extension,
    extension::BoxError,
    filter::{Filter, Next},
    invocation::Invocation,
    status::Status,
    url::Url,
};
use subtle::ConstantTimeEq as _;

use super::{Calling, at_once, called};

/// Lets in who knows the token of the service. Consumers know it from the registry, so it is no secret from those who may
/// ask there; it keeps others from calling past it.
struct Token(Option<Box<str>>);

impl Token {
    fn read(url: &Url) -> Result<Self, BoxError> {
        let token = url.param("token").filter(|token| !token.is_empty());
        if url.param("token").is_some() && token.is_none() {
            return Err("`token` is empty: every caller would know it".into());
        }
        Ok(Self(token.map(Into::into)))
    }

    /// Whether `attachments` have the token, once, as it is.
    fn is_known_to(&self, attachments: &Attachments) -> bool {
        let Some(token) = &self.0 else { return true };
        let mut given = attachments.all("token");
        match (given.next(), given.next()) {
            (Some(given), None) => bool::from(given.as_bytes().ct_eq(token.as_bytes())),
            _ => false,
        }
    }
}

impl Filter for Token {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        if self.is_known_to(&invocation.attachments) {
            return next.run(invocation);
        }
        let what = if invocation.attachments.contains("token") {
            "the token is not the one of the service"
        } else {
            "a token is needed, and none came"
        };
        let text = format!("{}: {what}", called(&invocation));
        at_once(Err(Status::permission_denied(text)))
    }
}

extension!(dyn Filter, "token", |cx| Ok(Arc::new(Token::read(cx.url)?)));

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn token(query: &str) -> Result<Token, BoxError> {
        Token::read(&format!("tri://h/a.B?{query}").parse().expect(query))
    }

    #[test]
    fn only_the_one_exact_token_is_taken() {
        let secret = token("token=s3cret").expect("valid");
        let given = |values: &[&'static str]| {
            let values = values.iter().map(|value| ("Token", *value));
            values.collect::<Attachments>()
        };
        for (values, want) in [
            (&["s3cret"][..], true),
            (&["S3CRET"], false),
            (&["s3cre"], false),
            (&["s3crett"], false),
            (&[""], false),
            (&[], false),
            (&["s3cret", "s3cret"], false),
            (&["s3cret", "x"], false),
        ] {
            assert_eq!(secret.is_known_to(&given(values)), want, "{values:?}");
        }
        let bytes = Attachments::from_iter([("token", Bytes::from_static(b"s3cret"))]);
        assert!(!secret.is_known_to(&bytes));
        assert!(token("").expect("valid").is_known_to(&given(&[])));
        assert!(token("token=").is_err());
    }
}
