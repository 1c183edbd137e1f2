//! People: their profiles, accounts and links.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use directory::{
    AccountChanges, Error, Link, LinkKind, LinkStore, MemoryPeople, NewPerson, PeopleStore, Person,
    PhoneNumber, ProfileChanges, Role, Source, change_person, change_profile, create_person, delete_person,
    find_person, redeem_link,
};
use kernel::{Actor, Ctx, Env, ManualEnv, TenantId};

struct World {
    ctx: Ctx,
    store: MemoryPeople,
    /// An administrator.
    ada: Person,
}

impl World {
    async fn new() -> Self {
        let env: Arc<dyn Env> = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        let (ctx, mut store) = (Ctx::new(env, tenant, Actor::system("test")), MemoryPeople::default());
        let ada =
            NewPerson { email: "ada@example.com".parse().unwrap(), role: Role::Admin, display_name: None };
        let ada = create_person(&ctx, &mut store, ada).await.unwrap();
        Self { ctx, store, ada }
    }

    async fn add(&mut self, email: &str, role: Role) -> Person {
        let new = NewPerson { email: email.parse().unwrap(), role, display_name: None };
        create_person(&self.ctx, &mut self.store, new).await.unwrap()
    }

    fn later(&mut self) {
        self.ctx.now = self.ctx.now.plus_millis(1000);
    }

    async fn profile(&mut self, changes: ProfileChanges) -> Result<(Person, Vec<String>), Error> {
        change_profile(&self.ctx, &mut self.store, &self.ada.id, changes).await
    }

    async fn change(&mut self, person: &Person, changes: AccountChanges) -> Result<Person, Error> {
        change_person(&self.ctx, &mut self.store, person, changes).await
    }
}

#[test]
fn sources_have_names() {
    for (source, name) in [(Source::Invited, "INVITED"), (Source::Scim, "SCIM")] {
        assert_eq!((source.as_str(), name.parse()), (name, Ok(source)));
    }
    "scim".parse::<Source>().unwrap_err();
}

#[tokio::test]
async fn person_is_named_by_display_name_address_or_user_name() {
    let ada = World::new().await.ada;
    assert_eq!((ada.account(), ada.name()), ("ada@example.com", "ada@example.com"));
    let named = Person { display_name: Some("Ada".into()), ..ada.clone() };
    assert_eq!((named.account(), named.name()), ("ada@example.com", "Ada"));
    let without = Person { email: None, user_name: "ada".into(), ..ada };
    assert_eq!((without.account(), without.name()), ("ada", "ada"));
}

#[tokio::test]
async fn profile_changes_by_field() {
    let mut world = World::new().await;
    world.later();
    let (same, changed) = world.profile(ProfileChanges::default()).await.unwrap();
    assert!(changed.is_empty() && same == world.ada, "the time of the last change too");
    let phone = PhoneNumber { value: "+44 20".into(), kind: Some("work".into()) };
    let some = |text: &str| Some(Some(text.to_owned()));
    for (changes, field) in [
        (ProfileChanges { display_name: some(" Ada "), ..Default::default() }, "displayName"),
        (ProfileChanges { title: some("Countess"), ..Default::default() }, "title"),
        (ProfileChanges { department: some("Engines"), ..Default::default() }, "department"),
        (ProfileChanges { phone_numbers: Some(vec![phone.clone()]), ..Default::default() }, "phoneNumbers"),
    ] {
        world.later();
        let (after, changed) = world.profile(changes.clone()).await.unwrap();
        assert_eq!((&changed[..], after.updated_at), (&[field.to_owned()][..], world.ctx.now));
        assert_eq!(find_person(&mut world.store, &after.id).await.unwrap(), after);
        assert!(world.profile(changes).await.unwrap().1.is_empty(), "{field} is the same");
    }
    let after = find_person(&mut world.store, &world.ada.id).await.unwrap();
    assert_eq!(after.display_name.as_deref(), Some("Ada"));
    assert_eq!((after.title.as_deref(), after.department.as_deref()), (Some("Countess"), Some("Engines")));
    assert_eq!(after.phone_numbers, [phone]);
    let cleared = ProfileChanges { title: Some(None), ..Default::default() };
    assert_eq!(world.profile(cleared).await.unwrap().0.title, None);
}

#[tokio::test]
async fn texts_and_telephone_numbers_are_limited() {
    let mut world = World::new().await;
    let mut title = async |text: String| {
        let changes = ProfileChanges { title: Some(Some(text)), ..Default::default() };
        world.profile(changes).await.map(|(person, _)| person.title.unwrap_or_default())
    };
    assert_eq!(title("ä".repeat(200)).await.unwrap(), "ä".repeat(200));
    for wrong in ["ä".repeat(201), String::new(), "  ".into(), "a\u{7}b".into()] {
        assert!(matches!(title(wrong).await, Err(Error::Text("title"))));
    }
    let number = |value: &str, kind: Option<&str>| PhoneNumber {
        value: value.to_owned(),
        kind: kind.map(str::to_owned),
    };
    let (long, longer) = ("1".repeat(64), "1".repeat(65));
    let (kind, kinder) = ("k".repeat(32), "k".repeat(33));
    for (numbers, is_valid) in [
        (vec![number(&long, Some(&kind))], true),
        (vec![number("1", None); 10], true),
        (vec![number("1", None); 11], false),
        (vec![number(&longer, None)], false),
        (vec![number("", None)], false),
        (vec![number("1\n", None)], false),
        (vec![number("1", Some(&kinder))], false),
        (vec![number("1", Some(""))], false),
        (vec![number("1", None), number("1", Some("a\tb"))], false),
    ] {
        let changes = ProfileChanges { phone_numbers: Some(numbers.clone()), ..Default::default() };
        match world.profile(changes).await {
            Ok((person, _)) => assert!(is_valid && person.phone_numbers == numbers, "{numbers:?}"),
            Err(error) => assert!(!is_valid && matches!(error, Error::Phones), "{numbers:?}: {error}"),
        }
    }
}

#[tokio::test]
async fn user_name_follows_the_address_that_it_was() {
    let mut world = World::new().await;
    let email = |text: &str| AccountChanges { email: Some(text.parse().unwrap()), ..Default::default() };
    let ada = world.ada.clone();
    world.later();
    assert_eq!(world.change(&ada, AccountChanges::default()).await.unwrap(), ada, "nothing changes");
    let moved = world.change(&ada, email("augusta@example.com")).await.unwrap();
    assert_eq!((moved.user_name.as_str(), moved.updated_at), ("augusta@example.com", world.ctx.now));
    let named = Person { user_name: "ada".into(), ..moved.clone() };
    world.store.update_person(&moved, &named).await.unwrap();
    let moved = world.change(&named, email("ada@example.com")).await.unwrap();
    assert_eq!((moved.user_name.as_str(), moved.account()), ("ada", "ada@example.com"));
    let bob = world.add("bob@example.com", Role::Member).await;
    let taken = world.change(&bob, email("ada@example.com")).await;
    assert!(matches!(taken, Err(Error::EmailTaken(address)) if address == "ada@example.com"));
}

#[tokio::test]
async fn last_active_administrator_stays() {
    let mut world = World::new().await;
    let ada = world.ada.clone();
    let member = AccountChanges { role: Some(Role::Member), ..Default::default() };
    let disabled = AccountChanges { active: Some(false), ..Default::default() };
    let name = AccountChanges { email: Some("a@example.com".parse().unwrap()), ..Default::default() };
    // Members, and administrators who are disabled, are not counted.
    let bob = world.add("bob@example.com", Role::Member).await;
    let carol = world.add("carol@example.com", Role::Admin).await;
    let carol = world.change(&carol, disabled.clone()).await.unwrap();
    for changes in [member.clone(), disabled.clone()] {
        assert!(matches!(world.change(&ada, changes).await, Err(Error::LastAdmin)));
    }
    assert!(matches!(delete_person(&world.ctx, &mut world.store, &ada).await, Err(Error::LastAdmin)));
    let ada = world.change(&ada, name).await.unwrap();
    // Those may be changed and deleted.
    assert!(!world.change(&bob, disabled.clone()).await.unwrap().active);
    let carol = world.change(&carol, member.clone()).await.unwrap();
    assert_eq!(carol.role, Role::Member);
    let carol =
        world.change(&carol, AccountChanges { role: Some(Role::Admin), ..Default::default() }).await.unwrap();
    for person in [&bob, &carol] {
        let person = find_person(&mut world.store, &person.id).await.unwrap();
        delete_person(&world.ctx, &mut world.store, &person).await.unwrap();
        assert!(matches!(find_person(&mut world.store, &person.id).await, Err(Error::NotFound)));
    }
    // So may they where nobody is an active administrator.
    let mut empty = World { store: MemoryPeople::default(), ..World::new().await };
    let erin = empty.add("erin@example.com", Role::Member).await;
    let erin = empty.change(&erin, member.clone()).await.unwrap();
    let mut erin = empty.change(&erin, disabled.clone()).await.unwrap();
    for role in [Role::Admin, Role::Member] {
        let changes = AccountChanges { role: Some(role), ..Default::default() };
        erin = empty.change(&erin, changes).await.unwrap();
    }
    let admin = AccountChanges { role: Some(Role::Admin), ..Default::default() };
    let erin = empty.change(&erin, admin).await.unwrap();
    delete_person(&empty.ctx, &mut empty.store, &erin).await.unwrap();
    let frank = empty.add("frank@example.com", Role::Member).await;
    delete_person(&empty.ctx, &mut empty.store, &frank).await.unwrap();
    // With another administrator, each may go.
    let dora = world.add("dora@example.com", Role::Admin).await;
    assert_eq!(world.change(&ada, member).await.unwrap().role, Role::Member);
    let ada = find_person(&mut world.store, &ada.id).await.unwrap();
    let ada =
        world.change(&ada, AccountChanges { role: Some(Role::Admin), ..Default::default() }).await.unwrap();
    delete_person(&world.ctx, &mut world.store, &dora).await.unwrap();
    assert!(matches!(world.change(&ada, disabled).await, Err(Error::LastAdmin)));
}

#[tokio::test]
async fn link_is_redeemed_once_before_it_expires() {
    let mut world = World::new().await;
    let ada = world.ada.clone();
    let held = world.store.held_roles(&ada).await.unwrap();
    let begun = world.ctx.now;
    for (kind, name, hours) in [(LinkKind::Invitation, "INVITATION", 72), (LinkKind::Reset, "RESET", 1)] {
        assert_eq!((kind.as_str(), LinkKind::parse(name)), (name, Some(kind)));
        let link = Link::new([7; 32], kind, &ada, &held, begun);
        let end = begun.plus_millis(hours * 3_600_000);
        assert_eq!(link.expires_at(), end);
        world.store.replace_links(&link).await.unwrap();
        let mut redeem = async |now| {
            world.ctx.now = now;
            redeem_link(&world.ctx, &mut world.store, &ada, &held, &[7; 32]).await.unwrap()
        };
        assert_eq!(redeem(end).await, None, "expired");
        assert_eq!(redeem(end.plus_millis(1)).await, None, "expired");
        assert_eq!(redeem(end.plus_millis(-1)).await, Some(link));
        assert_eq!(redeem(begun).await, None, "used");
    }
    assert_eq!(LinkKind::parse("reset"), None);
    // Issued for another address.
    world.store.replace_links(&Link::new([8; 32], LinkKind::Reset, &ada, &held, begun)).await.unwrap();
    let moved = Person { email: Some("augusta@example.com".parse().unwrap()), ..ada.clone() };
    let ctx = Ctx { now: begun, ..world.ctx.clone() };
    assert_eq!(redeem_link(&ctx, &mut world.store, &moved, &held, &[8; 32]).await.unwrap(), None);
    assert!(redeem_link(&ctx, &mut world.store, &ada, &held, &[8; 32]).await.unwrap().is_some());
}
