//! The addresses from which credentials were recently used.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::HeldRoles;
use kernel::{StoreResult, Timestamp};
use netpolicy::{RecentUse, UsedCredential};
use sessions::Lifetime;

use crate::{
    Tx,
    db::read,
    directory::held_roles::{SessionHeldRow, TokenHeldRow},
    error::corrupt,
    schema::{personal_access_tokens as pats, scim_tokens, sessions as rows, users},
};

/// Maximum number of credentials per type. The newest credentials are returned.
pub const MAX_RECENT: i64 = 10_000;

/// Id, user, roles, address.
type UsageRow<R> = (String, String, R, Option<String>);

fn use_of((id, user, roles, ip): UsageRow<HeldRoles>, is_session: bool) -> StoreResult<RecentUse> {
    let user = user.parse().map_err(|error| corrupt("users.id", error))?;
    let credential = if is_session { UsedCredential::Session(user) } else { UsedCredential::Pat };
    Ok(RecentUse { credential, id, is_admin: roles.is_admin(), ip: ip.and_then(|ip| ip.parse().ok()) })
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
            .limit(MAX_RECENT);
        let of_providers = scim_tokens::table
            .filter(scim_tokens::tenant_id.eq(&tenant))
            .filter(scim_tokens::revoked_at.is_null())
            .filter(scim_tokens::last_used_at.ge(since))
            .order(scim_tokens::id.desc())
            .select((scim_tokens::id, scim_tokens::last_used_ip))
            .limit(MAX_RECENT);
        let sessions: Vec<UsageRow<SessionHeldRow>> = read!(self, c => of_sessions
            .select((rows::id, users::id, SessionHeldRow::of(&self.tenant), rows::ip))
            .load(c).await)?;
        let pats: Vec<UsageRow<TokenHeldRow>> = read!(self, c => of_people
            .select((pats::id, users::id, TokenHeldRow::of(&self.tenant), pats::last_used_ip))
            .load(c).await)?;
        let providers: Vec<(String, Option<String>)> = read!(self, c => of_providers.load(c).await)?;
        let sessions =
            sessions.into_iter().map(|(id, user, roles, ip)| use_of((id, user, roles.held()?, ip), true));
        let pats = pats.into_iter().map(|(id, user, roles, ip)| use_of((id, user, roles.held()?, ip), false));
        let providers = providers.into_iter().map(|(id, ip)| {
            let ip = ip.and_then(|ip| ip.parse().ok());
            Ok(RecentUse { credential: UsedCredential::ScimToken, id, is_admin: false, ip })
        });
        sessions.chain(pats).chain(providers).collect()
    }
}
