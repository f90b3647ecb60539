//! How large messages may be (`docs/spec/triple.md` §9.2).

use dubbo_core::{
    units::parse_size,
    url::{Key, Url, UrlValue},
};

/// The limits of one side, in bytes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) receive: usize,
    pub(super) send: usize,
}

impl Limits {
    /// What holds where no parameter says otherwise: 4 MiB to receive, 2^31 − 1 bytes to send.
    pub(super) const DEFAULT: Self = Self {
        receive: 4 << 20,
        send: i32::MAX as usize,
    };

    /// The limits that the provider at `url` sets.
    ///
    /// # Errors
    ///
    /// A parameter that is no size, named with its value.
    pub(super) fn of(url: &Url) -> Result<Self, String> {
        let read = |key| {
            url.get(key)
                .map(|size: Size| size.0)
                .map_err(|e| e.to_string())
        };
        Ok(Self {
            receive: read(&MAX_RECEIVE)?,
            send: read(&MAX_SEND)?,
        })
    }
}

struct Size(usize);

impl UrlValue for Size {
    fn parse(text: &str) -> Result<Self, String> {
        let bytes = parse_size(text).map_err(|error| error.to_string())?;
        // More than the address space is as good as no limit.
        Ok(Self(usize::try_from(bytes).unwrap_or(usize::MAX)))
    }
}

const MAX_RECEIVE: Key<Size> = Key {
    name: "max-server-recv-msg-size",
    default: || Size(Limits::DEFAULT.receive),
};

const MAX_SEND: Key<Size> = Key {
    name: "max-server-send-msg-size",
    default: || Size(Limits::DEFAULT.send),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_come_from_the_url_in_any_unit() {
        let url = Url::new("tri", "h");
        let limits = |url: Url| Limits::of(&url).map(|limits| (limits.receive, limits.send));
        assert_eq!(limits(url.clone()), Ok((4_194_304, 2_147_483_647)));
        let set = url
            .with_param("max-server-recv-msg-size", "4mb")
            .with_param("max-server-send-msg-size", "1KiB");
        assert_eq!(limits(set), Ok((4_000_000, 1_024)));
        let bad = limits(url.with_param("max-server-send-msg-size", "much")).expect_err("no size");
        assert!(
            bad.contains("`max-server-send-msg-size` is \"much\""),
            "{bad}"
        );
    }
}
