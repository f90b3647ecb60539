//! Signed calls (`docs/spec/cluster.md` §6.6): `sign` at a consumer, `auth` at a provider, with a pair of an access key and
//! its secret that both know.
//!
//! `auth=true` switches them on. `.accessKeyId` and `.secretAccessKey`, whose leading dot says that they are never
//! published, are the pair for the storage `urlstorage`; another [`AccessKeyStorage`] is chosen by `accessKey.storage`.

mod keys;
mod replay;
mod sign;
mod signature;
mod verify;

use dubbo_core::{
    extension::BoxError,
    url::{Key, Url},
};

pub use self::keys::{AccessKey, AccessKeyStorage};

/// Whether calls are signed.
///
/// # Errors
///
/// An option that is not what it must be, or one that nobody here can do.
fn is_on(url: &Url) -> Result<bool, BoxError> {
    let is_on = url.get(&AUTH)?;
    match url.param("authenticator").unwrap_or_default() {
        "" | "accesskey" | "accesskeys" => {}
        "basic" => {
            return Err(
                "`authenticator` is `basic`, a password that is sent along: use `accesskeys`"
                    .into(),
            );
        }
        other => {
            return Err(
                format!("no `authenticator` is called `{other}`; there is `accesskeys`").into(),
            );
        }
    }
    if url.get(&PARAM_SIGN)? {
        return Err(
            "`param.sign` is `true`, and arguments cannot be signed: dubbo-go signs the JSON of its own structs, which no \
             other implementation writes alike"
                .into(),
        );
    }
    Ok(is_on)
}

const AUTH: Key<bool> = Key {
    name: "auth",
    default: || false,
};

const PARAM_SIGN: Key<bool> = Key {
    name: "param.sign",
    default: || false,
};

const SIGNATURE: &str = "signature";
const TIMESTAMP: &str = "timestamp";
const ACCESS_KEY: &str = "ak";
const CONSUMER: &str = "consumer";

#[cfg(test)]
mod tests;
