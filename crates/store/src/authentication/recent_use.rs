//! The addresses from which credentials were recently used.

use std::net::IpAddr;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::Role;
use kernel::{StoreResult, Timestamp, UserId};
use sessions::Lifetime;

use crate::{
    CredentialType, Tx,
    db::read,
    error::corrupt,
    schema::{personal_access_tokens as pats, scim_tokens, sessions as rows, users},
};

/// Maximum number of credentials per type. The newest credentials are returned.
pub const MAX_RECENT: i64 = 10_000;

/// A valid credential that was recently used.
#[derive(Debug, Clone)]
pub struct RecentUse {
    /// The credential's type.
    pub of: CredentialType,
    /// Id of the credential.
    pub id: String,
    /// The user and role; `None` for a SCIM token.
    pub holder: Option<(UserId, Role)>,
    /// The address of its last use, if known.
    pub ip: Option<IpAddr>,
}

/// Id, user, role, address.
type UsageRow = (String, String, String, Option<String>);

impl RecentUse {
    fn from_row(of: CredentialType, (id, user, role, ip): UsageRow) -> StoreResult<Self> {
        let user = user.parse().map_err(|error| corrupt("users.id", error))?;
        let role = role.parse().map_err(|error| corrupt("users.role", error))?;
        Ok(Self { of, id, holder: Some((user, role)), ip: ip.and_then(|ip| ip.parse().ok()) })
    }
}

impl Tx {
    /// Returns the valid credentials of active users that were used since `since`: sessions, then personal access
    /// tokens, then SCIM tokens.
    pub async fn recent(
        &mut self,
        since: Timestamp,
        now: Timestamp,
        lifetime: Lifetime,
    ) -> StoreResult<Vec<RecentUse>> {
        let (used, begun) = lifetime.since(now);
        let (tenant, since, now): (_, NaiveDateTime, NaiveDateTime) =
            (self.tenant.as_str().to_owned(), since.naive(), now.naive());
        let of_sessions = rows::table
            .inner_join(
                users::table.on(users::tenant_id.eq(rows::tenant_id).and(users::id.eq(rows::user_id))),
            )
            .filter(rows::tenant_id.eq(&tenant))
            .filter(rows::revoked_at.is_null())
            .filter(rows::last_seen_at.ge(since.max(used.naive())))
            .filter(rows::created_at.gt(begun.naive()))
            .filter(rows::not_after.is_null().or(rows::not_after.gt(now)))
            .filter(users::active)
            .order(rows::id.desc())
            .select((rows::id, users::id, users::role, rows::ip))
            .limit(MAX_RECENT);
        let of_people = pats::table
            .inner_join(
                users::table.on(users::tenant_id.eq(pats::tenant_id).and(users::id.eq(pats::user_id))),
            )
            .filter(pats::tenant_id.eq(&tenant))
            .filter(pats::revoked_at.is_null())
            .filter(pats::expires_at.is_null().or(pats::expires_at.gt(now)))
            .filter(pats::last_used_at.ge(since))
            .filter(users::active)
            .order(pats::id.desc())
            .select((pats::id, users::id, users::role, pats::last_used_ip))
            .limit(MAX_RECENT);
        let of_providers = scim_tokens::table
            .filter(scim_tokens::tenant_id.eq(&tenant))
            .filter(scim_tokens::revoked_at.is_null())
            .filter(scim_tokens::last_used_at.ge(since))
            .order(scim_tokens::id.desc())
            .select((scim_tokens::id, scim_tokens::last_used_ip))
            .limit(MAX_RECENT);
        let sessions: Vec<UsageRow> = read!(self, c => of_sessions.load(c).await)?;
        let pats: Vec<UsageRow> = read!(self, c => of_people.load(c).await)?;
        let providers: Vec<(String, Option<String>)> = read!(self, c => of_providers.load(c).await)?;
        let sessions = sessions.into_iter().map(|row| RecentUse::from_row(CredentialType::Session, row));
        let pats = pats.into_iter().map(|row| RecentUse::from_row(CredentialType::Pat, row));
        let providers = providers.into_iter().map(|(id, ip)| {
            let ip = ip.and_then(|ip| ip.parse().ok());
            Ok(RecentUse { of: CredentialType::ScimToken, id, holder: None, ip })
        });
        sessions.chain(pats).chain(providers).collect()
    }
}
