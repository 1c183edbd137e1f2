//! Factors and recovery codes.

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use credentials::{Factor, FactorData, FactorId, FactorKind, FactorStore};
use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp, UserId};

use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    error::corrupt,
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{factors, known_origins, passwords, personal_access_tokens, recovery_codes, wrong_codes},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = factors, treat_none_as_default_value = false)]
struct FactorRow {
    tenant_id: String,
    id: String,
    user_id: String,
    kind: String,
    name: String,
    created_at: NaiveDateTime,
    verified_at: Option<NaiveDateTime>,
    last_used_at: Option<NaiveDateTime>,
    sealed: Option<Vec<u8>>,
    last_step: i64,
    passkey: Option<JsonText>,
    credential_id: Option<Vec<u8>>,
}

#[derive(AsChangeset)]
#[diesel(table_name = factors)]
struct FactorChanges {
    name: String,
    verified_at: Option<NaiveDateTime>,
    last_used_at: Option<NaiveDateTime>,
    passkey: Option<JsonText>,
}

#[derive(Insertable)]
#[diesel(table_name = recovery_codes, treat_none_as_default_value = false)]
struct CodeRow {
    tenant_id: String,
    user_id: String,
    hash: Vec<u8>,
    used_at: Option<NaiveDateTime>,
}

impl TryFrom<FactorRow> for Factor {
    type Error = StoreError;

    fn try_from(row: FactorRow) -> StoreResult<Self> {
        let data = match (FactorKind::parse(&row.kind), row.sealed, row.passkey) {
            (Some(FactorKind::Totp), Some(sealed), _) => {
                FactorData::Totp { sealed, last_step: row.last_step }
            }
            (Some(FactorKind::Webauthn), _, Some(passkey)) => {
                FactorData::Passkey(read_json("factors.passkey", &passkey)?)
            }
            _ => return Err(corrupt("factors.kind", &row.kind)),
        };
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("factors.id", error))?,
            user: row.user_id.parse().map_err(|error| corrupt("factors.user_id", error))?,
            name: row.name,
            created_at: Timestamp::from_naive(row.created_at),
            verified_at: row.verified_at.map(Timestamp::from_naive),
            last_used_at: row.last_used_at.map(Timestamp::from_naive),
            data,
        })
    }
}

impl Tx {
    /// Deletes the sign-in data of a deleted user: password, factors, recovery codes, known origins and tokens.
    pub(crate) async fn forget_credentials(&mut self, user: &UserId, at: Timestamp) -> StoreResult<()> {
        let own = (self.tenant.to_string(), user.to_string());
        let (tenant, user) = (own.0.as_str(), own.1.as_str());
        let password = passwords::table.find((tenant, user));
        change!(self, c => dsl::delete(password).execute(c).await)?;
        let factors = factors::table.filter(factors::tenant_id.eq(tenant)).filter(factors::user_id.eq(user));
        change!(self, c => dsl::delete(factors).execute(c).await)?;
        let codes = recovery_codes::table
            .filter(recovery_codes::tenant_id.eq(tenant))
            .filter(recovery_codes::user_id.eq(user));
        change!(self, c => dsl::delete(codes).execute(c).await)?;
        let origins = known_origins::table
            .filter(known_origins::tenant_id.eq(tenant))
            .filter(known_origins::user_id.eq(user));
        change!(self, c => dsl::delete(origins).execute(c).await)?;
        let pats = personal_access_tokens::table
            .filter(personal_access_tokens::tenant_id.eq(tenant))
            .filter(personal_access_tokens::user_id.eq(user))
            .filter(personal_access_tokens::revoked_at.is_null());
        let revoked = personal_access_tokens::revoked_at.eq(at.naive());
        change!(self, c => Prepared(diesel::update(pats).set(revoked)).execute(c).await)?;
        Ok(())
    }
}

fn passkey_of(factor: &Factor) -> StoreResult<Option<JsonText>> {
    match &factor.data {
        FactorData::Totp { .. } => Ok(None),
        FactorData::Passkey(passkey) => json_text("factors.passkey", passkey).map(Some),
    }
}

#[async_trait]
impl FactorStore for Tx {
    async fn factors(&mut self, user: &UserId) -> StoreResult<Vec<Factor>> {
        let query = factors::table
            .filter(factors::tenant_id.eq(self.tenant.as_str()))
            .filter(factors::user_id.eq(user.as_str()));
        let rows: Option<Vec<FactorRow>> =
            lock!(self, for_update, load, query.select(FactorRow::as_select()))?;
        let rows = rows.unwrap_or_default();
        let mut factors = rows.into_iter().map(Factor::try_from).collect::<Result<Vec<_>, _>>()?;
        factors.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(factors)
    }

    async fn factor_of_credential(&mut self, credential: &[u8]) -> StoreResult<Option<Factor>> {
        let query = factors::table
            .filter(factors::tenant_id.eq(self.tenant.as_str()))
            .filter(factors::credential_id.eq(credential));
        let row: Option<FactorRow> =
            read!(self, c => query.select(FactorRow::as_select()).first(c).await.optional())?;
        row.map(Factor::try_from).transpose()
    }

    async fn insert_factor(&mut self, factor: &Factor) -> StoreResult<bool> {
        let (sealed, last_step, credential_id) = match &factor.data {
            FactorData::Totp { sealed, last_step } => (Some(sealed.clone()), *last_step, None),
            FactorData::Passkey(passkey) => (None, 0, Some(passkey.credential_id().to_vec())),
        };
        let row = FactorRow {
            tenant_id: self.tenant.to_string(),
            id: factor.id.to_string(),
            user_id: factor.user.to_string(),
            kind: factor.kind().as_str().to_owned(),
            name: factor.name.clone(),
            created_at: factor.created_at.naive(),
            verified_at: factor.verified_at.map(Timestamp::naive),
            last_used_at: factor.last_used_at.map(Timestamp::naive),
            sealed,
            last_step,
            passkey: passkey_of(factor)?,
            credential_id,
        };
        let query = diesel::insert_into(factors::table).values(&row).on_conflict_do_nothing();
        // An unconfirmed factor cannot be used to sign in, so it needs no audit entry.
        let inserted = if factor.is_verified() {
            change!(self, c => query.execute(c).await)
        } else {
            change_unaudited!(self, Unaudited::StepTaken, c => query.execute(c).await)
        };
        Ok(inserted? == 1)
    }

    async fn update_factor(&mut self, factor: &Factor) -> StoreResult<()> {
        let changes = FactorChanges {
            name: factor.name.clone(),
            verified_at: factor.verified_at.map(Timestamp::naive),
            last_used_at: factor.last_used_at.map(Timestamp::naive),
            passkey: passkey_of(factor)?,
        };
        let row = factors::table.find((self.tenant.as_str(), factor.id.as_str()));
        change!(self, c => Prepared(diesel::update(row).set(&changes)).execute(c).await)?;
        Ok(())
    }

    async fn use_step(&mut self, factor: &Factor, step: i64, at: Timestamp) -> StoreResult<bool> {
        let row = factors::table
            .find((self.tenant.as_str(), factor.id.as_str()))
            .filter(factors::last_step.lt(step));
        let used = (factors::last_step.eq(step), factors::last_used_at.eq(at.naive()));
        let used = change!(self, c => Prepared(diesel::update(row).set(used)).execute(c).await)? == 1;
        Ok(used)
    }

    async fn record_use(&mut self, factor: &Factor) -> StoreResult<()> {
        let used = (
            factors::last_used_at.eq(factor.last_used_at.map(Timestamp::naive)),
            factors::passkey.eq(passkey_of(factor)?),
        );
        let row = factors::table.find((self.tenant.as_str(), factor.id.as_str()));
        change_unaudited!(self, Unaudited::LastUse, c => Prepared(diesel::update(row).set(used)).execute(c).await)?;
        Ok(())
    }

    async fn drop_pending(&mut self, user: &UserId) -> StoreResult<()> {
        let pending = factors::table
            .filter(factors::tenant_id.eq(self.tenant.as_str()))
            .filter(factors::user_id.eq(user.as_str()))
            .filter(factors::verified_at.is_null());
        change_unaudited!(self, Unaudited::StepTaken, c => dsl::delete(pending).execute(c).await)?;
        Ok(())
    }

    async fn delete_factor(&mut self, user: &UserId, id: &FactorId) -> StoreResult<bool> {
        let row = factors::table
            .find((self.tenant.as_str(), id.as_str()))
            .filter(factors::user_id.eq(user.as_str()));
        let deleted = change!(self, c => dsl::delete(row).execute(c).await)? == 1;
        Ok(deleted)
    }

    async fn unused_codes(&mut self, user: &UserId) -> StoreResult<usize> {
        let query = recovery_codes::table
            .filter(recovery_codes::tenant_id.eq(self.tenant.as_str()))
            .filter(recovery_codes::user_id.eq(user.as_str()))
            .filter(recovery_codes::used_at.is_null())
            .count();
        let count: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    async fn replace_codes(&mut self, user: &UserId, hashes: &[[u8; 32]]) -> StoreResult<()> {
        let all = recovery_codes::table
            .filter(recovery_codes::tenant_id.eq(self.tenant.as_str()))
            .filter(recovery_codes::user_id.eq(user.as_str()));
        change!(self, c => dsl::delete(all).execute(c).await)?;
        for hash in hashes {
            let row = CodeRow {
                tenant_id: self.tenant.to_string(),
                user_id: user.to_string(),
                hash: hash.to_vec(),
                used_at: None,
            };
            let query = diesel::insert_into(recovery_codes::table).values(&row);
            change!(self, c => query.execute(c).await)?;
        }
        Ok(())
    }

    async fn use_code(&mut self, user: &UserId, hash: &[u8; 32], at: Timestamp) -> StoreResult<bool> {
        let row = recovery_codes::table
            .find((self.tenant.as_str(), user.as_str(), &hash[..]))
            .filter(recovery_codes::used_at.is_null());
        let query = Prepared(diesel::update(row).set(recovery_codes::used_at.eq(at.naive())));
        let used = change!(self, c => query.execute(c).await)? == 1;
        Ok(used)
    }

    async fn wrong_codes(&mut self, user: &UserId) -> StoreResult<i64> {
        let row = wrong_codes::table.find((self.tenant.as_str(), user.as_str()));
        let count: Option<i64> =
            read!(self, c => row.select(wrong_codes::in_a_row).first(c).await.optional())?;
        Ok(count.unwrap_or_default())
    }

    async fn count_wrong_code(&mut self, user: &UserId) -> StoreResult<()> {
        let row = (
            wrong_codes::tenant_id.eq(self.tenant.as_str()),
            wrong_codes::user_id.eq(user.as_str()),
            wrong_codes::in_a_row.eq(1),
        );
        let insert = diesel::insert_into(wrong_codes::table).values(row);
        let upsert = insert.on_conflict((wrong_codes::tenant_id, wrong_codes::user_id)).do_update();
        let query = Prepared(upsert.set(wrong_codes::in_a_row.eq(wrong_codes::in_a_row + 1)));
        change_unaudited!(self, Unaudited::AttemptCounted, c => query.execute(c).await)?;
        Ok(())
    }

    async fn clear_wrong_codes(&mut self, user: &UserId) -> StoreResult<()> {
        let row = wrong_codes::table.find((self.tenant.as_str(), user.as_str()));
        change_unaudited!(self, Unaudited::AttemptCounted, c => dsl::delete(row).execute(c).await)?;
        Ok(())
    }
}
