//! Lists all passkeys of a tenant.

use credentials::{Aaguid, FactorId, FactorKind, Trust};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, UserId};
use serde::Deserialize;

use crate::{
    Tx,
    db::read,
    error::corrupt,
    json::{JsonText, read_json},
    schema::{factors, users},
};

/// A passkey and its user.
#[derive(Debug, Clone)]
pub struct EnrolledPasskey {
    /// The factor's id.
    pub id: FactorId,
    /// User who enrolled the passkey.
    pub user: UserId,
    /// The user's name.
    pub user_name: String,
    /// The passkey's name.
    pub name: String,
    /// The authenticator model that the authenticator reports.
    pub aaguid: Aaguid,
    /// How trustworthy the model was at enrolment.
    pub trust: Trust,
    /// Whether it is built into a device, if known.
    pub is_platform: Option<bool>,
    /// Whether it can be synced to other devices.
    pub backup_eligible: bool,
}

/// The parts of a stored passkey that the list needs. The rest is not parsed.
#[derive(Deserialize)]
struct Facts {
    aaguid: Aaguid,
    #[serde(default)]
    trust: Trust,
    #[serde(default)]
    is_platform: Option<bool>,
    credential: Flags,
}

#[derive(Deserialize)]
struct Flags {
    #[serde(default)]
    backup_eligible: bool,
}

/// Factor id, user id, user name, factor name, passkey.
type Row = (String, String, String, String, JsonText);

impl TryFrom<Row> for EnrolledPasskey {
    type Error = StoreError;

    fn try_from((id, user, user_name, name, passkey): Row) -> StoreResult<Self> {
        let facts: Facts = read_json("factors.passkey", &passkey)?;
        Ok(Self {
            id: id.parse().map_err(|error| corrupt("factors.id", error))?,
            user: user.parse().map_err(|error| corrupt("factors.user_id", error))?,
            user_name,
            name,
            aaguid: facts.aaguid,
            trust: facts.trust,
            is_platform: facts.is_platform,
            backup_eligible: facts.credential.backup_eligible,
        })
    }
}

impl Tx {
    /// Returns at most `limit` passkeys of the tenant enrolled after `after`, oldest first.
    pub async fn enrolled_passkeys(
        &mut self,
        after: Option<&FactorId>,
        limit: i64,
    ) -> StoreResult<Vec<EnrolledPasskey>> {
        let tenant = self.tenant.as_str().to_owned();
        let query = factors::table
            .inner_join(
                users::table.on(users::tenant_id.eq(factors::tenant_id).and(users::id.eq(factors::user_id))),
            )
            .filter(factors::tenant_id.eq(&tenant))
            .filter(factors::id.gt(after.map_or("", FactorId::as_str)))
            .filter(factors::kind.eq(FactorKind::Webauthn.as_str()))
            .order(factors::id)
            .select((
                factors::id,
                factors::user_id,
                users::user_name,
                factors::name,
                factors::passkey.assume_not_null(),
            ))
            .limit(limit);
        let rows: Vec<Row> = read!(self, c => query.load(c).await)?;
        rows.into_iter().map(EnrolledPasskey::try_from).collect()
    }
}
