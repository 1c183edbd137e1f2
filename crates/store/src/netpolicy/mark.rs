//! The part of a tenant's network policy that is read with each credential.

use kernel::StoreResult;
use netpolicy::Settings;
use serde::{Deserialize, Serialize};

use crate::json::{JsonText, read_json};

/// A tenant's network settings and a version that changes with the settings or any rule. Caches of the rules are
/// valid while the version is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetworkMark {
    /// The settings, without the rules.
    pub settings: Settings,
    /// Number of changes so far.
    pub version: u64,
}

impl NetworkMark {
    /// Reads the stored settings, or the default if the tenant has not set any.
    pub(crate) fn of(stored: Option<JsonText>) -> StoreResult<Self> {
        stored.map_or_else(|| Ok(Self::default()), |text| read_json("tenants.network_policy", &text))
    }
}
