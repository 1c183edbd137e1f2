//! Changes of dry runs.

use audit::Unaudited;
use diesel::{dsl, prelude::*, upsert::excluded};
use diesel_async::RunQueryDsl;
use kernel::{GroupId, StoreResult, Timestamp, UserId};
use scim_core::{Attributes, Group, OverlayChanges, User};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokens::{ScimTokenId, removals::RemovalStore};

use crate::{
    Tx,
    db::{change_unaudited, read},
    error::corrupt,
    prepared::Prepared,
    schema::dry_run_changes as rows,
};

const USER: &str = "USER";
const GROUP: &str = "GROUP";
const JOINED: &str = "JOINED";
const LEFT: &str = "LEFT";

#[derive(Insertable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct ChangeRow<'a> {
    tenant_id: &'a str,
    token_id: &'a str,
    kind: &'static str,
    id: &'a str,
    member: &'a str,
    document: Option<String>,
}

/// A user as it would be, without its groups.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserDocument {
    user_name: String,
    external_id: Option<String>,
    active: bool,
    /// Parsed only on access.
    attributes: Box<RawValue>,
    created: Timestamp,
    last_modified: Timestamp,
}

/// A group as it would be, without its members.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupDocument {
    display_name: String,
    external_id: Option<String>,
    created: Timestamp,
    last_modified: Timestamp,
}

/// The kind, id and member of a row.
type Key<'c> = (&'static str, &'c str, &'c str);

fn to_text(document: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(document).map_err(|error| corrupt("dry_run_changes.document", error))
}

fn from_text<T: for<'de> Deserialize<'de>>(text: &str) -> StoreResult<T> {
    serde_json::from_str(text).map_err(|error| corrupt("dry_run_changes.document", error))
}

fn user_text(user: &User) -> StoreResult<String> {
    to_text(&UserDocument {
        user_name: user.user_name.clone(),
        external_id: user.external_id.clone(),
        active: user.active,
        attributes: RawValue::from_string(user.attributes.text().into_owned())
            .map_err(|error| corrupt("dry_run_changes.document", error))?,
        created: user.created,
        last_modified: user.last_modified,
    })
}

fn group_text(group: &Group) -> StoreResult<String> {
    to_text(&GroupDocument {
        display_name: group.display_name.clone(),
        external_id: group.external_id.clone(),
        created: group.created,
        last_modified: group.last_modified,
    })
}

fn read_user(id: &UserId, text: &str) -> StoreResult<User> {
    let UserDocument { user_name, external_id, active, attributes, created, last_modified } =
        from_text(text)?;
    Ok(User {
        id: id.clone(),
        user_name,
        external_id,
        active,
        attributes: Attributes::read(String::from(Box::<str>::from(attributes)))
            .map_err(|error| corrupt("dry_run_changes.document", error))?,
        created,
        last_modified,
        groups: Vec::new(),
    })
}

fn read_group(id: &GroupId, text: &str) -> StoreResult<Group> {
    let GroupDocument { display_name, external_id, created, last_modified } = from_text(text)?;
    Ok(Group { id: id.clone(), display_name, external_id, created, last_modified })
}

/// Returns the rows that are new or different after the changes.
fn changed_rows<'c>(
    before: &OverlayChanges,
    after: &'c OverlayChanges,
) -> StoreResult<Vec<(Key<'c>, Option<String>)>> {
    let mut rows = Vec::new();
    for (id, user) in after.users.iter().filter(|(id, user)| before.users.get(id) != Some(user)) {
        rows.push(((USER, id.as_str(), ""), user.as_ref().map(user_text).transpose()?));
    }
    for (id, group) in after.groups.iter().filter(|(id, group)| before.groups.get(id) != Some(group)) {
        rows.push(((GROUP, id.as_str(), ""), group.as_ref().map(group_text).transpose()?));
    }
    rows.extend(missing_members(after, before).into_iter().map(|key| (key, None)));
    Ok(rows)
}

/// Returns the changes of memberships that are not among the others.
fn missing_members<'c>(changes: &'c OverlayChanges, among: &OverlayChanges) -> Vec<Key<'c>> {
    let mut keys = Vec::new();
    for (group, members) in &changes.members {
        let others = among.members.get(group);
        for (kind, users, others) in [
            (JOINED, &members.joined, others.map(|others| &others.joined)),
            (LEFT, &members.left, others.map(|others| &others.left)),
        ] {
            let missing = users.iter().filter(|user| others.is_none_or(|others| !others.contains(user)));
            keys.extend(missing.map(|user| (kind, group.as_str(), user.as_str())));
        }
    }
    keys
}

impl Tx {
    /// Returns the changes of the dry run of a token, and locks the token in a unit of work that writes.
    pub async fn dry_run(&mut self, token: &ScimTokenId) -> StoreResult<OverlayChanges> {
        self.removal_state(token).await?;
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::token_id.eq(token.as_str()))
            .select((rows::kind, rows::id, rows::member, rows::document));
        let found: Vec<(String, String, String, Option<String>)> = read!(self, c => query.load(c).await)?;
        let mut changes = OverlayChanges::default();
        for (kind, id, member, document) in found {
            let group = || id.parse::<GroupId>().map_err(|error| corrupt("dry_run_changes.id", error));
            let member =
                || member.parse::<UserId>().map_err(|error| corrupt("dry_run_changes.member", error));
            match kind.as_str() {
                USER => {
                    let id: UserId = id.parse().map_err(|error| corrupt("dry_run_changes.id", error))?;
                    let user = document.map(|text| read_user(&id, &text)).transpose()?;
                    changes.users.insert(id, user);
                }
                GROUP => {
                    let id = group()?;
                    let read = document.map(|text| read_group(&id, &text)).transpose()?;
                    changes.groups.insert(id, read);
                }
                JOINED => drop(changes.members.entry(group()?).or_default().joined.insert(member()?)),
                LEFT => drop(changes.members.entry(group()?).or_default().left.insert(member()?)),
                other => return Err(corrupt("dry_run_changes.kind", other)),
            }
        }
        Ok(changes)
    }

    /// Stores the changes of a dry run, of which `before` are stored.
    pub async fn save_dry_run(
        &mut self,
        token: &ScimTokenId,
        before: &OverlayChanges,
        after: &OverlayChanges,
    ) -> StoreResult<()> {
        let tenant = self.tenant.to_string();
        for ((kind, id, member), document) in changed_rows(before, after)? {
            let row = ChangeRow { tenant_id: &tenant, token_id: token.as_str(), kind, id, member, document };
            let key = (rows::tenant_id, rows::token_id, rows::kind, rows::id, rows::member);
            let upsert = diesel::insert_into(rows::table).values(&row).on_conflict(key).do_update();
            let query = Prepared(upsert.set(rows::document.eq(excluded(rows::document))));
            change_unaudited!(self, Unaudited::Simulated, c => query.execute(c).await)?;
        }
        // Memberships that are again as in the store.
        for (kind, id, member) in missing_members(before, after) {
            let row = rows::table.find((&tenant, token.as_str(), kind, id, member));
            change_unaudited!(self, Unaudited::Simulated, c => dsl::delete(row).execute(c).await)?;
        }
        Ok(())
    }

    /// Deletes the changes of a dry run.
    pub(crate) async fn drop_dry_run(&mut self, token: &ScimTokenId) -> StoreResult<()> {
        let changes = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::token_id.eq(token.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => dsl::delete(changes).execute(c).await)?;
        Ok(())
    }
}
