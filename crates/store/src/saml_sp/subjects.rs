//! Persistent NameIDs that are pinned to users.

use ::saml_sp::{PinnedSubject, ProviderId, Subject, SubjectStore};
use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp, UserId};

use crate::{
    Tx,
    db::{change, change_unaudited, read},
    error::corrupt,
    prepared::Prepared,
    schema::saml_subjects as rows,
};

#[derive(Queryable, Selectable)]
#[diesel(table_name = rows)]
struct SubjectRow {
    provider_id: String,
    subject: Vec<u8>,
    pinned_at: NaiveDateTime,
}

impl TryFrom<SubjectRow> for PinnedSubject {
    type Error = StoreError;

    fn try_from(row: SubjectRow) -> StoreResult<Self> {
        let subject = row.subject.try_into().map_err(|_| corrupt("saml_subjects.subject", "not 32 bytes"))?;
        Ok(Self {
            provider: row.provider_id.parse().map_err(|error| corrupt("saml_subjects.provider_id", error))?,
            subject: Subject::from_bytes(subject),
            pinned_at: Timestamp::from_naive(row.pinned_at),
        })
    }
}

impl Tx {
    /// Removes all NameIDs of a deleted user.
    pub(crate) async fn unpin_subjects(&mut self, user: &UserId) -> StoreResult<()> {
        let theirs = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::user_id.eq(user.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(theirs).execute(c).await)?;
        Ok(())
    }
}

#[async_trait]
impl SubjectStore for Tx {
    async fn pinned_subjects(&mut self, user: &UserId) -> StoreResult<Vec<PinnedSubject>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::user_id.eq(user.as_str()))
            .order(rows::provider_id);
        let found: Vec<SubjectRow> = read!(self, c => query.select(SubjectRow::as_select()).load(c).await)?;
        found.into_iter().map(PinnedSubject::try_from).collect()
    }

    async fn subject_owner(
        &mut self,
        provider: &ProviderId,
        subject: &Subject,
    ) -> StoreResult<Option<UserId>> {
        let query = rows::table
            .find((self.tenant.as_str(), provider.as_str(), &subject.as_bytes()[..]))
            .select(rows::user_id);
        let user: Option<String> = read!(self, c => query.first(c).await.optional())?;
        user.map(|id| id.parse().map_err(|error| corrupt("saml_subjects.user_id", error))).transpose()
    }

    async fn pin_subject(&mut self, user: &UserId, pinned: &PinnedSubject) -> StoreResult<bool> {
        let row = (
            rows::tenant_id.eq(self.tenant.as_str()),
            rows::provider_id.eq(pinned.provider.as_str()),
            rows::subject.eq(&pinned.subject.as_bytes()[..]),
            rows::user_id.eq(user.as_str()),
            rows::pinned_at.eq(pinned.pinned_at.naive()),
        );
        let insert = Prepared(diesel::insert_into(rows::table).values(row).on_conflict_do_nothing());
        let inserted = change!(self, c => insert.execute(c).await)? == 1;
        Ok(inserted)
    }

    async fn unpin_subject(&mut self, provider: &ProviderId, user: &UserId) -> StoreResult<bool> {
        let theirs = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::user_id.eq(user.as_str()))
            .filter(rows::provider_id.eq(provider.as_str()));
        let deleted = change!(self, c => diesel::delete(theirs).execute(c).await)? == 1;
        Ok(deleted)
    }
}
