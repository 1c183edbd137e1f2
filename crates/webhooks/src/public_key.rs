//! Public keys of asymmetric signatures, for receivers.

use std::{fmt, str::FromStr};

use data_encoding::BASE64;
use ring::signature::{ED25519, UnparsedPublicKey};

use crate::verify::InvalidPublicKey;

/// Length of keys in bytes.
const LENGTH: usize = 32;
/// The prefix of public keys.
const PREFIX: &str = "whpk_";
/// The version of asymmetric signatures in `webhook-signature`.
pub(crate) const VERSION: &str = "v1a,";

/// The public key that verifies asymmetric signatures: `whpk_` and 32 bytes in base64.
///
/// ```
/// use webhooks::PublicKey;
///
/// let text = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
/// assert_eq!(text.parse::<PublicKey>()?.to_string(), text);
/// assert!("whsec_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse::<PublicKey>().is_err());
/// # Ok::<(), webhooks::verify::InvalidPublicKey>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; LENGTH]);

impl PublicKey {
    #[cfg(feature = "deliver")]
    pub(crate) fn new(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }

    #[cfg(feature = "deliver")]
    pub(crate) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// Returns whether one of the `v1a` values in `signatures`, separated by spaces, is by this key.
    pub(crate) fn has_signed(&self, id: &str, timestamp: &str, signatures: &str, body: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        let message = message(id, timestamp, body);
        let values = signatures.split(' ').filter_map(|value| value.strip_prefix(VERSION));
        let mut signatures = values.filter_map(|text| BASE64.decode(text.as_bytes()).ok());
        signatures.any(|signature| key.verify(&message, &signature).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE64.encode(&self.0))
    }
}

impl FromStr for PublicKey {
    type Err = InvalidPublicKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.strip_prefix(PREFIX).and_then(|text| BASE64.decode(text.as_bytes()).ok());
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        Ok(Self(bytes.ok_or(InvalidPublicKey)?))
    }
}

/// Returns what the signatures of Standard Webhooks cover.
pub(crate) fn message(id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat()
}
