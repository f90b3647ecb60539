//! HMAC-SHA256 over what is called, when, and with which secret.

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use dubbo_core::service::ServiceKey;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// How a signature is written. dubbo-go and Dubbo Java have different alphabets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// Dubbo Java's.
    Standard,
    /// dubbo-go's.
    UrlSafe,
}

/// The signature of a call.
pub(super) struct Signature([u8; 32]);

impl Signature {
    pub(super) fn of(service: &ServiceKey, method: &str, secret: &str, timestamp: &str) -> Self {
        let text = format!(
            "{}:{}:{}#{method}#{secret}#{timestamp}",
            service.interface(),
            service
                .version()
                .filter(|version| *version != NO_VERSION)
                .unwrap_or_default(),
            service.group().unwrap_or_default(),
        );
        Self(hmac(secret.as_bytes(), text.as_bytes()))
    }

    pub(super) fn written_in(&self, alphabet: Alphabet) -> String {
        match alphabet {
            Alphabet::Standard => OF_JAVA.encode(self.0),
            Alphabet::UrlSafe => OF_GO.encode(self.0),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether `text` is it, in either alphabet, with or without padding. The time that takes says nothing of where it is
    /// not.
    pub(super) fn is(&self, text: &str) -> bool {
        let decoded = OF_JAVA.decode(text).or_else(|_| OF_GO.decode(text));
        decoded.is_ok_and(|given| bool::from(given.ct_eq(&self.0)))
    }
}

/// RFC 2104.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        let hashed: [u8; 32] = Sha256::digest(key).into();
        block[..hashed.len()].copy_from_slice(&hashed);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(message);
    let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

/// The block of SHA-256.
const BLOCK: usize = 64;

/// What the classic protocol writes where there is none.
const NO_VERSION: &str = "0.0.0";

const PADDED: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const OF_JAVA: GeneralPurpose = GeneralPurpose::new(&STANDARD, PADDED);
const OF_GO: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, PADDED);

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: [u8; 32]) -> String {
        bytes.map(|byte| format!("{byte:02x}")).concat()
    }

    #[test]
    fn the_test_cases_of_rfc_4231() {
        for (key, message, want) in [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(hmac(&key, &message)), want);
        }
    }
}
