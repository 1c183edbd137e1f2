//! What lists of people and groups show besides the profiles.

use std::collections::HashMap;

use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{GroupId, StoreResult, Timestamp, UserId};

use crate::{
    Tx,
    db::read,
    schema::{factors, group_members, saml_subjects, sessions},
};

/// How a person signs in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PersonSummary {
    /// Number of verified second factors.
    pub factors: usize,
    /// Whether an identity provider's persistent NameID is pinned to the person.
    pub uses_sso: bool,
    /// When the person last used one of the sessions that are not revoked.
    pub last_active: Option<Timestamp>,
}

impl Tx {
    /// Returns the summaries of these people, by ID. People without factors, NameIDs and sessions are left out.
    pub async fn summaries(&mut self, people: &[UserId]) -> StoreResult<HashMap<String, PersonSummary>> {
        let tenant = self.tenant.as_str().to_owned();
        let ids: Vec<&str> = people.iter().map(UserId::as_str).collect();
        let mut summaries: HashMap<String, PersonSummary> = HashMap::new();
        let query = factors::table
            .filter(factors::tenant_id.eq(&tenant))
            .filter(factors::user_id.eq_any(&ids))
            .filter(factors::verified_at.is_not_null())
            .select(factors::user_id);
        let owners: Vec<String> = read!(self, c => query.load(c).await)?;
        for owner in owners {
            summaries.entry(owner).or_default().factors += 1;
        }
        let query = saml_subjects::table
            .filter(saml_subjects::tenant_id.eq(&tenant))
            .filter(saml_subjects::user_id.eq_any(&ids))
            .select(saml_subjects::user_id);
        let owners: Vec<String> = read!(self, c => query.load(c).await)?;
        for owner in owners {
            summaries.entry(owner).or_default().uses_sso = true;
        }
        let query = sessions::table
            .filter(sessions::tenant_id.eq(&tenant))
            .filter(sessions::user_id.eq_any(&ids))
            .filter(sessions::revoked_at.is_null())
            .group_by(sessions::user_id)
            .select((sessions::user_id, dsl::max(sessions::last_seen_at)));
        let owners: Vec<(String, Option<chrono::NaiveDateTime>)> = read!(self, c => query.load(c).await)?;
        for (owner, seen) in owners {
            summaries.entry(owner).or_default().last_active = seen.map(Timestamp::from_naive);
        }
        Ok(summaries)
    }

    /// Returns the number of members of each of these groups, by ID. Groups without members are left out.
    pub async fn member_counts(&mut self, of: &[GroupId]) -> StoreResult<HashMap<String, i64>> {
        let tenant = self.tenant.as_str().to_owned();
        let ids: Vec<&str> = of.iter().map(GroupId::as_str).collect();
        let query = group_members::table
            .filter(group_members::tenant_id.eq(&tenant))
            .filter(group_members::group_id.eq_any(&ids))
            .group_by(group_members::group_id)
            .select((group_members::group_id, dsl::count_star()));
        let counts: Vec<(String, i64)> = read!(self, c => query.load(c).await)?;
        Ok(counts.into_iter().collect())
    }
}
