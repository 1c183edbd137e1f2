//! Deserialization of request bodies.

use serde::{Deserialize, Deserializer};

/// Deserializes a member that may be absent but not null. The member needs `#[serde(default)]` too.
pub fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
