//! Groups and their members.

use std::collections::HashSet;

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::{
    backend::Backend,
    prelude::*,
    query_builder::{BoxedSqlQuery, SqlQuery},
    serialize::ToSql,
    sql_types::{HasSqlType, Text},
};
use diesel_async::RunQueryDsl;
use kernel::{GroupId, StoreError, StoreResult, Timestamp, UserId};
use scim_core::{Group, GroupStore, MemberChanges, MembersChanged, Query, ResourcePage};

use super::{
    filter::{FilterScope, Kind},
    list::{Slice, load_and_count},
};
use crate::{
    Tx,
    conn::Conn,
    db::{change, lock, read},
    dialect::Dialect,
    error::{corrupt, store_error},
    prepared::Prepared,
    schema::{group_members, groups},
};

#[derive(Queryable, Selectable)]
#[diesel(table_name = groups)]
struct GroupRow {
    id: String,
    display_name: String,
    external_id: Option<String>,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

#[derive(Insertable)]
#[diesel(table_name = groups, treat_none_as_default_value = false)]
struct NewGroupRow<'a> {
    tenant_id: &'a str,
    id: &'a str,
    created_at: NaiveDateTime,
    #[diesel(embed)]
    changes: GroupChanges<'a>,
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = groups, treat_none_as_null = true, treat_none_as_default_value = false)]
struct GroupChanges<'a> {
    display_name: &'a str,
    display_name_key: String,
    external_id: Option<String>,
    updated_at: NaiveDateTime,
}

#[derive(QueryableByName)]
struct GroupIdRow {
    #[diesel(sql_type = Text)]
    id: String,
}

impl<'a> GroupChanges<'a> {
    fn of(group: &'a Group) -> Self {
        Self {
            display_name: &group.display_name,
            display_name_key: group.key(),
            external_id: group.external_id.clone(),
            updated_at: group.last_modified.naive(),
        }
    }
}

impl TryFrom<GroupRow> for Group {
    type Error = StoreError;

    fn try_from(row: GroupRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("groups.id", error))?,
            display_name: row.display_name,
            external_id: row.external_id,
            created: Timestamp::from_naive(row.created_at),
            last_modified: Timestamp::from_naive(row.updated_at),
        })
    }
}

/// Expands a bound JSON array to rows with the column `value`, so that thousands of ids take one parameter.
fn elements(dialect: Dialect, parameter: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("json_array_elements_text({parameter}::json) AS each(value)"),
        Dialect::Sqlite => format!("json_each({parameter}) AS each"),
    }
}

fn json(ids: impl Iterator<Item = impl AsRef<str>>) -> String {
    let ids: Vec<_> = ids.map(|id| id.as_ref().to_owned()).collect();
    serde_json::Value::from(ids).to_string()
}

/// Binds texts to `$1`, `$2`, … in a statement. (SQLite's own syntax is `?1`; there `$1` is a named parameter.)
fn bound<'q, DB>(text: &str, parameters: &[&'q str]) -> Prepared<BoxedSqlQuery<'q, DB, SqlQuery>>
where
    DB: Backend + HasSqlType<Text>,
    str: ToSql<Text, DB>,
{
    let query = diesel::sql_query(text).into_boxed();
    Prepared(parameters.iter().fold(query, |query, parameter| query.bind::<Text, _>(*parameter)))
}

async fn load_ids(conn: &mut Conn, text: &str, parameters: &[&str]) -> StoreResult<Vec<UserId>> {
    let mut rows: Vec<GroupIdRow> = match conn {
        Conn::Postgres(pg) => {
            let result = bound(text, parameters).load(pg.in_transaction().await.map_err(store_error)?).await;
            pg.note(result)
        }
        Conn::Sqlite(c) => bound(&text.replace('$', "?"), parameters).load(c).await,
    }
    .map_err(store_error)?;
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    rows.iter().map(|row| row.id.parse().map_err(|error| corrupt("users.id", error))).collect()
}

impl Tx {
    /// Runs a query and returns its ids in order.
    async fn ids(&mut self, text: &str, parameters: &[&str]) -> StoreResult<Vec<UserId>> {
        load_ids(self.db.reading().await?, text, parameters).await
    }

    /// Runs a change and returns the ids of the changed rows in order.
    async fn changed_ids(&mut self, text: &str, parameters: &[&str]) -> StoreResult<Vec<UserId>> {
        let changed = load_ids(self.db.changing().await?, text, parameters).await;
        self.db.note(changed)
    }

    async fn one_group(&mut self, id: &GroupId, for_update: bool) -> StoreResult<Option<Group>> {
        let query = groups::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<GroupRow> = if for_update {
            self.db.require_writable()?;
            lock!(self, for_update, first, query.select(GroupRow::as_select()))?
        } else {
            read!(self, c => query.select(GroupRow::as_select()).first(c).await.optional())?
        };
        row.map(Group::try_from).transpose()
    }
}

#[async_trait]
impl GroupStore for Tx {
    async fn group(&mut self, id: &GroupId) -> StoreResult<Option<Group>> {
        self.one_group(id, false).await
    }

    async fn group_for_update(&mut self, id: &GroupId) -> StoreResult<Option<Group>> {
        self.one_group(id, true).await
    }

    async fn find_groups(&mut self, query: &Query) -> StoreResult<ResourcePage<Group>> {
        let slice = Slice::of(query);
        let of = FilterScope { kind: Kind::Groups, dialect: self.db.dialect(), tenant: &self.tenant };
        let count = groups::table.filter(of.matching(query.filter.as_ref())).count();
        let page = groups::table.filter(of.page(query.filter.as_ref(), &slice)).order(groups::id);
        let page = page.limit(slice.limit).offset(slice.offset);
        let (rows, total): (Vec<GroupRow>, _) =
            load_and_count!(self.db.reading().await?, slice, page.select(GroupRow::as_select()), count)?;
        Ok(slice.found(total, rows.into_iter().map(Group::try_from).collect::<Result<Vec<_>, _>>()?))
    }

    async fn members(&mut self, ids: &[GroupId], limit: u32) -> StoreResult<Vec<(GroupId, UserId)>> {
        let ids: Vec<_> = ids.iter().map(GroupId::to_string).collect();
        let query = group_members::table
            .filter(group_members::tenant_id.eq(self.tenant.as_str()))
            .filter(group_members::group_id.eq_any(ids))
            .order((group_members::group_id, group_members::user_id))
            .select((group_members::group_id, group_members::user_id))
            .limit(i64::from(limit));
        let rows: Vec<(String, String)> = read!(self, c => query.load(c).await)?;
        let parse = |(group, user): (String, String)| {
            let group = group.parse().map_err(|error| corrupt("group_members.group_id", error))?;
            Ok((group, user.parse().map_err(|error| corrupt("group_members.user_id", error))?))
        };
        rows.into_iter().map(parse).collect()
    }

    async fn insert_group(&mut self, group: &Group) -> StoreResult<bool> {
        let tenant = self.tenant.clone();
        let row = NewGroupRow {
            tenant_id: tenant.as_str(),
            id: group.id.as_str(),
            created_at: group.created.naive(),
            changes: GroupChanges::of(group),
        };
        let query = diesel::insert_into(groups::table).values(row).on_conflict_do_nothing();
        let inserted = change!(self, c => query.execute(c).await)? == 1;
        Ok(inserted)
    }

    async fn update_group(&mut self, group: &Group) -> StoreResult<()> {
        let row = groups::table.find((self.tenant.as_str(), group.id.as_str()));
        let changes = GroupChanges::of(group);
        if change!(self, c => Prepared(diesel::update(row).set(changes)).execute(c).await)? != 1 {
            return Err(StoreError::Aborted("the tenant has no group with this ID"));
        }
        Ok(())
    }

    async fn delete_group(&mut self, id: &GroupId) -> StoreResult<()> {
        let row = groups::table.find((self.tenant.as_str(), id.as_str()));
        if change!(self, c => diesel::delete(row).execute(c).await)? != 1 {
            return Err(StoreError::Aborted("the tenant has no group with this ID"));
        }
        Ok(())
    }

    async fn strangers(&mut self, users: &[UserId]) -> StoreResult<Vec<UserId>> {
        if users.is_empty() {
            return Ok(Vec::new());
        }
        // A change locks the users, so that a user who is deleted concurrently cannot join.
        let lock_clause = match self.db.dialect() {
            Dialect::Postgres if self.db.is_writable() => " FOR KEY SHARE OF users",
            _ => "",
        };
        let text = format!(
            "SELECT users.id FROM users WHERE users.tenant_id = $1 AND users.deleted_at IS NULL \
             AND users.id IN (SELECT each.value FROM {}){lock_clause}",
            elements(self.db.dialect(), "$2")
        );
        let tenant = self.tenant.clone();
        let known = self.ids(&text, &[tenant.as_str(), &json(users.iter().map(UserId::as_str))]).await?;
        let known: HashSet<_> = known.into_iter().collect();
        Ok(users.iter().filter(|id| !known.contains(*id)).cloned().collect())
    }

    async fn change_members(
        &mut self,
        group: &GroupId,
        changes: &MemberChanges,
    ) -> StoreResult<MembersChanged> {
        let (tenant, dialect) = (self.tenant.clone(), self.db.dialect());
        let elements = |parameter| elements(dialect, parameter);
        let joining = json(changes.join.iter().map(UserId::as_str));
        let mut changed = MembersChanged::default();
        if changes.replace || !changes.leave.is_empty() {
            let leaving = json(changes.leave.iter().map(UserId::as_str));
            let (who, list) = if changes.replace { ("NOT IN", &joining) } else { ("IN", &leaving) };
            let text = format!(
                "DELETE FROM group_members WHERE tenant_id = $1 AND group_id = $2 \
                 AND user_id {who} (SELECT each.value FROM {}) RETURNING user_id AS id",
                elements("$3")
            );
            changed.left = self.changed_ids(&text, &[tenant.as_str(), group.as_str(), list]).await?;
        }
        if !changes.join.is_empty() {
            let text = format!(
                "INSERT INTO group_members (tenant_id, group_id, user_id) SELECT users.tenant_id, $2, users.id \
                 FROM users WHERE users.tenant_id = $1 AND users.id IN (SELECT each.value FROM {}) \
                 ON CONFLICT DO NOTHING RETURNING user_id AS id",
                elements("$3")
            );
            changed.joined = self.changed_ids(&text, &[tenant.as_str(), group.as_str(), &joining]).await?;
            // Marks users who join their first group.
            let text = format!(
                "UPDATE users SET has_groups = TRUE WHERE tenant_id = $1 AND NOT has_groups \
                 AND id IN (SELECT each.value FROM {}) RETURNING id",
                elements("$2")
            );
            if !changed.joined.is_empty() {
                self.changed_ids(&text, &[tenant.as_str(), &json(changed.joined.iter().map(UserId::as_str))])
                    .await?;
            }
        }
        Ok(changed)
    }
}
