//! The test suites for implementations of the storage traits.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a conformance suite fails by panicking")]

use kernel::{Ctx, Email, GroupId, UserId};

use crate::{
    Affected, ConnectionAccountStore, ConnectionAccounts, Error, GroupsChanged, HeldRoles, Link, LinkKind,
    LinkStore, NewPerson, OwnRole, PeopleQuery, PeopleStore, Permission, Permissions, Person, PhoneNumber,
    Role, RoleFields, RoleId, RoleRuleId, RoleRuleStore, RoleStore, RuleEffect, RuleSource, Source, Tenant,
    TenantStore, UserCreation, change_role, create_person, create_role, create_rule, delete_role,
    delete_rule, preview_rule, replace_rule,
};

/// Inserts and renames the tenant of the unit of work, which does not exist.
pub async fn tenant(store: &mut dyn TenantStore, tenant: &Tenant) {
    assert_eq!(store.own_tenant().await.unwrap(), None);
    assert!(store.insert_tenant(tenant).await.unwrap());
    assert_eq!(store.own_tenant().await.unwrap().as_ref(), Some(tenant));
    store.rename_tenant("Renamed").await.unwrap();
    let renamed = Tenant { name: "Renamed".to_owned(), ..tenant.clone() };
    assert_eq!(store.own_tenant().await.unwrap(), Some(renamed));
}

/// Creates an active person of a tenant.
pub async fn person(ctx: &Ctx, store: &mut dyn PeopleStore, email: &str, role: Role) -> Person {
    let email = email.parse::<Email>().unwrap();
    create_person(ctx, store, NewPerson { email, role, display_name: None }).await.unwrap()
}

/// Inserts, finds, changes and deletes people of a tenant that has none.
pub async fn people(ctx: &Ctx, store: &mut dyn PeopleStore) {
    let mut ada = person(ctx, store, "Ada@Example.com", Role::Admin).await;
    let bob = person(ctx, store, "bob@example.com", Role::Member).await;
    for email in [Some("ADA@example.com"), None] {
        let email = email.map(|text| text.parse().unwrap());
        let again = Person { id: UserId::new(&*ctx.env), email, ..ada.clone() };
        assert!(!store.insert_person(&again).await.unwrap(), "the user name is taken");
    }
    assert_eq!(
        store.person(&ada.id).await.unwrap(),
        Some(ada.clone()),
        "the stored person equals the new one"
    );
    assert_eq!(store.person(&UserId::new(&*ctx.env)).await.unwrap(), None);
    assert_eq!(store.user_of_email("ada@example.com").await.unwrap(), Some(ada.id.clone()));
    assert_eq!(store.user_of_email("eve@example.com").await.unwrap(), None);

    let before = ada.clone();
    ada.display_name = Some("Ada Lovelace".to_owned());
    ada.title = Some("Countess".to_owned());
    ada.department = Some("Engines".to_owned());
    ada.phone_numbers = vec![PhoneNumber { value: "+41 1".to_owned(), kind: Some("work".to_owned()) }];
    ada.updated_at = ctx.now.plus_millis(5);
    assert!(store.update_person(&before, &ada).await.unwrap());
    assert_eq!(store.person(&ada.id).await.unwrap(), Some(ada.clone()));
    let taken = Person { email: ada.email.clone(), ..bob.clone() };
    assert!(!store.update_person(&bob, &taken).await.unwrap(), "the address is taken");
    assert_eq!(store.person(&bob.id).await.unwrap(), Some(bob.clone()));

    let mut both = [ada.clone(), bob.clone()];
    both.sort_by(|one, other| one.id.cmp(&other.id));
    let all = PeopleQuery::default();
    assert_eq!(store.people(&all, None, 10).await.unwrap(), both);
    assert_eq!(store.people(&all, None, 1).await.unwrap(), both[..1]);
    assert_eq!(store.people(&all, Some(&both[0].id), 10).await.unwrap(), both[1..]);
    for (query, found) in [
        (PeopleQuery { text: Some("LOVE".to_owned()), ..all.clone() }, vec![ada.clone()]),
        (PeopleQuery { text: Some("bob@".to_owned()), ..all.clone() }, vec![bob.clone()]),
        (PeopleQuery { role: Some(Role::Admin), ..all.clone() }, vec![ada.clone()]),
        (PeopleQuery { active: Some(false), ..all.clone() }, Vec::new()),
        (PeopleQuery { source: Some(Source::Scim), ..all.clone() }, Vec::new()),
    ] {
        assert_eq!(store.people(&query, None, 10).await.unwrap(), found, "{query:?}");
    }
    administrators(store, &ada, &bob).await;
    store.delete_person(&ada, ctx.now).await.unwrap();
    assert_eq!(store.person(&ada.id).await.unwrap(), None);
    assert_eq!(store.user_of_email("ada@example.com").await.unwrap(), None);
    assert_eq!(store.people(&all, None, 10).await.unwrap(), [bob]);
}

async fn administrators(store: &mut dyn PeopleStore, ada: &Person, bob: &Person) {
    assert!(!store.another_admin(&ada.id).await.unwrap());
    assert!(store.another_admin(&bob.id).await.unwrap());
    let disabled = Person { role: Role::Admin, active: false, ..bob.clone() };
    assert!(store.update_person(bob, &disabled).await.unwrap());
    assert!(!store.another_admin(&ada.id).await.unwrap(), "a disabled administrator");
    assert!(store.update_person(&disabled, bob).await.unwrap());
    let held = store.held_roles(ada).await.unwrap();
    assert_eq!(held, HeldRoles::new(Role::Admin, Vec::new(), Permissions::NONE));
}

/// Replaces and takes links of two people of the tenant, who have none.
pub async fn links(ctx: &Ctx, store: &mut dyn LinkStore, ada: &Person, bob: &Person) {
    let link = |hash, person: &Person| {
        let held = HeldRoles::new(person.role.clone(), Vec::new(), Permissions::NONE);
        Link::new(hash, LinkKind::Reset, person, &held, ctx.now)
    };
    let (first, second, others) = (link([1; 32], ada), link([2; 32], ada), link([3; 32], bob));
    for link in [&first, &others, &second] {
        store.replace_links(link).await.unwrap();
    }
    assert_eq!(store.link(&first.hash).await.unwrap(), None, "replaced");
    assert_eq!(store.link(&second.hash).await.unwrap(), Some(second.clone()));
    assert!(store.take_link(&second.hash).await.unwrap());
    assert!(!store.take_link(&second.hash).await.unwrap(), "once");
    assert_eq!(store.link(&others.hash).await.unwrap(), Some(others.clone()));
    store.drop_links(&bob.id).await.unwrap();
    assert_eq!(store.link(&others.hash).await.unwrap(), None);
}

fn fields(name: &str, permissions: &[Permission]) -> RoleFields {
    let description = Some("Answers questions".to_owned());
    RoleFields { name: name.to_owned(), description, permissions: Permissions::of(permissions) }
}

fn admin() -> HeldRoles {
    HeldRoles::new(Role::Admin, Vec::new(), Permissions::NONE)
}

/// Creates, changes and deletes roles of a tenant that has none. `ada` is a person of the tenant.
pub async fn roles<S: RoleStore + PeopleStore>(ctx: &Ctx, store: &mut S, ada: &Person) {
    let desk =
        create_role(ctx, store, &admin(), fields("Help desk", &[Permission::ReadUsers])).await.unwrap();
    let logs = create_role(ctx, store, &admin(), fields("Logs", &[Permission::ReadAudit])).await.unwrap();
    assert_eq!(store.role(&desk.id).await.unwrap(), Some(desk.clone()), "the stored role equals the new one");
    assert_eq!(store.role(&RoleId::new(&*ctx.env)).await.unwrap(), None);
    let mut stored = store.roles().await.unwrap();
    stored.sort_by(|one, other| one.id.cmp(&other.id));
    let mut both = [desk.clone(), logs.clone()];
    both.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(stored, both);

    let (before, after) =
        change_role(ctx, store, &admin(), &desk.id, fields("Front desk", &[Permission::SupportUsers]))
            .await
            .unwrap();
    assert_eq!(before, desk);
    assert_eq!(store.role(&desk.id).await.unwrap(), Some(after.clone()));
    let taken = OwnRole { name: "LOGS".to_owned(), ..after.clone() };
    assert!(!store.update_role(&taken).await.unwrap(), "another role has the name");
    let taken = OwnRole { id: RoleId::new(&*ctx.env), ..logs.clone() };
    assert!(!store.insert_role(&taken).await.unwrap(), "another role has the name");

    assert!(!store.is_role_used(&desk.id).await.unwrap());
    let holder = Person { role: Role::Own(desk.id.clone()), ..ada.clone() };
    assert!(store.update_person(ada, &holder).await.unwrap());
    assert!(store.is_role_used(&desk.id).await.unwrap());
    let held = store.held_roles(&holder).await.unwrap();
    assert_eq!(held, HeldRoles::new(holder.role.clone(), Vec::new(), after.permissions));
    assert!(matches!(delete_role(store, &admin(), &desk.id).await, Err(Error::RoleUsed)));
    assert!(store.update_person(&holder, ada).await.unwrap());
    store.revoke_grants_of_role(&desk.id, ctx.now).await.unwrap();
    for role in [desk, logs] {
        delete_role(store, &admin(), &role.id).await.unwrap();
    }
    assert!(store.roles().await.unwrap().is_empty());
}

/// Adds, replaces and removes rules of a tenant that has none. `ada` and `bob` are members of `group`, and `bob` is an
/// administrator.
pub async fn rules<S: RoleRuleStore + PeopleStore>(
    ctx: &Ctx,
    store: &mut S,
    group: &GroupId,
    ada: &Person,
    bob: &Person,
) {
    let source = RuleSource::Group(group.clone());
    assert!(store.has_source(&source).await.unwrap());
    let unknown = RuleSource::Group(GroupId::new(&*ctx.env));
    assert!(!store.has_source(&unknown).await.unwrap());
    let refused = create_rule(ctx, store, &admin(), unknown, Role::Auditor).await;
    assert!(matches!(refused, Err(Error::NoSuchSource)));

    let of = |people: &[&Person]| {
        let mut first: Vec<_> = people.iter().map(|person| person.id.clone()).collect();
        first.sort();
        Affected { count: first.len() as u64, first }
    };
    let (none, both) = (of(&[]), of(&[ada, bob]));
    let gained = |gain: &Affected| RuleEffect { gain: gain.clone(), lose: none.clone() };
    let (rule, effect) = create_rule(ctx, store, &admin(), source.clone(), Role::Auditor).await.unwrap();
    assert_eq!(effect, gained(&both));
    let again = create_rule(ctx, store, &admin(), source.clone(), Role::Auditor).await;
    assert!(matches!(again, Err(Error::RuleExists)));
    assert_eq!(store.role_rule(&rule.id).await.unwrap(), Some(rule.clone()));
    assert_eq!(store.role_rule(&RoleRuleId::new(&*ctx.env)).await.unwrap(), None);
    assert_eq!(store.role_rules().await.unwrap(), std::slice::from_ref(&rule));
    let held = store.held_roles(ada).await.unwrap();
    assert_eq!((held.assigned, held.given), (ada.role.clone(), vec![Role::Auditor]));

    // An administrator gains nothing by a rule for administrators.
    let preview = preview_rule(store, &admin(), Some((source.clone(), Role::Admin)), None).await.unwrap();
    assert_eq!(preview, gained(&of(&[ada])));
    let (before, after, effect) =
        replace_rule(ctx, store, &admin(), &rule.id, (source, Role::Admin)).await.unwrap();
    assert_eq!(effect, RuleEffect { gain: of(&[ada]), lose: both });
    assert_eq!((&before, &after.role, &after.id), (&rule, &Role::Admin, &rule.id));
    assert_eq!(store.role_rules().await.unwrap(), std::slice::from_ref(&after));
    let (_, effect) = delete_rule(ctx, store, &admin(), &rule.id).await.unwrap();
    assert_eq!(effect, RuleEffect { gain: none, lose: of(&[ada]) });
    assert!(store.role_rules().await.unwrap().is_empty());
    assert!(store.held_roles(ada).await.unwrap().given.is_empty());
}

/// Stores the settings of the SSO connection `provider`, which has none, and the groups that sign-ins of `ada` named. The
/// tenant has no rules.
pub async fn connections<S: ConnectionAccountStore + RoleRuleStore>(
    ctx: &Ctx,
    store: &mut S,
    provider: &str,
    ada: &Person,
) {
    assert_eq!(store.connection_accounts(provider).await.unwrap(), ConnectionAccounts::default());
    let creation = UserCreation { role: Role::Support, email_domains: vec!["example.com".to_owned()] };
    let accounts = ConnectionAccounts { groups_claim: Some("groups".to_owned()), creation: Some(creation) };
    store.set_connection_accounts(provider, &accounts).await.unwrap();
    assert_eq!(store.connection_accounts(provider).await.unwrap(), accounts);
    assert_eq!(store.connection_accounts("another").await.unwrap(), ConnectionAccounts::default());

    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (groups, joined, left) in [
        (named(&["a", "b"]), named(&["a", "b"]), named(&[])),
        (named(&["a", "b"]), named(&[]), named(&[])),
        (named(&["b", "c"]), named(&["c"]), named(&["a"])),
    ] {
        let changed = store.replace_claimed_groups(&ada.id, provider, &groups).await.unwrap();
        assert_eq!(changed, GroupsChanged { joined, left });
    }
    let claim = |value: &str| RuleSource::Claim { provider: provider.to_owned(), value: value.to_owned() };
    let (rule, effect) = create_rule(ctx, store, &admin(), claim("b"), Role::Developer).await.unwrap();
    assert_eq!(effect.gain, Affected { count: 1, first: vec![ada.id.clone()] });
    let (other, effect) = create_rule(ctx, store, &admin(), claim("a"), Role::Developer).await.unwrap();
    assert_eq!(effect.gain.count, 0, "the group is no longer named");

    let mut rules = store.rules_of_connection(provider).await.unwrap();
    rules.sort_by(|one, other| one.id.cmp(&other.id));
    let mut both = [(rule, 1), (other, 0)];
    both.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    assert_eq!(rules, both.clone().map(|(rule, _)| rule));
    assert!(store.rules_of_connection("another").await.unwrap().is_empty());
    store.revoke_step_ups(&ada.id, ctx.now).await.unwrap();
    let mut lost = store.drop_claimed_groups(provider, ctx.now).await.unwrap();
    lost.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    assert_eq!(lost, both);
    let again = store.replace_claimed_groups(&ada.id, provider, &named(&["b"])).await.unwrap();
    assert_eq!(again.joined, ["b"], "the groups were forgotten");
}
