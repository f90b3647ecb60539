//! Metadata, mappings and rules (`docs/spec/registry.md` §7, §8.1).

use dubbo_core::{
    extension::BoxError,
    url::{Key, Url},
};

use super::{DEFAULT_GROUP, group};
use crate::{backend::TextKey, layout::TextLayout};

/// The data ids of texts.
pub(in crate::nacos) struct Texts {
    /// Of definitions.
    group: String,
    /// Where dubbo-go looked for metadata before it looked where Java does.
    go33: Option<String>,
}

impl Texts {
    pub(in crate::nacos) fn of_url(url: &Url) -> Result<Self, BoxError> {
        let is_for_go33 = url.get(&COMPAT_GO33)?;
        Ok(Self {
            group: group(url, DUBBO)?,
            go33: is_for_go33.then(|| group(url, DEFAULT_GROUP)).transpose()?,
        })
    }
}

impl TextLayout for Texts {
    fn app(&self, application: &str, revision: &str) -> Vec<TextKey> {
        let go33 = self.go33.iter();
        let go33 = go33.map(|group| key(&format!("{application}:{revision}"), group));
        std::iter::once(key(application, revision))
            .chain(go33)
            .collect()
    }

    /// Each is a group of its own, and groups cannot be listed.
    fn revisions(&self, _application: &str) -> Option<String> {
        None
    }

    fn mapping(&self, interface: &str) -> Vec<TextKey> {
        vec![key(interface, "mapping")]
    }

    fn definition(&self, id: &str) -> TextKey {
        key(id, &self.group)
    }

    fn config(&self, name: &str, group: &str) -> Vec<TextKey> {
        let group = if group.is_empty() { DUBBO } else { group };
        vec![key(name, group)]
    }
}

/// Java's spelling of what Nacos does not take.
fn key(data_id: &str, group: &str) -> TextKey {
    let legal = |text: &str| text.replace('$', "___").replace('/', "-").into();
    TextKey {
        group: legal(group),
        name: legal(data_id),
    }
}

/// Whether dubbo-go 3.3 is to find the metadata where it has always written them, too.
const COMPAT_GO33: Key<bool> = Key {
    name: "compat-go33",
    default: || true,
};

const DUBBO: &str = "dubbo";
