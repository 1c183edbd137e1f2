//! What a tenant has set about where it may be reached from, as it is found with each credential.

use kernel::StoreResult;
use netpolicy::Settings;
use serde::{Deserialize, Serialize};

use crate::json::{JsonText, read_json};

/// What a tenant has set, as it is found with each credential, and how often it or a rule has changed: who keeps the
/// rules keeps them until that is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetworkMark {
    /// What the tenant has set, its rules aside.
    pub settings: Settings,
    /// Changes so far.
    pub version: u64,
}

impl NetworkMark {
    /// As it is kept; a tenant that never set anything has the default.
    pub(crate) fn of(kept: Option<JsonText>) -> StoreResult<Self> {
        kept.map_or_else(|| Ok(Self::default()), |text| read_json("tenants.network_policy", &text))
    }
}
