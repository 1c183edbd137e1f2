//! Property test: a sequence of changes in a dry run answers as it would in the store, and the store stays as it is.

use std::sync::Arc;

use kernel::{Actor, Ctx, GroupId, ManualEnv, TenantId, UserId};
use scim_core::{
    Error, Filter, GroupDraft, GroupStore, OnExisting, Overlay, OverlayChanges, Page, Patch, Query,
    ResourcePage, Start, UserDraft, UserStore,
    conformance::{self, generate::Random},
    groups,
    memory::MemoryStore,
    schema::{GROUPS, USERS},
    users,
};
use serde_json::{Value, json};

trait Directory: UserStore + GroupStore {}
impl<S: UserStore + GroupStore> Directory for S {}

/// A change that a client asks for.
#[derive(Debug, Clone)]
enum Change {
    CreateUser(Value, OnExisting),
    ReplaceUser(UserId, Value),
    PatchUser(UserId, Value),
    DeleteUser(UserId),
    CreateGroup(Value),
    ReplaceGroup(GroupId, Value),
    PatchGroup(GroupId, Value),
    DeleteGroup(GroupId),
}

/// A clock and randomness of its own, which are the same for each.
struct Side {
    env: Arc<ManualEnv>,
    tenant: TenantId,
}

impl Side {
    fn new() -> Self {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        Self { env, tenant }
    }

    /// Returns the context of an operation some milliseconds later.
    fn after(&self, millis: usize) -> Ctx {
        self.env.advance_millis(i64::try_from(millis).unwrap());
        Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("test"))
    }
}

/// Makes a change and returns its outcome as text, errors included.
async fn make<S: Directory>(ctx: &Ctx, store: &mut S, change: Change) -> String {
    async fn outcome<S: Directory>(ctx: &Ctx, store: &mut S, change: Change) -> Result<String, Error> {
        Ok(match change {
            Change::CreateUser(body, existing) => {
                format!("{:?}", users::create(ctx, store, UserDraft::read(&body)?, existing).await?)
            }
            Change::ReplaceUser(id, body) => {
                format!("{:?}", users::replace(ctx, store, &id, UserDraft::read(&body)?).await?)
            }
            Change::PatchUser(id, body) => {
                format!("{:?}", users::patch(ctx, store, &id, &Patch::read(&USERS, &body)?).await?)
            }
            Change::DeleteUser(id) => format!("{:?}", users::delete(ctx, store, &id).await?),
            Change::CreateGroup(body) => {
                format!("{:?}", groups::create(ctx, store, GroupDraft::read(&body)?).await?)
            }
            Change::ReplaceGroup(id, body) => {
                format!("{:?}", groups::replace(ctx, store, &id, GroupDraft::read(&body)?).await?)
            }
            Change::PatchGroup(id, body) => {
                format!("{:?}", groups::patch(ctx, store, &id, &Patch::read(&GROUPS, &body)?).await?)
            }
            Change::DeleteGroup(id) => format!("{:?}", groups::delete(store, &id).await?),
        })
    }
    outcome(ctx, store, change).await.unwrap_or_else(|error| format!("{error:?}"))
}

/// The resources that changes refer to, among them deleted and unknown ones.
struct Known {
    random: Random,
    users: Vec<UserId>,
    groups: Vec<GroupId>,
}

impl Known {
    /// Adds the resources of the store.
    async fn learn(&mut self, store: &mut MemoryStore) {
        for user in store.find_users(&Query::default(), false).await.unwrap().resources {
            if !self.users.contains(&user.id) {
                self.users.push(user.id);
            }
        }
        for group in store.find_groups(&Query::default()).await.unwrap().resources {
            if !self.groups.contains(&group.id) {
                self.groups.push(group.id);
            }
        }
    }

    fn user(&mut self) -> UserId {
        let at = self.random.below(self.users.len());
        self.users.get(at).unwrap().clone()
    }

    fn group(&mut self) -> GroupId {
        let at = self.random.below(self.groups.len());
        self.groups.get(at).unwrap().clone()
    }

    fn members(&mut self) -> Value {
        let count = self.random.below(4);
        (0..count).map(|_| json!({ "value": self.user().as_str() })).collect()
    }

    fn name(&mut self) -> String {
        format!("Name {}", self.random.below(6))
    }

    fn user_body(&mut self) -> Value {
        let name = self.random.below(12).to_string();
        self.random.user(&USERS, &name)
    }

    fn patch(operations: &Value) -> Value {
        json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations })
    }

    fn change(&mut self) -> Change {
        match self.random.below(12) {
            0 => {
                let existing = if self.random.once_in(2) { OnExisting::Answer } else { OnExisting::Refuse };
                Change::CreateUser(self.user_body(), existing)
            }
            1 => Change::ReplaceUser(self.user(), self.user_body()),
            2 => {
                let active = self.random.once_in(2);
                let operation = json!([{ "op": "replace", "path": "active", "value": active }]);
                Change::PatchUser(self.user(), Self::patch(&operation))
            }
            3 => {
                let other = format!("renamed-{}@x.example", self.random.below(4));
                let operation = json!([{ "op": "replace", "path": "userName", "value": other }]);
                Change::PatchUser(self.user(), Self::patch(&operation))
            }
            4 => Change::DeleteUser(self.user()),
            5 => Change::CreateGroup(json!({ "displayName": self.name(), "members": self.members() })),
            6 => {
                let body = json!({ "displayName": self.name(), "members": self.members() });
                Change::ReplaceGroup(self.group(), body)
            }
            7 => {
                let operation = json!([{ "op": "replace", "path": "displayName", "value": self.name() }]);
                Change::PatchGroup(self.group(), Self::patch(&operation))
            }
            8 if self.random.once_in(2) => Change::DeleteGroup(self.group()),
            8 | 9 => {
                let path = format!("members[value eq \"{}\"]", self.user());
                Change::PatchGroup(self.group(), Self::patch(&json!([{ "op": "remove", "path": path }])))
            }
            _ => {
                let members = self.members();
                let operation = json!([{ "op": "add", "path": "members", "value": members }]);
                Change::PatchGroup(self.group(), Self::patch(&operation))
            }
        }
    }

    fn query(&mut self, ctx: &Ctx, kind: &'static scim_core::schema::ResourceType) -> Query {
        let ids: Vec<_> = (0..3).flat_map(|_| [self.user().to_string(), self.group().to_string()]).collect();
        let filter = match self.random.below(6) {
            0 | 1 => None,
            2 if kind == &USERS => {
                let filter = format!("groups.display eq \"{}\"", self.name());
                Some(Filter::parse(&USERS, &filter).unwrap())
            }
            _ => Some(self.random.filter(kind, 2, &ids, ctx.now)),
        };
        let start = match self.random.below(3) {
            0 => Start::First,
            _ => Start::Index(1 + self.random.below(14) as u64),
        };
        let count = u32::try_from(self.random.below(5)).unwrap();
        Query { filter, page: Page { start, count }, belongs_to: 7 }
    }
}

/// Returns the page, and the pages after it by cursor.
fn described<T: std::fmt::Debug>(
    page: &ResourcePage<T>,
    query: &Query,
    id: impl Fn(&T) -> &str,
) -> (String, Option<Query>) {
    let next = page.next_cursor(query, id);
    let text = format!("{} {:?} {next:?}", page.total, page.resources);
    let next = next.map(|cursor| Query {
        page: Page::parse(None, Some(&query.page.count.to_string()), Some(&cursor), 7).unwrap(),
        ..query.clone()
    });
    (text, next)
}

async fn found<S: Directory>(store: &mut S, of_users: Query, of_groups: Query) -> Vec<String> {
    let all = store.find_groups(&Query::default()).await.unwrap().resources;
    let ids: Vec<_> = all.into_iter().map(|group| group.id).collect();
    let mut texts = vec![format!("{:?}", store.members(&ids, 3).await.unwrap())];
    let mut next = Some(of_users);
    while let Some(query) = next {
        let page = store.find_users(&query, true).await.unwrap();
        let (text, following) = described(&page, &query, |user| user.id.as_str());
        texts.push(text);
        next = following;
    }
    let mut next = Some(of_groups);
    while let Some(query) = next {
        let page = groups::list(store, &query, true).await.unwrap();
        let (text, following) = described(&page, &query, |(group, _)| group.id.as_str());
        texts.push(text);
        next = following;
    }
    texts
}

#[tokio::test]
async fn dry_run_answers_as_the_changed_store_and_changes_nothing() {
    let mut changed = 0;
    for seed in 0..100 {
        let (real_side, dry_side) = (Side::new(), Side::new());
        let (mut real, mut stored) = (MemoryStore::new(), MemoryStore::new());
        let elsewhere = ManualEnv::at("2020-01-01T00:00:00.000Z".parse().unwrap());
        let (users, groups) = (vec![UserId::new(&elsewhere)], vec![GroupId::new(&elsewhere)]);
        let mut known = Known { random: Random::new(seed), users, groups };
        let begun = known.random.below(30);
        let mut changes = OverlayChanges::default();
        for step in 0..60 {
            let millis = known.random.below(3);
            let (real_ctx, dry_ctx) = (real_side.after(millis), dry_side.after(millis));
            let change = known.change();
            let expected = make(&real_ctx, &mut real, change.clone()).await;
            if step < begun {
                assert_eq!(make(&dry_ctx, &mut stored, change).await, expected);
            } else {
                let before = (stored.clone(), changes.clone());
                let mut dry = Overlay::new(&mut stored, &mut changes);
                assert_eq!(
                    make(&dry_ctx, &mut dry, change.clone()).await,
                    expected,
                    "seed {seed}: {change:?}"
                );
                let (of_users, of_groups) = (known.query(&real_ctx, &USERS), known.query(&real_ctx, &GROUPS));
                let answers = found(&mut dry, of_users.clone(), of_groups.clone()).await;
                let expected = found(&mut real, of_users.clone(), of_groups.clone()).await;
                assert_eq!(answers, expected, "seed {seed}, after {change:?}: {of_users:?} {of_groups:?}");
                assert_eq!(stored, before.0, "the store is unchanged");
                changed += usize::from(changes != before.1);
            }
            known.learn(&mut real).await;
        }
    }
    assert!(changed > 1000, "{changed} changes had an effect");
}

#[tokio::test]
async fn changes_that_cancel_each_other_leave_no_memberships() {
    let ctx = Side::new().after(0);
    let (mut stored, mut changes) = (MemoryStore::new(), OverlayChanges::default());
    let body = json!({ "userName": "ada" });
    let made = users::create(&ctx, &mut stored, UserDraft::read(&body).unwrap(), OnExisting::Refuse).await;
    let users::CreatedUser::New(ada) = made.unwrap() else { panic!("a new user") };
    let body = json!({ "displayName": "Engines", "members": [{ "value": ada.id.as_str() }] });
    let group = groups::create(&ctx, &mut stored, GroupDraft::read(&body).unwrap()).await.unwrap().group.id;
    let mut dry = Overlay::new(&mut stored, &mut changes);
    let members = json!([{ "value": ada.id.as_str() }]);
    for (op, path) in [("remove", "members"), ("add", "members")] {
        let operation = json!([{ "op": op, "path": path, "value": members }]);
        let patch = Patch::read(&GROUPS, &Known::patch(&operation)).unwrap();
        groups::patch(&ctx, &mut dry, &group, &patch).await.unwrap();
    }
    // The group was changed, at another time.
    assert_eq!((changes.len(), changes.groups.len()), (1, 1));
}

#[tokio::test]
async fn overlay_conforms() {
    let ctx = Side::new().after(0);
    let (mut stored, mut changes) = (MemoryStore::new(), OverlayChanges::default());
    conformance::users(&ctx, &mut Overlay::new(&mut stored, &mut changes)).await;
    let (mut stored, mut changes) = (MemoryStore::new(), OverlayChanges::default());
    conformance::groups(&ctx, &mut Overlay::new(&mut stored, &mut changes)).await;
}
