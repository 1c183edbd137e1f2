//! Personal access tokens: a user's programs act as that user within the token's scopes.

use std::{fmt, net::IpAddr, str::FromStr};

use kernel::{Ctx, Id, Kind, StoreResult, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::{NAME_MAX, PatError, PatStore, RawToken, TokenHash, TokenKind};

/// The kind of [`PatId`].
#[derive(Debug, Clone, Copy)]
pub enum PatKind {}
impl Kind for PatKind {
    const PREFIX: &'static str = "ptk";
}
/// `ptk_…`
pub type PatId = Id<PatKind>;

/// Maximum lifetime of a token in days, if it expires.
pub const MAX_DAYS: i64 = 366;
/// Maximum number of live tokens per user.
pub const MAX_TOKENS: usize = 50;

/// A permission of a personal access token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// Read the user's own profile.
    #[serde(rename = "read:profile")]
    ReadProfile,
    /// Change the user's own profile.
    #[serde(rename = "write:profile")]
    WriteProfile,
    /// Read the tenant's users.
    #[serde(rename = "read:hcm")]
    ReadHcm,
    /// Change the tenant's users, as far as the user's role permits.
    #[serde(rename = "write:hcm")]
    WriteHcm,
    /// Access the tenant's settings as an administrator.
    #[serde(rename = "admin:tenant")]
    AdminTenant,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 5] =
        [Self::ReadProfile, Self::WriteProfile, Self::ReadHcm, Self::WriteHcm, Self::AdminTenant];

    /// Returns the name in the API and in storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadProfile => "read:profile",
            Self::WriteProfile => "write:profile",
            Self::ReadHcm => "read:hcm",
            Self::WriteHcm => "write:hcm",
            Self::AdminTenant => "admin:tenant",
        }
    }
}

impl Scope {
    /// Whether the scope permits changes on behalf of the user. `admin:tenant` is checked separately.
    pub fn writes(self) -> bool {
        matches!(self, Self::WriteProfile | Self::WriteHcm)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::as_str).join(", ");
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| format!("{text} is not a scope; write one of {known}"))
    }
}

/// A stored personal access token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pat {
    /// `ptk_…`
    pub id: PatId,
    /// The user that the token acts as.
    pub user: UserId,
    /// The name the user has given it.
    pub name: String,
    /// The permitted scopes, without duplicates.
    pub scopes: Vec<Scope>,
    /// SHA-256 of the raw token.
    pub hash: TokenHash,
    /// When it was minted.
    pub created_at: Timestamp,
    /// When it expires, if it does.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// The address it was last used from.
    pub last_used_ip: Option<IpAddr>,
}

/// A tenant's limits for personal access tokens. They also apply to existing tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Maximum lifetime of a token in days; `None`: no limit.
    pub max_days: Option<i64>,
    /// The scopes that tokens may use.
    pub allowed: Vec<Scope>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_days: None, allowed: Scope::ALL.to_vec() }
    }
}

const DAY: i64 = 24 * 60 * 60_000;

impl Pat {
    /// Applies the tenant's current limits: removes scopes that are not allowed, and shortens the lifetime to the
    /// maximum.
    #[must_use]
    pub fn within(mut self, limits: &Limits) -> Self {
        self.scopes.retain(|scope| limits.allowed.contains(scope));
        if let Some(days) = limits.max_days {
            let latest = self.created_at.plus_millis(days * DAY);
            self.expires_at = Some(self.expires_at.map_or(latest, |end| end.min(latest)));
        }
        self
    }

    /// Whether the token is neither revoked nor expired.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// The user's choices for a new token.
#[derive(Debug, Clone)]
pub struct NewPat {
    /// 1 to [`NAME_MAX`] characters.
    pub name: String,
    /// At least one.
    pub scopes: Vec<Scope>,
    /// Lifetime in days, 1 to [`MAX_DAYS`]; `None`: unlimited.
    pub expires_in_days: Option<i64>,
}

impl NewPat {
    /// Whether the token may administer the tenant, which only administrators may ask for, after a step-up.
    pub fn is_administrative(&self) -> bool {
        self.scopes.contains(&Scope::AdminTenant)
    }

    /// Whether the token may change anything.
    pub fn writes(&self) -> bool {
        self.scopes.iter().any(|scope| scope.writes())
    }

    /// Checks the choices on their own.
    pub fn check(&self) -> Result<(), PatError> {
        let length = self.name.trim().chars().count();
        if length == 0 || length > NAME_MAX || self.name.trim().chars().any(char::is_control) {
            return Err(PatError::Name);
        }
        let mut scopes = self.scopes.clone();
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() || scopes.len() != self.scopes.len() {
            return Err(PatError::Scopes);
        }
        if self.expires_in_days.is_some_and(|days| !(1..=MAX_DAYS).contains(&days)) {
            return Err(PatError::Days);
        }
        Ok(())
    }
}

impl NewPat {
    /// Checks the choices against the tenant's limits. A token without a lifetime gets the maximum.
    pub fn within(mut self, limits: &Limits) -> Result<Self, PatError> {
        if let Some(scope) = self.scopes.iter().find(|scope| !limits.allowed.contains(scope)) {
            return Err(PatError::ScopeNotAllowed(*scope));
        }
        if let Some(most) = limits.max_days {
            if self.expires_in_days.is_some_and(|days| days > most) {
                return Err(PatError::DaysAllowed(most));
            }
            self.expires_in_days = self.expires_in_days.or(Some(most));
        }
        Ok(self)
    }
}

/// Mints a token for a user. The raw text exists only in the returned value.
pub async fn mint(
    ctx: &Ctx,
    store: &mut dyn PatStore,
    user: &UserId,
    new: NewPat,
) -> Result<(Pat, RawToken), PatError> {
    new.check()?;
    let live = store.pats_of(user).await?.iter().filter(|token| token.is_live(ctx.now)).count();
    if live >= MAX_TOKENS {
        return Err(PatError::TooMany);
    }
    let raw = RawToken::mint(&*ctx.env, TokenKind::Pat, &ctx.tenant);
    let token = Pat {
        id: PatId::new(&*ctx.env),
        user: user.clone(),
        name: new.name.trim().to_owned(),
        scopes: new.scopes,
        hash: raw.hash(),
        created_at: ctx.now,
        expires_at: new.expires_in_days.map(|days| ctx.now.plus_millis(days * DAY)),
        revoked_at: None,
        last_used_at: None,
        last_used_ip: None,
    };
    store.insert_pat(&token).await?;
    Ok((token, raw))
}

/// Revokes a user's token. The next request with it is refused.
pub async fn revoke(ctx: &Ctx, store: &mut dyn PatStore, user: &UserId, id: &PatId) -> Result<(), PatError> {
    match store.pat(id).await? {
        Some(token) if token.user == *user && store.revoke_pat(id, ctx.now).await? => Ok(()),
        _ => Err(PatError::NotFound),
    }
}

/// Revokes all live tokens of a user and returns their ids.
pub async fn revoke_all(ctx: &Ctx, store: &mut dyn PatStore, user: &UserId) -> StoreResult<Vec<PatId>> {
    let mut revoked = Vec::new();
    for token in store.pats_of(user).await? {
        if token.is_live(ctx.now) && store.revoke_pat(&token.id, ctx.now).await? {
            revoked.push(token.id);
        }
    }
    Ok(revoked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_choices_are_refused() {
        let new = |name: &str, scopes: &[Scope], days| NewPat {
            name: name.into(),
            scopes: scopes.to_vec(),
            expires_in_days: days,
        };
        assert!(new("CI", &[Scope::ReadProfile], Some(30)).check().is_ok());
        assert!(matches!(new(" ", &[Scope::ReadProfile], None).check(), Err(PatError::Name)));
        assert!(matches!(new("CI", &[], None).check(), Err(PatError::Scopes)));
        assert!(matches!(new("CI", &[Scope::ReadHcm, Scope::ReadHcm], None).check(), Err(PatError::Scopes)));
        assert!(matches!(new("CI", &[Scope::ReadHcm], Some(0)).check(), Err(PatError::Days)));
        assert_eq!("read:hcm".parse(), Ok(Scope::ReadHcm));
        assert!("read:everything".parse::<Scope>().is_err());
    }

    #[test]
    fn tenant_limits_apply_to_new_and_existing_tokens() {
        let env = kernel::ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let limits = Limits { max_days: Some(30), allowed: vec![Scope::ReadProfile, Scope::ReadHcm] };
        let new = |scopes: &[Scope], days| {
            let new = NewPat { name: "CI".into(), scopes: scopes.to_vec(), expires_in_days: days };
            new.within(&limits)
        };
        assert_eq!(new(&[Scope::ReadHcm], None).unwrap().expires_in_days, Some(30));
        assert_eq!(new(&[Scope::ReadHcm], Some(7)).unwrap().expires_in_days, Some(7));
        assert!(matches!(new(&[Scope::ReadHcm], Some(31)), Err(PatError::DaysAllowed(30))));
        let refused = new(&[Scope::ReadHcm, Scope::WriteHcm], None);
        assert!(matches!(refused, Err(PatError::ScopeNotAllowed(Scope::WriteHcm))));

        let tenant = kernel::Id::<kernel::Tenant>::new(&env);
        let now = kernel::Env::now(&env);
        let old = Pat {
            id: PatId::new(&env),
            user: UserId::new(&env),
            name: "CI".into(),
            scopes: vec![Scope::ReadProfile, Scope::AdminTenant],
            hash: RawToken::mint(&env, TokenKind::Pat, &tenant).hash(),
            created_at: now,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            last_used_ip: None,
        };
        let limited = old.clone().within(&limits);
        assert_eq!(limited.scopes, [Scope::ReadProfile]);
        assert!(
            limited.is_live(now.plus_millis(30 * DAY - 1)) && !limited.is_live(now.plus_millis(30 * DAY))
        );
        assert_eq!(old.clone().within(&Limits::default()), old);
    }
}
