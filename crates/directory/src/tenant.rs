//! Tenants, the customers of the platform.

use std::str::FromStr;

use kernel::{Env, TenantId, Timestamp};
use serde::Serialize;

use crate::{error::Error, store::TenantStore};

/// A tenant's plan, which determines its rate limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Tier {
    /// Free of charge.
    Free,
    /// The standard plan.
    Standard,
    /// The plan with the highest rate limits.
    Enterprise,
}

impl Tier {
    /// Returns the name in the database, the API and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "FREE",
            Self::Standard => "STANDARD",
            Self::Enterprise => "ENTERPRISE",
        }
    }
}

impl FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Free, Self::Standard, Self::Enterprise]
            .into_iter()
            .find(|tier| tier.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("write FREE, STANDARD or ENTERPRISE, not {text}"))
    }
}

/// A customer of the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// `ten_…`
    pub id: TenantId,
    /// Short name in URLs, unique among all tenants.
    pub slug: String,
    /// The name to display.
    pub name: String,
    /// The plan.
    pub tier: Tier,
    /// Creation time.
    pub created_at: Timestamp,
}

/// The operator's choices for a new tenant.
#[derive(Debug, Clone)]
pub struct NewTenant {
    /// 2 to 63 characters of `a-z`, `0-9` and inner hyphens.
    pub slug: String,
    /// 1 to 200 printable characters.
    pub name: String,
    /// The plan.
    pub tier: Tier,
}

impl Tenant {
    /// Checks the choices and assigns an id.
    pub fn new(env: &dyn Env, new: NewTenant) -> Result<Self, Error> {
        let slug = new.slug;
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let edges = !slug.starts_with('-') && !slug.ends_with('-');
        if !(2..=63).contains(&slug.len()) || !slug.bytes().all(inner) || !edges {
            return Err(Error::Slug);
        }
        Ok(Self {
            id: TenantId::new(env),
            slug,
            name: checked_name(&new.name)?,
            tier: new.tier,
            created_at: env.now(),
        })
    }
}

/// Trims a tenant's name and checks it.
fn checked_name(name: &str) -> Result<String, Error> {
    let name = name.trim();
    let is_valid = (1..=200).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if is_valid { Ok(name.to_owned()) } else { Err(Error::Name) }
}

/// Sets the tenant's name. Returns the tenant, and whether the name is another one than before.
pub async fn rename_tenant(store: &mut dyn TenantStore, name: &str) -> Result<(Tenant, bool), Error> {
    let name = checked_name(name)?;
    let mut tenant = store.own_tenant().await?.ok_or(Error::NotFound)?;
    let is_new = tenant.name != name;
    if is_new {
        store.rename_tenant(&name).await?;
        tenant.name = name;
    }
    Ok((tenant, is_new))
}

/// Inserts a tenant.
pub async fn create_tenant(store: &mut dyn TenantStore, tenant: &Tenant) -> Result<(), Error> {
    if store.insert_tenant(tenant).await? { Ok(()) } else { Err(Error::SlugTaken(tenant.slug.clone())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ManualEnv;

    #[test]
    fn slugs_are_valid_in_urls() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let make = |slug: &str| {
            Tenant::new(&env, NewTenant { slug: slug.into(), name: "Acme".into(), tier: Tier::Free }).is_ok()
        };
        assert!(make("acme") && make("a1") && make("acme-emea"));
        for slug in ["", "a", "-acme", "acme-", "Acme", "ac me", "ac/me", "é1", &"a".repeat(64)] {
            assert!(!make(slug), "{slug}");
        }
    }
}
