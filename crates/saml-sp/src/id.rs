//! Ids of providers, which stand in addresses that carry no credential.

use std::{fmt, str::FromStr};

use kernel::{Env, Id, Kind, TenantId};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const PREFIX: &str = "sso_";
/// Characters of a key of the kernel's.
const KEY_LEN: usize = 26;

/// Marks the part of a provider's own.
enum ProviderKind {}
impl Kind for ProviderKind {
    const PREFIX: &'static str = "own";
}

/// `sso_…`: the tenant's key, so that a provider is found without a global index, and 26 characters of its own,
/// which sort by time and cannot be guessed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderId(Box<str>);

/// The text is not the id of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id of the form sso_…")]
pub struct ParseProviderIdError;

impl ProviderId {
    /// A fresh one.
    pub fn new(env: &dyn Env, tenant: &TenantId) -> Self {
        let own = Id::<ProviderKind>::new(env);
        Self(format!("{PREFIX}{}{}", tenant.key(), own.key()).into_boxed_str())
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whose provider it says it is.
    pub fn tenant(&self) -> Option<TenantId> {
        TenantId::from_key(self.0.get(PREFIX.len()..PREFIX.len() + KEY_LEN)?).ok()
    }
}

impl FromStr for ProviderId {
    type Err = ParseProviderIdError;

    fn from_str(text: &str) -> Result<Self, ParseProviderIdError> {
        let keys = text.strip_prefix(PREFIX).and_then(|rest| rest.split_at_checked(KEY_LEN));
        let (tenant, own) = keys.ok_or(ParseProviderIdError)?;
        let sound = TenantId::from_key(tenant).is_ok() && Id::<ProviderKind>::from_key(own).is_ok();
        if sound { Ok(Self(text.into())) } else { Err(ParseProviderIdError) }
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ProviderId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ProviderId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ManualEnv;

    #[test]
    fn an_id_carries_its_tenant() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let tenant = TenantId::new(&env);
        let id = ProviderId::new(&env, &tenant);
        assert_eq!(id.tenant(), Some(tenant));
        assert_eq!(id.as_str().parse::<ProviderId>().unwrap(), id);
        for text in ["", "sso_", "sso_é", &id.as_str()[1..], &format!("{id}0"), &id.as_str()[..40]] {
            assert!(text.parse::<ProviderId>().is_err(), "{text}");
        }
    }
}
