//! The row of a step-up token.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use kernel::{StoreResult, Timestamp};
use stepup::{Factor, Grant};

use crate::{error::corrupt, schema::step_up_tokens as rows};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
pub(crate) struct GrantRow {
    pub(crate) tenant_id: String,
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) session_id: String,
    pub(crate) purpose: String,
    pub(crate) factor: String,
    pub(crate) ip: String,
    pub(crate) issued_at: NaiveDateTime,
    pub(crate) expires_at: NaiveDateTime,
    pub(crate) used_at: Option<NaiveDateTime>,
    pub(crate) revoked_at: Option<NaiveDateTime>,
}

impl GrantRow {
    pub(crate) fn read(self) -> StoreResult<Grant> {
        let bad = |column: &str, error: &dyn std::fmt::Display| corrupt(column, error);
        Ok(Grant {
            id: self.id.parse().map_err(|error| bad("step_up_tokens.id", &error))?,
            user: self.user_id.parse().map_err(|error| bad("step_up_tokens.user_id", &error))?,
            session: self.session_id,
            purpose: self.purpose,
            factor: Factor::parse(&self.factor).ok_or_else(|| bad("step_up_tokens.factor", &self.factor))?,
            ip: self.ip.parse().map_err(|error| bad("step_up_tokens.ip", &error))?,
            issued_at: Timestamp::from_naive(self.issued_at),
            expires_at: Timestamp::from_naive(self.expires_at),
        })
    }
}

/// Inserts a token.
macro_rules! insert_grant {
    ($row:expr, $conn:expr) => {
        diesel_async::RunQueryDsl::execute(
            $crate::prepared::Kept(
                diesel::insert_into($crate::schema::step_up_tokens::table).values(&**$row),
            ),
            $conn,
        )
        .await
    };
}
pub(crate) use insert_grant;
