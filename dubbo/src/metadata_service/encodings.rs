//! Answers of the second version that are encoded once.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use dubbo_core::codegen::prost::Message as _;
use dubbo_metadata::published::Published;
use parking_lot::Mutex;

use super::proto::MetadataInfoV2;

/// Metadata in protobuf: made when it is first asked for, and kept as long as the metadata is.
///
/// A new revision is fetched by all consumers at once.
#[derive(Default)]
pub(super) struct Encodings(Mutex<HashMap<usize, Kept>>);

/// The weak handle keeps the address, which is the key, from being given to other metadata.
type Kept = (Weak<Published>, Bytes);

impl Encodings {
    /// `published`, encoded.
    pub(super) fn of(&self, published: &Arc<Published>) -> Bytes {
        let address = Arc::as_ptr(published).addr();
        // Who comes meanwhile waits for the same bytes.
        let mut kept = self.0.lock();
        if let Some((_, bytes)) = kept.get(&address) {
            return bytes.clone();
        }
        kept.retain(|_, (published, _)| published.strong_count() > 0);
        let message = MetadataInfoV2::from(&*published.info);
        let bytes = Bytes::from(message.encode_to_vec());
        kept.insert(address, (Arc::downgrade(published), bytes.clone()));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use dubbo_metadata::model::MetadataInfo;

    use super::*;

    #[test]
    fn an_encoding_is_made_once_and_goes_with_what_it_encodes() {
        let published = |revision: &str| {
            Arc::new(Published::new(MetadataInfo {
                revision: revision.to_owned(),
                ..MetadataInfo::default()
            }))
        };
        let encodings = Encodings::default();
        let (first, second) = (published("1"), published("2"));
        let bytes = encodings.of(&first);
        assert_eq!(encodings.of(&first).as_ptr(), bytes.as_ptr());
        assert_ne!(encodings.of(&second), bytes);
        drop((first, second));
        encodings.of(&published("3"));
        assert_eq!(encodings.0.lock().len(), 1);
    }
}
