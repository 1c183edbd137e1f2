//! Users that receivers have removed from their streams.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{Email, StoreResult, UserId};
use scim_core::UserStore as _;
use signals::{StreamId, SubjectStore};

use crate::{
    Tx,
    db::{change, read},
    schema::signal_removed_subjects as rows,
};

#[async_trait]
impl SubjectStore for Tx {
    async fn user_with_address(&mut self, email: &str) -> StoreResult<Option<UserId>> {
        match email.parse::<Email>() {
            Ok(email) => self.user_of_sign_in_email(&email.key()).await,
            Err(_) => Ok(None),
        }
    }

    async fn count_removed_subjects(&mut self, stream: &StreamId) -> StoreResult<i64> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::stream_id.eq(stream.as_str()))
            .count();
        read!(self, c => query.get_result(c).await)
    }

    async fn exclude_subject(&mut self, stream: &StreamId, user: &UserId) -> StoreResult<bool> {
        let row = (
            rows::tenant_id.eq(self.tenant.as_str()),
            rows::stream_id.eq(stream.as_str()),
            rows::user_id.eq(user.as_str()),
        );
        let added = change!(self, c => diesel::insert_into(rows::table).values(row).on_conflict_do_nothing().execute(c).await)?;
        Ok(added > 0)
    }

    async fn include_subject(&mut self, stream: &StreamId, user: &UserId) -> StoreResult<bool> {
        let row = rows::table.find((self.tenant.as_str(), stream.as_str(), user.as_str()));
        Ok(change!(self, c => diesel::delete(row).execute(c).await)? > 0)
    }
}
