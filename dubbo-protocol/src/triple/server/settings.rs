//! What holds for a whole port, whichever services are on it.

use dubbo_core::url::{Key, Url, UrlError};

use super::bounds::Bounds;
use super::cors::{Cors, CorsSettings};
use crate::triple::compression::Offers;

/// What holds for a whole port: parameters of the URL that is exported first there. A later one has to say the same.
///
/// Names that begin with a dot are between the configuration and this server: they are not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerSettings {
    /// What connections may cost.
    pub(super) bounds: Bounds,
    /// What answers are compressed with.
    pub(super) compression: Offers,
    /// Which pages of other origins may ask; `None` for those alone that were served here.
    pub(super) cors: Option<Cors>,
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
        let cors = CorsSettings::of(url).and_then(|settings| Cors::of(&settings))?;
        let read = || -> Result<Self, UrlError> {
            Ok(Self {
                bounds: Bounds::read(url)?,
                compression: Offers::of_server(url)?,
                cors,
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
        let fields = [(
            REFLECTION.name,
            self.reflection.to_string(),
            other.reflection.to_string(),
        )];
        let bounds = std::iter::zip(self.bounds.named(), other.bounds.named());
        let bounds = bounds.map(|((name, ours), (_, theirs))| (name, ours, theirs));
        let compression = self.compression.told().into_iter();
        let compression = compression.zip(other.compression.told());
        let compression = compression.map(|((name, ours), (_, theirs))| (name, ours, theirs));
        let cors = Cors::texts(self.cors.as_ref()).into_iter();
        let cors = cors.zip(Cors::texts(other.cors.as_ref()));
        let cors = cors.map(|((name, ours), (_, theirs))| (name, ours, theirs));
        match fields
            .into_iter()
            .chain(bounds)
            .chain(compression)
            .chain(cors)
            .find(|(_, ours, theirs)| ours != theirs)
        {
            None => Ok(()),
            Some((name, ours, theirs)) => Err(format!(
                "`{name}` is {theirs}, and the port is open with {ours} already: it holds for all services there"
            )),
        }
    }
}

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
        settings.check_same(&settings.clone()).expect("the same");
        let key = ".max-header-list-size";
        let url = url.with_param(key, "10000");
        let other = ServerSettings::read(&url).expect("a number");
        let error = settings.check_same(&other).expect_err("they differ");
        assert_eq!(
            error,
            "`.max-header-list-size` is 10000, and the port is open with 65536 already: it holds for all services there"
        );
        let error = ServerSettings::read(&url.with_param(key, "much"));
        assert!(error.expect_err("no number").contains("much"));
    }
}
