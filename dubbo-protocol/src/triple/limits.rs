//! How large messages may be (`docs/spec/triple.md` §9.2).

use dubbo_core::{
    units::parse_size,
    url::{Key, Url, UrlError, UrlValue},
};

/// The limits of one side, in bytes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) receive: usize,
    pub(crate) send: usize,
}

impl Limits {
    /// What holds where no parameter says otherwise: 4 MiB to receive, 2^31 − 1 bytes to send.
    pub(crate) const DEFAULT: Self = Self {
        receive: 4 << 20,
        send: i32::MAX as usize,
    };

    /// The limits of calls to the provider at `url`, on the consumer's side.
    ///
    /// # Errors
    ///
    /// A parameter that is no size.
    pub(crate) fn of_calls(url: &Url) -> Result<Self, UrlError> {
        Self::read(url, [&MAX_CALL_RECEIVE, &MAX_CALL_SEND])
    }

    /// The limits that the provider at `url` sets.
    ///
    /// # Errors
    ///
    /// A parameter that is no size.
    pub(crate) fn of_server(url: &Url) -> Result<Self, UrlError> {
        Self::read(url, [&MAX_SERVER_RECEIVE, &MAX_SERVER_SEND])
    }

    fn read(url: &Url, [receive, send]: [&Key<Size>; 2]) -> Result<Self, UrlError> {
        Ok(Self {
            receive: url.get(receive)?.0,
            send: url.get(send)?.0,
        })
    }
}

/// A number of bytes, with a unit or without.
pub(super) struct Size(pub(super) usize);

impl UrlValue for Size {
    fn parse(text: &str) -> Result<Self, String> {
        let bytes = parse_size(text).map_err(|error| error.to_string())?;
        // More than the address space is as good as no limit.
        Ok(Self(usize::try_from(bytes).unwrap_or(usize::MAX)))
    }
}

const MAX_CALL_RECEIVE: Key<Size> = Key {
    name: "max-call-recv-msg-size",
    default: || Size(Limits::DEFAULT.receive),
};

const MAX_CALL_SEND: Key<Size> = Key {
    name: "max-call-send-msg-size",
    default: || Size(Limits::DEFAULT.send),
};

const MAX_SERVER_RECEIVE: Key<Size> = Key {
    name: "max-server-recv-msg-size",
    default: || Size(Limits::DEFAULT.receive),
};

const MAX_SERVER_SEND: Key<Size> = Key {
    name: "max-server-send-msg-size",
    default: || Size(Limits::DEFAULT.send),
};

#[cfg(test)]
mod tests {
    use super::*;

    type Read = fn(&Url) -> Result<Limits, UrlError>;

    #[test]
    fn limits_come_from_the_url_in_any_unit() {
        let sides: [(Read, _); 2] = [(Limits::of_calls, "call"), (Limits::of_server, "server")];
        for (read, side) in sides {
            let url = Url::new("tri", "h");
            let limits = |url: &Url| read(url).map(|limits| (limits.receive, limits.send));
            assert_eq!(limits(&url), Ok((4_194_304, 2_147_483_647)));
            let url = url
                .with_param(format!("max-{side}-recv-msg-size"), "4mb")
                .with_param(format!("max-{side}-send-msg-size"), "1KiB");
            assert_eq!(limits(&url), Ok((4_000_000, 1_024)));
            let send = format!("max-{side}-send-msg-size");
            let error = limits(&url.with_param(&*send, "much")).expect_err("no size");
            assert_eq!((error.key, error.value.as_str()), (send, "much"));
        }
    }
}
