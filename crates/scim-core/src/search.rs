//! Search over users and groups together (RFC 7644 §3.4.3).

use kernel::UserId;

use crate::{
    Error, Group, Page, Params, Projection, Query, ResourcePage, ScimStore, Start, User, groups,
    schema::{GROUPS, RESOURCE_TYPES, USERS},
    users,
};

/// A search for groups and users. Attributes that a resource type does not have select nothing there.
#[derive(Debug, Clone)]
pub struct Search {
    /// The groups to find.
    pub groups: Query,
    /// The users to find.
    pub users: Query,
    /// The attributes of groups to return.
    pub group_projection: Projection,
    /// The attributes of users to return.
    pub user_projection: Projection,
}

/// A resource that a search found.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchResult {
    /// A group and its members.
    Group(Group, Vec<UserId>),
    /// A user.
    User(Box<User>),
}

impl SearchResult {
    /// Returns the id of the resource.
    pub fn id(&self) -> &str {
        match self {
            Self::Group(group, _) => group.id.as_str(),
            Self::User(user) => user.id.as_str(),
        }
    }
}

impl Search {
    /// Reads the search from its parameters.
    pub fn read(params: &Params) -> Result<Self, Error> {
        Ok(Self {
            groups: params.query_among(&GROUPS, &RESOURCE_TYPES)?,
            users: params.query_among(&USERS, &RESOURCE_TYPES)?,
            group_projection: params.projection(&GROUPS),
            user_projection: params.projection(&USERS),
        })
    }

    /// Returns whether the members of groups are read.
    pub fn wants_members(&self) -> bool {
        self.group_projection.wants("members")
    }

    /// Returns a page of groups and users, ordered by id. `grp_…` sorts before `usr_…`.
    pub async fn run(&self, store: &mut dyn ScimStore) -> Result<ResourcePage<SearchResult>, Error> {
        let page = &self.groups.page;
        let groups = groups::list(store.as_groups(), &self.groups, self.wants_members()).await?;
        let found = u32::try_from(groups.resources.len()).unwrap_or(page.count);
        let left = page.count - found;
        let start = match page.start.clone() {
            Start::Index(index) => Start::Index(index.saturating_sub(groups.total).max(1)),
            other => other,
        };
        // If groups fill a page by cursor, fetch one user to learn whether there is another page.
        let look_ahead = left == 0 && matches!(start, Start::After(_));
        let of_users =
            Query { page: Page { start, count: if look_ahead { 1 } else { left } }, ..self.users.clone() };
        let with_groups = self.user_projection.wants("groups") && !look_ahead;
        let mut users = users::list(store.as_users(), &of_users, with_groups).await?;
        let beyond = if look_ahead { !users.resources.is_empty() } else { left == 0 && users.total > 0 };
        if look_ahead {
            users.resources.clear();
        }
        let more = groups.more || users.more || beyond;
        let total = match page.start {
            // Both totals come from the cursor, which contains the sum.
            Start::After(_) => users.total,
            _ => groups.total + users.total,
        };
        let groups = groups.resources.into_iter().map(|(group, members)| SearchResult::Group(group, members));
        let users = users.resources.into_iter().map(Box::new).map(SearchResult::User);
        Ok(ResourcePage { total, resources: groups.chain(users).collect(), more, cut: false })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kernel::{Actor, Ctx, ManualEnv, TenantId};
    use serde_json::json;

    use super::*;
    use crate::{GroupDraft, OnExisting, UserDraft, memory::MemoryStore};

    fn ctx_at(time: &str) -> Ctx {
        let env = Arc::new(ManualEnv::at(time.parse().unwrap()));
        Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"))
    }

    /// Creates two users and a group of both.
    async fn filled() -> MemoryStore {
        let ctx = ctx_at("2026-01-01T00:00:00.000Z");
        let mut store = MemoryStore::new();
        for name in ["ada", "ben"] {
            let draft = UserDraft::read(&json!({ "userName": name })).unwrap();
            users::create(&ctx, &mut store, draft, OnExisting::Refuse).await.unwrap();
        }
        let all = users::list(&mut store, &Query::default(), false).await.unwrap();
        let members: Vec<_> = all.resources.iter().map(|user| json!({ "value": user.id })).collect();
        let draft = GroupDraft::read(&json!({ "displayName": "Staff", "members": members })).unwrap();
        groups::create(&ctx, &mut store, draft).await.unwrap();
        store
    }

    fn search(body: &serde_json::Value) -> Search {
        Search::read(&Params::of_search(body).unwrap()).unwrap()
    }

    /// Returns the kinds of the resources on a page, and the page.
    async fn kinds(
        store: &mut MemoryStore,
        body: &serde_json::Value,
    ) -> (String, ResourcePage<SearchResult>) {
        let found = search(body).run(store).await.unwrap();
        (found.resources.iter().map(|one| &one.id()[..1]).collect(), found)
    }

    #[tokio::test]
    async fn groups_come_before_users_and_share_one_index() {
        let mut store = filled().await;
        let (all, found) = kinds(&mut store, &json!({})).await;
        assert_eq!((all.as_str(), found.total, found.more), ("guu", 3, false));
        let SearchResult::Group(_, members) = &found.resources[0] else { panic!("the group is first") };
        assert_eq!(members.len(), 2);
        let (second, found) = kinds(&mut store, &json!({ "startIndex": 2, "count": 1 })).await;
        assert_eq!((second.as_str(), found.total), ("u", 3));
        let (first, found) = kinds(&mut store, &json!({ "count": 1 })).await;
        assert_eq!((first.as_str(), found.more), ("g", true));
    }

    #[tokio::test]
    async fn pages_by_cursor_visit_every_resource_once() {
        let mut store = filled().await;
        let (mut cursor, mut seen) = (String::new(), String::new());
        for _ in 0..3 {
            let body = json!({ "cursor": cursor, "count": 1 });
            let (kind, found) = kinds(&mut store, &body).await;
            seen += &kind;
            let query = Query { filter: None, ..search(&body).users };
            cursor = found.next_cursor(&query, SearchResult::id).unwrap_or_default();
        }
        assert_eq!((seen.as_str(), cursor.as_str()), ("guu", ""));
    }

    #[tokio::test]
    async fn members_are_read_only_if_they_are_requested() {
        let mut store = filled().await;
        let (_, found) = kinds(&mut store, &json!({ "excludedAttributes": ["members"] })).await;
        let SearchResult::Group(_, members) = &found.resources[0] else { panic!("the group is first") };
        assert!(members.is_empty());
    }

    #[tokio::test]
    async fn groups_of_users_are_read_only_if_they_are_requested() {
        let mut store = filled().await;
        for (body, expected) in [
            (json!({}), 1),
            (json!({ "attributes": ["groups.display"] }), 1),
            (json!({ "excludedAttributes": ["groups"] }), 0),
        ] {
            let (_, found) = kinds(&mut store, &body).await;
            let users = found.resources.iter().filter_map(|one| match one {
                SearchResult::User(user) => Some(user.groups.len()),
                SearchResult::Group(..) => None,
            });
            assert_eq!(users.collect::<Vec<_>>(), [expected; 2], "{body}");
        }
    }

    #[tokio::test]
    async fn page_of_groups_knows_whether_users_follow() {
        let mut store = filled().await;
        let (_, first) = kinds(&mut store, &json!({ "cursor": "", "count": 1 })).await;
        let query = search(&json!({ "cursor": "", "count": 1 })).users;
        let cursor = first.next_cursor(&query, SearchResult::id).unwrap();
        let (second, found) = kinds(&mut store, &json!({ "cursor": cursor, "count": 1 })).await;
        assert_eq!(
            (second.as_str(), found.total, found.more),
            ("u", 3, true),
            "the total is not added again"
        );
        let users = users::list(&mut store, &Query::default(), false).await.unwrap();
        let ctx = ctx_at("2026-01-02T00:00:00.000Z");
        let draft = GroupDraft::read(&json!({ "displayName": "Looms" })).unwrap();
        groups::create(&ctx, &mut store, draft).await.unwrap();
        let (last, found) = kinds(&mut store, &json!({ "cursor": cursor, "count": 1 })).await;
        assert_eq!((last.as_str(), found.more), ("g", true), "users follow the second group");
        for user in users.resources {
            users::delete(&ctx, &mut store, &user.id).await.unwrap();
        }
        let (last, found) = kinds(&mut store, &json!({ "cursor": cursor, "count": 1 })).await;
        assert_eq!((last.as_str(), found.more), ("g", false), "nothing follows the second group");
        let (_, found) = kinds(&mut store, &json!({ "count": 2 })).await;
        assert_eq!((found.total, found.more), (2, false));
    }
}
