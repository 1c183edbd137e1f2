//! Invitation and password reset links.

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use directory::{Link, LinkKind, LinkStore};
use kernel::{StoreResult, Timestamp, UserId};

use crate::{
    Tx,
    db::{change, change_unaudited, read},
    error::corrupt,
    schema::links,
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = links, treat_none_as_default_value = false)]
struct LinkRow {
    tenant_id: String,
    hash: Vec<u8>,
    kind: String,
    user_id: String,
    created_at: NaiveDateTime,
    email_key: Option<String>,
    role: Option<String>,
}

#[async_trait]
impl LinkStore for Tx {
    async fn replace_links(&mut self, link: &Link) -> StoreResult<()> {
        self.drop_links(&link.user).await?;
        let row = LinkRow {
            tenant_id: self.tenant.to_string(),
            hash: link.hash.to_vec(),
            kind: link.kind.as_str().to_owned(),
            user_id: link.user.to_string(),
            created_at: link.created_at.naive(),
            email_key: link.email_key.clone(),
            role: Some(link.roles.clone()),
        };
        let query = diesel::insert_into(links::table).values(&row);
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn link(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Link>> {
        let query = links::table.find((self.tenant.as_str(), &hash[..]));
        let row: Option<LinkRow> =
            read!(self, c => query.select(LinkRow::as_select()).first(c).await.optional())?;
        // Older versions of the server write links without a role. Such links are void.
        let Some((row, roles)) = row.and_then(|row| row.role.clone().map(|roles| (row, roles))) else {
            return Ok(None);
        };
        Ok(Some(Link {
            hash: *hash,
            kind: LinkKind::parse(&row.kind).ok_or_else(|| corrupt("links.kind", &row.kind))?,
            user: row.user_id.parse().map_err(|error| corrupt("links.user_id", error))?,
            email_key: row.email_key,
            roles,
            created_at: Timestamp::from_naive(row.created_at),
        }))
    }

    async fn take_link(&mut self, hash: &[u8; 32]) -> StoreResult<bool> {
        let row = links::table.find((self.tenant.as_str(), &hash[..]));
        Ok(change_unaudited!(self, Unaudited::StepTaken, c => dsl::delete(row).execute(c).await)? == 1)
    }

    async fn drop_links(&mut self, user: &UserId) -> StoreResult<()> {
        let rows = links::table
            .filter(links::tenant_id.eq(self.tenant.as_str()))
            .filter(links::user_id.eq(user.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => dsl::delete(rows).execute(c).await)?;
        Ok(())
    }
}
