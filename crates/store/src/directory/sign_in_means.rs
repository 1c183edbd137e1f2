//! What the users of a tenant can sign in with.

use std::collections::{HashMap, HashSet};

use ::sessions::Lifetime;
use credentials::{FactorKind, SignInMeans, UserMeans};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::{PeopleQuery, PeopleStore, Person};
use kernel::{Email, StoreResult, Timestamp, UserId};

use super::administrators::covers;
use crate::{
    Tx,
    db::read,
    error::corrupt,
    schema::{factors, passwords},
};

impl Tx {
    /// Returns whether a working SSO connection covers the person's address.
    pub async fn has_sso(&mut self, person: &Person, now: Timestamp) -> StoreResult<bool> {
        let key = person.email.as_ref().map(Email::key);
        Ok(covers(&self.sso_domains(now).await?, key.as_deref()))
    }

    /// Returns active users and their credentials, ordered by ID, starting after `after`.
    pub async fn sign_in_means(
        &mut self,
        after: Option<&UserId>,
        limit: i64,
        lifetime: Lifetime,
        now: Timestamp,
    ) -> StoreResult<Vec<UserMeans>> {
        let active = PeopleQuery { active: Some(true), ..PeopleQuery::default() };
        let people = self.people(&active, after, limit).await?;
        let sso_domains = self.sso_domains(now).await?;
        let ids: Vec<String> = people.iter().map(|person| person.id.to_string()).collect();
        let with_session = self.foreign_holders(&ids, lifetime, now).await?;
        let query = passwords::table
            .filter(passwords::tenant_id.eq(self.tenant.as_str().to_owned()))
            .filter(passwords::user_id.eq_any(&ids))
            .select(passwords::user_id);
        let with_password: Vec<String> = read!(self, c => query.load(c).await)?;
        let with_password: HashSet<String> = with_password.into_iter().collect();
        let query = factors::table
            .filter(factors::tenant_id.eq(self.tenant.as_str().to_owned()))
            .filter(factors::user_id.eq_any(&ids))
            .filter(factors::verified_at.is_not_null())
            .select((factors::user_id, factors::kind));
        let rows: Vec<(String, String)> = read!(self, c => query.load(c).await)?;
        let mut factors: HashMap<String, Vec<FactorKind>> = HashMap::new();
        for (user, kind) in rows {
            let kind = FactorKind::parse(&kind).ok_or_else(|| corrupt("factors.kind", kind))?;
            factors.entry(user).or_default().push(kind);
        }
        let user = |person: Person| {
            let factors = factors.remove(person.id.as_str()).unwrap_or_default();
            let key = person.email.as_ref().map(Email::key);
            UserMeans {
                name: person.name().to_owned(),
                means: SignInMeans {
                    has_password: key.is_some() && with_password.contains(person.id.as_str()),
                    has_passkey: factors.contains(&FactorKind::Webauthn),
                    break_glass: person.break_glass,
                    has_sso: with_session.contains(person.id.as_str())
                        || covers(&sso_domains, key.as_deref()),
                },
                factors,
                user: person.id,
            }
        };
        Ok(people.into_iter().map(user).collect())
    }
}
