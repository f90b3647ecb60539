use std::{fmt, sync::Arc};

use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext, ExtensionPoint},
    url::Url,
};

/// Knows access keys: the plugin that `accessKey.storage` names, by default `urlstorage`.
pub trait AccessKeyStorage: Send + Sync + 'static {
    /// The key of a service or reference at `url`. A provider asks for the one that a caller names as `id`; a consumer asks
    /// without an id for the one that it signs with. `None`: there is no such key.
    fn find(&self, url: &Url, id: Option<&str>) -> Option<AccessKey>;
}

impl ExtensionPoint for dyn AccessKeyStorage {
    const KIND: &'static str = "access key storage";
}

/// A key and its secret. Its `Debug` form has no secret in it.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    id: String,
    secret: String,
}

impl AccessKey {
    /// The key called `id`, with this secret.
    pub fn new(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            secret: secret.into(),
        }
    }

    /// What it is called; it travels with each call.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The secret, which never travels.
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The storage that the context's URL names.
pub(super) fn storage(cx: &ExtensionContext<'_>) -> Result<Arc<dyn AccessKeyStorage>, BoxError> {
    let name = cx
        .url
        .param("accessKey.storage")
        .filter(|name| !name.is_empty());
    let name = name.unwrap_or("urlstorage");
    Ok(cx.extensions.create::<dyn AccessKeyStorage>(name, cx.url)?)
}

/// The pair in the parameters.
struct InUrl;

impl AccessKeyStorage for InUrl {
    /// There is one pair; as in dubbo-go and Dubbo Java it counts for whatever id a caller names, who has to know the secret.
    fn find(&self, url: &Url, _: Option<&str>) -> Option<AccessKey> {
        let param = |key| url.param(key).filter(|value| !value.is_empty());
        Some(AccessKey::new(
            param(".accessKeyId")?,
            param(".secretAccessKey")?,
        ))
    }
}

extension!(dyn AccessKeyStorage, "urlstorage", |_cx| Ok(Arc::new(
    InUrl
)));
