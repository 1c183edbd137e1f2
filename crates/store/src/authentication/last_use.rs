//! Records the last use of credentials, and purges expired rows.

use std::{net::IpAddr, sync::Arc};

use audit::{Audited, Unaudited};

use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};

use crate::{
    Store, Tx,
    db::change_unaudited,
    prepared::Prepared,
    schema::{
        attempts, links, personal_access_tokens as pats, scim_refusals, scim_tokens, sessions,
        spent_challenges, step_up_challenges, step_up_tokens, tickets,
    },
};

/// The type of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialType {
    /// A session.
    Session,
    /// A personal access token.
    Pat,
    /// A SCIM token.
    ScimToken,
}

/// The last use of a credential.
#[derive(Debug, Clone)]
pub struct LastUse {
    /// The credential's type.
    pub of: CredentialType,
    /// The credential's id.
    pub id: String,
    /// Time of the last use.
    pub at: Timestamp,
    /// The client's address, if known.
    pub ip: Option<IpAddr>,
}

impl Tx {
    /// Records when credentials of the tenant were last used. A later time that is already stored stays, because several
    /// instances record uses.
    pub async fn note_uses(&mut self, uses: &[LastUse]) -> StoreResult<()> {
        for one in uses {
            let (tenant, id) = (self.tenant.to_string(), one.id.as_str());
            let (at, ip) = (one.at.naive(), one.ip.map(|ip| ip.to_string()));
            match one.of {
                CredentialType::Session => {
                    let row = sessions::table.find((&tenant, id)).filter(sessions::last_seen_at.lt(at));
                    let set = (sessions::last_seen_at.eq(at), sessions::ip.eq(ip));
                    change_unaudited!(self, Unaudited::LastUse, c => Prepared(diesel::update(row).set(set)).execute(c).await)?;
                }
                CredentialType::Pat => {
                    let is_newer = pats::last_used_at.is_null().or(pats::last_used_at.lt(at));
                    let row = pats::table.find((&tenant, id)).filter(is_newer);
                    let set = (pats::last_used_at.eq(at), pats::last_used_ip.eq(ip));
                    change_unaudited!(self, Unaudited::LastUse, c => Prepared(diesel::update(row).set(set)).execute(c).await)?;
                }
                CredentialType::ScimToken => {
                    let is_newer = scim_tokens::last_used_at.is_null().or(scim_tokens::last_used_at.lt(at));
                    let row = scim_tokens::table.find((&tenant, id)).filter(is_newer);
                    let set = (scim_tokens::last_used_at.eq(at), scim_tokens::last_used_ip.eq(ip));
                    change_unaudited!(self, Unaudited::LastUse, c => Prepared(diesel::update(row).set(set)).execute(c).await)?;
                }
            }
        }
        Ok(())
    }

    /// Purges expired rows of all tenants: attempts, used challenges, tickets, step-up challenges and tokens, links, and
    /// refused SCIM requests.
    pub async fn purge_expired(&mut self, now: Timestamp) -> StoreResult<()> {
        let hour = 60 * 60_000;
        let attempts = attempts::table.filter(attempts::until.lt(now.naive()));
        change_unaudited!(self, Unaudited::LookedAfter, c => dsl::delete(attempts).execute(c).await)?;
        let challenges = spent_challenges::table.filter(spent_challenges::until.lt(now.naive()));
        change_unaudited!(self, Unaudited::LookedAfter, c => dsl::delete(challenges).execute(c).await)?;
        let tickets = tickets::table.filter(tickets::created_at.lt(now.plus_millis(-hour).naive()));
        change_unaudited!(self, Unaudited::LookedAfter, c => dsl::delete(tickets).execute(c).await)?;
        let step_ups = step_up_challenges::table
            .filter(step_up_challenges::created_at.lt(now.plus_millis(-hour).naive()));
        change_unaudited!(self, Unaudited::LookedAfter, c => dsl::delete(step_ups).execute(c).await)?;
        let proofs =
            step_up_tokens::table.filter(step_up_tokens::expires_at.lt(now.plus_millis(-hour).naive()));
        change_unaudited!(self, Unaudited::LookedAfter, c => dsl::delete(proofs).execute(c).await)?;
        let links = links::table.filter(links::created_at.lt(now.plus_millis(-100 * hour).naive()));
        change_unaudited!(self, Unaudited::LookedAfter, c => dsl::delete(links).execute(c).await)?;
        let month = 30 * 24 * hour;
        let refusals =
            scim_refusals::table.filter(scim_refusals::last_at.lt(now.plus_millis(-month).naive()));
        change_unaudited!(self, Unaudited::LookedAfter, c => dsl::delete(refusals).execute(c).await)?;
        Ok(())
    }
}

impl Store {
    /// Purges the rows of all tenants that [`Tx::purge_expired`] names, in a unit of work of its own.
    pub async fn purge_expired(&self, env: &Arc<dyn Env>) -> StoreResult<()> {
        let nobody = TenantId::new(&**env);
        let ctx = Ctx::new(Arc::clone(env), nobody, Actor::system("tidy"));
        let work = async |ctx: &Ctx, tx: &mut Tx| {
            tx.purge_expired(ctx.now).await?;
            Ok::<_, StoreError>(Audited::without((), Unaudited::AttemptCounted))
        };
        self.write(ctx, work).await
    }
}
