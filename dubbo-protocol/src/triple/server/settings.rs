//! What holds for a whole port, whichever services are on it.

use dubbo_core::url::{Key, Url, UrlError};

use crate::triple::compression::Offers;

/// What holds for a whole port: parameters of the URL that is exported first there. A later one has to say the same.
///
/// Names that begin with a dot are between the configuration and this server: they are not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerSettings {
    /// What answers are compressed with.
    pub(super) compression: Offers,
    /// How large the headers of a request may be, in bytes as HTTP/2 counts them (RFC 9113 §6.5.2).
    pub(super) max_header_list_size: u32,
    /// Whether clients can ask for the files of its services.
    pub(super) reflection: bool,
}

impl ServerSettings {
    /// What `url` says, and the defaults.
    ///
    /// # Errors
    ///
    /// A parameter with a bad value.
    pub(super) fn read(url: &Url) -> Result<Self, String> {
        let read = || -> Result<Self, UrlError> {
            Ok(Self {
                compression: Offers::of_server(url)?,
                max_header_list_size: url.get(&MAX_HEADER_LIST_SIZE)?,
                reflection: url.get(&REFLECTION)?,
            })
        };
        read().map_err(|error| error.to_string())
    }

    /// Refuses settings that differ from these.
    ///
    /// # Errors
    ///
    /// The parameter that differs, with both values.
    pub(super) fn check_same(&self, other: &Self) -> Result<(), String> {
        let fields = [
            (
                MAX_HEADER_LIST_SIZE.name,
                self.max_header_list_size.to_string(),
                other.max_header_list_size.to_string(),
            ),
            (
                REFLECTION.name,
                self.reflection.to_string(),
                other.reflection.to_string(),
            ),
        ];
        let compression = self.compression.params().into_iter();
        let compression = compression.zip(other.compression.params());
        let compression = compression.map(|((name, ours), (_, theirs))| (name, ours, theirs));
        match fields
            .into_iter()
            .chain(compression)
            .find(|(_, ours, theirs)| ours != theirs)
        {
            None => Ok(()),
            Some((name, ours, theirs)) => Err(format!(
                "`{name}` is {theirs}, and the port is open with {ours} already: it holds for all services there"
            )),
        }
    }
}

const MAX_HEADER_LIST_SIZE: Key<u32> = Key {
    name: ".max-header-list-size",
    // Twice what Dubbo Java takes.
    default: || 64 << 10,
};
const REFLECTION: Key<bool> = Key {
    name: ".reflection.enable",
    default: || true,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_one_set_of_settings() {
        let url = Url::new("tri", "h");
        let settings = ServerSettings::read(&url).expect("defaults");
        assert_eq!(settings.max_header_list_size, 65_536);
        settings.check_same(&settings.clone()).expect("the same");
        let url = url.with_param(MAX_HEADER_LIST_SIZE.name, "1000");
        let other = ServerSettings::read(&url).expect("a number");
        let error = settings.check_same(&other).expect_err("they differ");
        assert_eq!(
            error,
            "`.max-header-list-size` is 1000, and the port is open with 65536 already: it holds for all services there"
        );
        let error = ServerSettings::read(&url.with_param(MAX_HEADER_LIST_SIZE.name, "much"));
        assert!(error.expect_err("no number").contains("much"));
    }
}
