//! The limit of memberships in a list of groups.

use scim_core::{
    Error, Group, GroupDraft, GroupId, GroupStore, MAX_MEMBERSHIPS, MemberChanges, MembersChanged, Query,
    ResourcePage, StoreResult, UserId, async_trait, groups,
};
use serde_json::json;

use crate::ctx;

/// Groups of which the first has all members.
struct Crowded {
    groups: Vec<Group>,
    members: u32,
}

impl Crowded {
    fn new(groups: usize, members: u32) -> Self {
        let ctx = ctx();
        let group = |number| {
            let draft = GroupDraft::read(&json!({ "displayName": format!("group {number}") }));
            Group::new(&ctx, &draft.unwrap()).unwrap()
        };
        Self { groups: (0..groups).map(group).collect(), members }
    }
}

#[async_trait]
impl GroupStore for Crowded {
    async fn find_groups(&mut self, query: &Query) -> StoreResult<ResourcePage<Group>> {
        Ok(ResourcePage::page_of(self.groups.iter(), &query.page, |group| group.id.as_str()))
    }
    async fn members(&mut self, groups: &[GroupId], limit: u32) -> StoreResult<Vec<(GroupId, UserId)>> {
        let first = groups.first().unwrap();
        Ok((0..self.members.min(limit)).map(|number| (first.clone(), number.into())).collect())
    }
    async fn group(&mut self, _: &GroupId) -> StoreResult<Option<Group>> {
        unreachable!("lists read pages")
    }
    async fn insert_group(&mut self, _: &Group) -> StoreResult<bool> {
        unreachable!("lists change nothing")
    }
    async fn update_group(&mut self, _: &Group) -> StoreResult<()> {
        unreachable!("lists change nothing")
    }
    async fn delete_group(&mut self, _: &GroupId) -> StoreResult<()> {
        unreachable!("lists change nothing")
    }
    async fn strangers(&mut self, _: &[UserId]) -> StoreResult<Vec<UserId>> {
        unreachable!("lists change nothing")
    }
    async fn change_members(&mut self, _: &GroupId, _: &MemberChanges) -> StoreResult<MembersChanged> {
        unreachable!("lists change nothing")
    }
}

/// Returns the number of members in a list of all groups.
async fn listed(groups: usize, members: u32) -> Result<usize, Error> {
    let page = groups::list(&mut Crowded::new(groups, members), &Query::default(), true).await?;
    Ok(page.resources.iter().map(|(_, members)| members.len()).sum())
}

#[tokio::test]
async fn list_of_groups_is_refused_beyond_the_limit_of_memberships() {
    let most = usize::try_from(MAX_MEMBERSHIPS).unwrap();
    assert_eq!(listed(2, MAX_MEMBERSHIPS).await.unwrap(), most);
    let refused = listed(2, MAX_MEMBERSHIPS + 1).await.unwrap_err();
    assert!(
        matches!(&refused, Error::TooMany(text) if text.contains("excludedAttributes=members")),
        "{refused}"
    );
    assert_eq!(listed(1, MAX_MEMBERSHIPS + 2).await.unwrap(), most + 2, "one group is returned in full");
}

#[tokio::test]
async fn members_are_not_read_unless_requested() {
    let query = Query::default();
    let page = groups::list(&mut Crowded::new(2, MAX_MEMBERSHIPS + 1), &query, false).await.unwrap();
    assert_eq!((page.total, page.resources.iter().all(|(_, members)| members.is_empty())), (2, true));
}
