//! Group operations: create, read, list, replace, patch, delete.

use std::collections::{BTreeMap, BTreeSet};

use kernel::{Ctx, GroupId, UserId};

use crate::{
    Error, Group, GroupDraft, GroupStore, MAX_MEMBERSHIPS, MemberChanges, MembersChanged, Patch, Query,
    ResourcePage,
};

/// The outcome of creating or changing a group.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedGroup {
    /// The group after the change.
    pub group: Group,
    /// The names of the changed attributes, except `members`.
    pub changed: Vec<String>,
    /// The members who were added or removed.
    pub members: MembersChanged,
}

/// Creates a group with its members.
pub async fn create(ctx: &Ctx, store: &mut dyn GroupStore, draft: GroupDraft) -> Result<ChangedGroup, Error> {
    let mut group = Group::new(ctx, &draft)?;
    if let Some(id) = store.new_group_id(ctx).await? {
        group.id = id;
    }
    if !store.insert_group(&group).await? {
        return Err(Error::Uniqueness { attribute: "displayName" });
    }
    let joining = MemberChanges { join: draft.members, ..MemberChanges::default() };
    let members = change_members(store, &group.id, &joining).await?;
    Ok(ChangedGroup { group, changed: Vec::new(), members })
}

/// Reads one group, without its members.
pub async fn get(store: &mut dyn GroupStore, id: &GroupId) -> Result<Group, Error> {
    store.group(id).await?.ok_or(Error::NotFound)
}

/// Reads all members of one group.
pub async fn members(store: &mut dyn GroupStore, id: &GroupId) -> Result<Vec<UserId>, Error> {
    let read = store.members(std::slice::from_ref(id), u32::MAX).await?;
    Ok(read.into_iter().map(|(_, member)| member).collect())
}

/// Reads a page of groups, with their members only if `members` is set.
pub async fn list(
    store: &mut dyn GroupStore,
    query: &Query,
    members: bool,
) -> Result<ResourcePage<(Group, Vec<UserId>)>, Error> {
    let found = store.find_groups(query).await?;
    let mut of: BTreeMap<GroupId, Vec<UserId>> = BTreeMap::new();
    if members && !found.resources.is_empty() {
        for (group, member) in members_of(store, &found).await? {
            of.entry(group).or_default().push(member);
        }
    }
    Ok(found.map(|group| {
        let members = of.remove(&group.id).unwrap_or_default();
        (group, members)
    }))
}

async fn members_of(
    store: &mut dyn GroupStore,
    found: &ResourcePage<Group>,
) -> Result<Vec<(GroupId, UserId)>, Error> {
    let ids: Vec<_> = found.resources.iter().map(|group| group.id.clone()).collect();
    let limit = if ids.len() == 1 { u32::MAX } else { MAX_MEMBERSHIPS + 1 };
    let members = store.members(&ids, limit).await?;
    if ids.len() > 1 && members.len() > MAX_MEMBERSHIPS as usize {
        let problem = format!(
            "members: these groups have more than {MAX_MEMBERSHIPS} members; request fewer groups with count, or \
             omit members with excludedAttributes=members"
        );
        return Err(Error::TooMany(problem));
    }
    Ok(members)
}

/// Replaces a group and its members (RFC 7644 §3.5.1).
pub async fn replace(
    ctx: &Ctx,
    store: &mut dyn GroupStore,
    id: &GroupId,
    mut draft: GroupDraft,
) -> Result<ChangedGroup, Error> {
    let before = store.group_for_update(id).await?.ok_or(Error::NotFound)?;
    let members = MemberChanges::exactly(std::mem::take(&mut draft.members));
    let after = before.replaced(draft)?;
    change(ctx, store, before, after, &members).await
}

/// Applies a PATCH to a group (RFC 7644 §3.5.2), completely or not at all. Unaffected members are not read.
pub async fn patch(
    ctx: &Ctx,
    store: &mut dyn GroupStore,
    id: &GroupId,
    patch: &Patch,
) -> Result<ChangedGroup, Error> {
    let before = store.group_for_update(id).await?.ok_or(Error::NotFound)?;
    let (after, members) = before.patched(patch)?;
    change(ctx, store, before, after, &members).await
}

/// Deletes a group but not its members, and returns it as it was.
pub async fn delete(store: &mut dyn GroupStore, id: &GroupId) -> Result<Group, Error> {
    let group = store.group_for_update(id).await?.ok_or(Error::NotFound)?;
    store.delete_group(id).await?;
    Ok(group)
}

async fn change(
    ctx: &Ctx,
    store: &mut dyn GroupStore,
    before: Group,
    mut after: Group,
    members: &MemberChanges,
) -> Result<ChangedGroup, Error> {
    let members = change_members(store, &before.id, members).await?;
    let changed = before.changes(&after);
    if changed.is_empty() && members.is_empty() {
        return Ok(ChangedGroup { group: before, changed, members });
    }
    // `lastModified` never goes back, even if the clocks of two machines differ.
    after.last_modified = ctx.now.max(before.last_modified);
    store.update_group(&after).await?;
    Ok(ChangedGroup { group: after, changed, members })
}

async fn change_members(
    store: &mut dyn GroupStore,
    id: &GroupId,
    changes: &MemberChanges,
) -> Result<MembersChanged, Error> {
    if changes.is_empty() {
        return Ok(MembersChanged::default());
    }
    let joining: Vec<_> = changes.join.iter().cloned().collect();
    let strangers: BTreeSet<_> = store.strangers(&joining).await?.into_iter().collect();
    if let Some(stranger) = strangers.first() {
        return Err(Error::no_such_member(stranger.as_str()));
    }
    Ok(store.change_members(id, changes).await?)
}
