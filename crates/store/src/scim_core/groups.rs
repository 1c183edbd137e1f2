//! Groups and their members.

use std::collections::HashSet;

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{GroupId, StoreError, StoreResult, Timestamp, UserId};
use scim_core::{Group, GroupStore, MemberChanges, MembersChanged, Query, ResourcePage};

use super::{
    filter::{FilterScope, Kind},
    list::{Slice, load_and_count},
};
use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    dialect::Dialect,
    error::corrupt,
    prepared::Prepared,
    schema::{group_members, groups, role_rules},
    text_lists::{elements, json_list, load_texts},
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

fn user_ids(mut texts: Vec<String>) -> StoreResult<Vec<UserId>> {
    texts.sort_unstable();
    texts.iter().map(|id| id.parse().map_err(|error| corrupt("users.id", error))).collect()
}

impl Tx {
    /// Runs a query and returns its ids in order.
    async fn ids(&mut self, text: &str, parameters: &[&str]) -> StoreResult<Vec<UserId>> {
        user_ids(load_texts(self.db.reading().await?, text, parameters).await?)
    }

    /// Runs a change and returns the ids of the changed rows in order.
    async fn changed_ids(&mut self, text: &str, parameters: &[&str]) -> StoreResult<Vec<UserId>> {
        let changed = load_texts(self.db.changing().await?, text, parameters).await;
        user_ids(self.db.note(changed)?)
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
        let rules = role_rules::table
            .filter(role_rules::tenant_id.eq(self.tenant.as_str()))
            .filter(role_rules::group_id.eq(id.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(rules).execute(c).await)?;
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
            "SELECT users.id AS text FROM users WHERE users.tenant_id = $1 AND users.deleted_at IS NULL \
             AND users.id IN (SELECT each.value FROM {}){lock_clause}",
            elements(self.db.dialect(), "$2")
        );
        let tenant = self.tenant.clone();
        let known = self.ids(&text, &[tenant.as_str(), &json_list(users.iter().map(UserId::as_str))]).await?;
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
        let joining = json_list(changes.join.iter().map(UserId::as_str));
        let mut changed = MembersChanged::default();
        if changes.replace || !changes.leave.is_empty() {
            let leaving = json_list(changes.leave.iter().map(UserId::as_str));
            let (who, list) = if changes.replace { ("NOT IN", &joining) } else { ("IN", &leaving) };
            let text = format!(
                "DELETE FROM group_members WHERE tenant_id = $1 AND group_id = $2 \
                 AND user_id {who} (SELECT each.value FROM {}) RETURNING user_id AS text",
                elements("$3")
            );
            changed.left = self.changed_ids(&text, &[tenant.as_str(), group.as_str(), list]).await?;
        }
        if !changes.join.is_empty() {
            let text = format!(
                "INSERT INTO group_members (tenant_id, group_id, user_id) SELECT users.tenant_id, $2, users.id \
                 FROM users WHERE users.tenant_id = $1 AND users.id IN (SELECT each.value FROM {}) \
                 ON CONFLICT DO NOTHING RETURNING user_id AS text",
                elements("$3")
            );
            changed.joined = self.changed_ids(&text, &[tenant.as_str(), group.as_str(), &joining]).await?;
            // Marks users who join their first group.
            let text = format!(
                "UPDATE users SET has_groups = TRUE WHERE tenant_id = $1 AND NOT has_groups \
                 AND id IN (SELECT each.value FROM {}) RETURNING id AS text",
                elements("$2")
            );
            if !changed.joined.is_empty() {
                self.changed_ids(
                    &text,
                    &[tenant.as_str(), &json_list(changed.joined.iter().map(UserId::as_str))],
                )
                .await?;
            }
        }
        Ok(changed)
    }
}
