//! Rows of tokens.

use chrono::NaiveDateTime;
use credentials::{PatPolicy, SignInPolicy};
use diesel::prelude::*;
use kernel::{StoreError, StoreResult, Timestamp};
use tokens::{Pat, ScimToken, Scope, TokenHash, pat::Limits};

use crate::{
    error::corrupt,
    schema::{personal_access_tokens as rows, scim_tokens},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
pub(crate) struct PatRow {
    pub(crate) tenant_id: String,
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) name: String,
    pub(crate) scopes: String,
    pub(crate) hash: Vec<u8>,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) expires_at: Option<NaiveDateTime>,
    pub(crate) revoked_at: Option<NaiveDateTime>,
    pub(crate) last_used_at: Option<NaiveDateTime>,
    pub(crate) last_used_ip: Option<String>,
}

impl TryFrom<PatRow> for Pat {
    type Error = StoreError;

    fn try_from(row: PatRow) -> StoreResult<Self> {
        let scopes = row.scopes.split(' ').map(str::parse::<Scope>).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("personal_access_tokens.id", error))?,
            user: row.user_id.parse().map_err(|error| corrupt("personal_access_tokens.user_id", error))?,
            name: row.name,
            scopes: scopes.map_err(|error| corrupt("personal_access_tokens.scopes", error))?,
            hash: TokenHash::from_bytes(&row.hash)
                .ok_or_else(|| corrupt("personal_access_tokens.hash", "not 32 bytes"))?,
            created_at: Timestamp::from_naive(row.created_at),
            expires_at: row.expires_at.map(Timestamp::from_naive),
            revoked_at: row.revoked_at.map(Timestamp::from_naive),
            last_used_at: row.last_used_at.map(Timestamp::from_naive),
            last_used_ip: row.last_used_ip.and_then(|ip| ip.parse().ok()),
        })
    }
}

/// The limits that a tenant's policy sets for its users' tokens.
pub fn pat_limits(policy: &SignInPolicy) -> Limits {
    let PatPolicy { max_days, allowed_scopes } = policy.pats();
    let unlimited = Limits::default();
    let allowed = match allowed_scopes {
        // A scope unknown to this version grants nothing.
        Some(names) => names.iter().filter_map(|name| name.parse().ok()).collect(),
        None => unlimited.allowed,
    };
    Limits { max_days, allowed }
}

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = scim_tokens, treat_none_as_default_value = false)]
pub(crate) struct ScimTokenRow {
    pub(crate) tenant_id: String,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) hash: Vec<u8>,
    pub(crate) create_conflict: bool,
    pub(crate) dry_run: bool,
    pub(crate) removals_paused_at: Option<NaiveDateTime>,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) revoked_at: Option<NaiveDateTime>,
    pub(crate) last_used_at: Option<NaiveDateTime>,
    pub(crate) last_used_ip: Option<String>,
}

impl TryFrom<ScimTokenRow> for ScimToken {
    type Error = StoreError;

    fn try_from(row: ScimTokenRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("scim_tokens.id", error))?,
            name: row.name,
            hash: TokenHash::from_bytes(&row.hash)
                .ok_or_else(|| corrupt("scim_tokens.hash", "not 32 bytes"))?,
            create_conflict: row.create_conflict,
            dry_run: row.dry_run,
            removals_paused_at: row.removals_paused_at.map(Timestamp::from_naive),
            created_at: Timestamp::from_naive(row.created_at),
            revoked_at: row.revoked_at.map(Timestamp::from_naive),
            last_used_at: row.last_used_at.map(Timestamp::from_naive),
            last_used_ip: row.last_used_ip.and_then(|ip| ip.parse().ok()),
        })
    }
}
