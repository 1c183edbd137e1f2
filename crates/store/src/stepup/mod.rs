//! Step-up challenges and single-use step-up tokens.

pub(crate) mod grant_row;

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp, UserId};
use stepup::{Challenge, ChallengeId, Consumption, Grant, GrantId, StepUpStore};

use self::grant_row::GrantRow;
use crate::{
    Tx,
    db::{Row, change, change_unaudited, lock, read},
    error::corrupt,
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{step_up_challenges as challenges, step_up_tokens as rows},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = challenges, treat_none_as_default_value = false)]
struct ChallengeRow {
    tenant_id: String,
    id: String,
    user_id: String,
    session_id: String,
    purpose: String,
    factors: JsonText,
    state: JsonText,
    created_at: NaiveDateTime,
    wrong_answers: i64,
}

/// Deletes the matching challenges and revokes the matching unused tokens. Returns the number of tokens.
macro_rules! revoke_step_ups {
    ($tx:expr, $at:expr, $of:expr) => {{
        use $crate::schema::{step_up_challenges as challenges, step_up_tokens as rows};
        let (tx, (of_challenges, of_tokens)) = ($tx, $of);
        let matching =
            challenges::table.filter(challenges::tenant_id.eq(tx.tenant.as_str())).filter(of_challenges);
        $crate::db::change_unaudited!(tx, audit::Unaudited::StepTaken, c => diesel::delete(matching).execute(c).await)?;
        let unused = rows::table
            .filter(rows::tenant_id.eq(tx.tenant.as_str()))
            .filter(of_tokens)
            .filter(rows::used_at.is_null())
            .filter(rows::revoked_at.is_null());
        let query = $crate::prepared::Prepared(diesel::update(unused).set(rows::revoked_at.eq($at.naive())));
        $crate::db::change_unaudited!(tx, audit::Unaudited::StepTaken, c => query.execute(c).await)
    }};
}

pub(crate) use revoke_step_ups;

#[async_trait]
impl StepUpStore for Tx {
    async fn insert_challenge(&mut self, challenge: &Challenge, live: i64) -> StoreResult<()> {
        let of_session = challenges::table
            .filter(challenges::tenant_id.eq(self.tenant.as_str()))
            .filter(challenges::session_id.eq(challenge.session.as_str()));
        let newest_first = (challenges::created_at.desc(), challenges::id.desc());
        let older = of_session.select(challenges::id).order(newest_first).offset(live - 1);
        let older: Vec<String> = read!(self, c => older.load(c).await)?;
        if !older.is_empty() {
            let query = dsl::delete(of_session.filter(challenges::id.eq_any(older)));
            change_unaudited!(self, Unaudited::StepTaken, c => query.execute(c).await)?;
        }
        let row = ChallengeRow {
            tenant_id: self.tenant.to_string(),
            id: challenge.id.to_string(),
            user_id: challenge.user.to_string(),
            session_id: challenge.session.clone(),
            purpose: challenge.purpose.clone(),
            factors: json_text("step_up_challenges.factors", &challenge.factors)?,
            state: json_text("step_up_challenges.state", &challenge.state)?,
            created_at: challenge.created_at.naive(),
            wrong_answers: challenge.wrong_answers,
        };
        let query = diesel::insert_into(challenges::table).values(&row);
        change_unaudited!(self, Unaudited::StepTaken, c => query.execute(c).await)?;
        Ok(())
    }

    async fn challenge(&mut self, id: &ChallengeId) -> StoreResult<Option<Challenge>> {
        let query = challenges::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<ChallengeRow> =
            lock!(self, for_update, first, query.select(ChallengeRow::as_select()))?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Challenge {
            id: id.clone(),
            user: row.user_id.parse().map_err(|error| corrupt("step_up_challenges.user_id", error))?,
            session: row.session_id,
            purpose: row.purpose,
            factors: read_json("step_up_challenges.factors", &row.factors)?,
            state: read_json("step_up_challenges.state", &row.state)?,
            created_at: Timestamp::from_naive(row.created_at),
            wrong_answers: row.wrong_answers,
        }))
    }

    async fn count_wrong_answer(&mut self, challenge: &Challenge) -> StoreResult<()> {
        let row = challenges::table.find((self.tenant.as_str(), challenge.id.as_str()));
        let count = challenges::wrong_answers.eq(challenge.wrong_answers);
        change_unaudited!(self, Unaudited::AttemptCounted, c => Prepared(diesel::update(row).set(count)).execute(c).await)?;
        Ok(())
    }

    async fn take_challenge(&mut self, id: &ChallengeId) -> StoreResult<bool> {
        let row = challenges::table.find((self.tenant.as_str(), id.as_str()));
        Ok(change_unaudited!(self, Unaudited::StepTaken, c => dsl::delete(row).execute(c).await)? == 1)
    }

    async fn insert_grant(&mut self, grant: &Grant) -> StoreResult<()> {
        let row = GrantRow {
            tenant_id: self.tenant.to_string(),
            id: grant.id.to_string(),
            user_id: grant.user.to_string(),
            session_id: grant.session.clone(),
            purpose: grant.purpose.clone(),
            factor: grant.factor.as_str().to_owned(),
            ip: grant.ip.to_string(),
            issued_at: grant.issued_at.naive(),
            expires_at: grant.expires_at.naive(),
            used_at: None,
            revoked_at: None,
        };
        self.db.later(Row::Grant(Box::new(row)))?;
        Ok(())
    }

    async fn consume_grant(&mut self, id: &GrantId, at: Timestamp) -> StoreResult<Consumption> {
        let row = rows::table.find((self.tenant.as_str(), id.as_str()));
        let unused = row.filter(rows::used_at.is_null()).filter(rows::revoked_at.is_null());
        let consume = Prepared(diesel::update(unused).set(rows::used_at.eq(at.naive())));
        if change!(self, c => consume.execute(c).await)? == 1 {
            return Ok(Consumption::Now);
        }
        let used = row.select(rows::used_at);
        let used: Option<Option<NaiveDateTime>> = read!(self, c => used.first(c).await.optional())?;
        Ok(if used.flatten().is_some() { Consumption::Already } else { Consumption::Revoked })
    }

    async fn freshest_grant(
        &mut self,
        user: &UserId,
        purpose: &str,
        now: Timestamp,
    ) -> StoreResult<Option<Grant>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::user_id.eq(user.as_str()))
            .filter(rows::used_at.is_null())
            .filter(rows::revoked_at.is_null())
            .filter(rows::purpose.eq(purpose))
            .filter(rows::expires_at.gt(now.naive()))
            .order((rows::issued_at.desc(), rows::id.desc()));
        let row = read!(self, c => query.select(GrantRow::as_select()).first(c).await.optional())?;
        row.map(GrantRow::read).transpose()
    }

    async fn revoke_grants(&mut self, user: &UserId, at: Timestamp) -> StoreResult<usize> {
        let of_user = (challenges::user_id.eq(user.as_str()), rows::user_id.eq(user.as_str()));
        revoke_step_ups!(self, at, of_user)
    }
}

impl Tx {
    /// Returns whether a step-up token was issued to the session after `since`, used or not.
    pub async fn has_stepped_up(&mut self, session: &str, since: Timestamp) -> StoreResult<bool> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::session_id.eq(session))
            .filter(rows::issued_at.gt(since.naive()))
            .filter(rows::revoked_at.is_null())
            .select(rows::id);
        let found: Option<String> = read!(self, c => query.first(c).await.optional())?;
        Ok(found.is_some())
    }

    /// Revokes the unused tokens of an ended session, and deletes its challenges.
    pub(crate) async fn end_step_ups(&mut self, session: &str, at: Timestamp) -> StoreResult<usize> {
        let of_session = (challenges::session_id.eq(session), rows::session_id.eq(session));
        revoke_step_ups!(self, at, of_session)
    }

    /// Revokes the unused tokens of ended sessions, and deletes their challenges.
    pub(crate) async fn end_step_ups_of(&mut self, sessions: Vec<&str>, at: Timestamp) -> StoreResult<()> {
        if sessions.is_empty() {
            return Ok(());
        }
        let of_sessions =
            (challenges::session_id.eq_any(sessions.clone()), rows::session_id.eq_any(sessions));
        revoke_step_ups!(self, at, of_sessions)?;
        Ok(())
    }
}
