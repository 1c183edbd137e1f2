//! SCIM requests that were refused, kept for the administrator who sets up a directory.

use kernel::Timestamp;
use ring::digest;

use crate::ScimTokenId;

/// A refused SCIM request of a token. Equal requests with an equal answer are counted as one refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimRefusal {
    /// The token that sent the request.
    pub token: ScimTokenId,
    /// The HTTP method.
    pub method: String,
    /// Path and query below the base URL: `/Users?filter=…`. At most [`TEXT_MAX`](Self::TEXT_MAX) characters.
    pub target: String,
    /// The `userName` or `displayName` in the body. At most [`TEXT_MAX`](Self::TEXT_MAX) characters.
    pub subject: Option<String>,
    /// The HTTP status.
    pub status: u16,
    /// The `scimType` of the answer (RFC 7644, section 3.12).
    pub scim_type: Option<String>,
    /// The `detail` of the answer. At most [`TEXT_MAX`](Self::TEXT_MAX) characters.
    pub detail: String,
    /// How often it was refused.
    pub times: u64,
    /// When it was last refused.
    pub last_at: Timestamp,
}

impl ScimRefusal {
    /// Maximum number of characters of each text.
    pub const TEXT_MAX: usize = 300;
    /// Number of refusals that are stored per tenant, the newest.
    pub const KEPT: usize = 50;

    /// Returns the SHA-256 of everything that distinguishes refusals: all but the number and the time.
    pub fn id(&self) -> [u8; 32] {
        let mut hash = digest::Context::new(&digest::SHA256);
        let (subject, scim_type) = (self.subject.as_deref(), self.scim_type.as_deref());
        let status = self.status.to_string();
        for part in [
            self.token.as_str(),
            &self.method,
            &self.target,
            subject.unwrap_or_default(),
            &status,
            scim_type.unwrap_or_default(),
            &self.detail,
        ] {
            hash.update(part.as_bytes());
            hash.update(&[0]);
        }
        let mut id = [0; 32];
        id.copy_from_slice(hash.finish().as_ref());
        id
    }
}
