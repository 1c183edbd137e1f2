//! Records the last use of credentials.

use std::net::IpAddr;

use audit::Unaudited;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};

use crate::{
    Tx,
    db::change_unaudited,
    prepared::Prepared,
    schema::{personal_access_tokens as pats, scim_tokens, sessions, signal_receivers as receivers},
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
    /// The token of a receiver of shared signals.
    Receiver,
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
                CredentialType::Receiver => {
                    let is_newer = receivers::last_used_at.is_null().or(receivers::last_used_at.lt(at));
                    let row = receivers::table.find((&tenant, id)).filter(is_newer);
                    let set = (receivers::last_used_at.eq(at), receivers::last_used_ip.eq(ip));
                    change_unaudited!(self, Unaudited::LastUse, c => Prepared(diesel::update(row).set(set)).execute(c).await)?;
                }
            }
        }
        Ok(())
    }
}
