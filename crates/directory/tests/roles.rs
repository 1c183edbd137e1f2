//! Roles that a tenant defines, rules that give them, and tenants.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use directory::{
    CLAIMED_GROUP_MAX, ConnectionAccountStore, ConnectionAccounts, Error, HeldRoles, MemoryPeople, NewPerson,
    NewTenant, OwnRole, PeopleQuery, PeopleStore, Permission, Permissions, Role, RoleFields, RoleId,
    RoleStore, RuleSource, StoreResult, Tenant, TenantStore, Tier, Timestamp, UserCreation, async_trait,
    change_role, create_person, create_role, create_rule, create_tenant, rename_tenant,
};
use kernel::{Actor, Ctx, Env, GroupId, ManualEnv, TenantId};

fn ctx() -> Ctx {
    let env: Arc<dyn Env> = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let tenant = TenantId::new(&*env);
    Ctx::new(env, tenant, Actor::system("test"))
}

fn admin() -> HeldRoles {
    HeldRoles::new(Role::Admin, Vec::new(), Permissions::NONE)
}

fn fields(name: &str, description: Option<&str>, permission: Permission) -> RoleFields {
    RoleFields {
        name: name.to_owned(),
        description: description.map(str::to_owned),
        permissions: Permissions::of(&[permission]),
    }
}

#[tokio::test]
async fn role_has_exactly_the_fields_of_the_last_change() {
    let (mut ctx, mut store, by) = (ctx(), MemoryPeople::default(), admin());
    let described = fields(" Reviewer ", Some("Reads."), Permission::ReadAudit);
    let role = create_role(&ctx, &mut store, &by, described.clone()).await.unwrap();
    assert_eq!((role.name.as_str(), role.description.as_deref()), ("Reviewer", Some("Reads.")));
    ctx.now = ctx.now.plus_millis(1);
    let (before, after) = change_role(&ctx, &mut store, &by, &role.id, described).await.unwrap();
    assert_eq!((&before, &after), (&role, &role), "nothing changes");
    for changed in [
        fields("Auditing", Some("Reads."), Permission::ReadAudit),
        fields("Auditing", Some("Reads all."), Permission::ReadAudit),
        fields("Auditing", Some("  "), Permission::ReadAudit),
        fields("Auditing", None, Permission::ManageWebhooks),
    ] {
        let (before, after) = change_role(&ctx, &mut store, &by, &role.id, changed.clone()).await.unwrap();
        assert_ne!(before, after);
        let description = changed.description.filter(|text| !text.trim().is_empty());
        assert_eq!((&after.name, &after.description), (&changed.name, &description));
        assert_eq!((after.permissions, after.updated_at), (changed.permissions, ctx.now));
        assert_eq!(store.role(&role.id).await.unwrap(), Some(after));
    }
    // A name that another role has is refused, and changes nothing.
    create_role(&ctx, &mut store, &by, fields("Other", None, Permission::ReadAudit)).await.unwrap();
    let taken = fields("other", None, Permission::ReadAudit);
    let refused = change_role(&ctx, &mut store, &by, &role.id, taken).await;
    assert!(matches!(refused, Err(Error::RoleNameTaken(name)) if name == "other"));
    assert_eq!(store.role(&role.id).await.unwrap().unwrap().name, "Auditing");
}

/// Stores roles, and counts how often step-up tokens are revoked.
#[derive(Default)]
struct Revoking {
    store: MemoryPeople,
    revoked: usize,
}

#[async_trait]
impl RoleStore for Revoking {
    async fn roles(&mut self) -> StoreResult<Vec<OwnRole>> {
        self.store.roles().await
    }

    async fn role(&mut self, id: &RoleId) -> StoreResult<Option<OwnRole>> {
        self.store.role(id).await
    }

    async fn insert_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        self.store.insert_role(role).await
    }

    async fn update_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        self.store.update_role(role).await
    }

    async fn delete_role(&mut self, id: &RoleId) -> StoreResult<()> {
        self.store.delete_role(id).await
    }

    async fn is_role_used(&mut self, id: &RoleId) -> StoreResult<bool> {
        self.store.is_role_used(id).await
    }

    async fn revoke_grants_of_role(&mut self, _: &RoleId, _: Timestamp) -> StoreResult<()> {
        self.revoked += 1;
        Ok(())
    }
}

#[tokio::test]
async fn other_permissions_of_a_role_revoke_step_up_tokens() {
    let (ctx, mut store, by) = (ctx(), Revoking::default(), admin());
    let role = fields("Reviewer", None, Permission::ReadAudit);
    let id = create_role(&ctx, &mut store, &by, role).await.unwrap().id;
    for (changed, revoked) in [
        (fields("Auditing", None, Permission::ReadAudit), 0),
        (fields("Auditing", None, Permission::ManageWebhooks), 1),
        (fields("Auditing", None, Permission::ManageWebhooks), 1),
    ] {
        change_role(&ctx, &mut store, &by, &id, changed).await.unwrap();
        assert_eq!(store.revoked, revoked);
    }
}

#[tokio::test]
async fn rule_names_a_group_in_at_most_256_printable_characters() {
    let (ctx, mut store, by) = (ctx(), MemoryPeople::default(), admin());
    store.set_connection_accounts("idp", &ConnectionAccounts::default()).await.unwrap();
    let claim = |value: &str| RuleSource::Claim { provider: "idp".into(), value: value.into() };
    let longest = "ä".repeat(CLAIMED_GROUP_MAX);
    create_rule(&ctx, &mut store, &by, claim(&longest), Role::Auditor).await.unwrap();
    for wrong in ["", " a", "a ", "a\u{7}b", &format!("{longest}ä")] {
        let made = create_rule(&ctx, &mut store, &by, claim(wrong), Role::Auditor).await;
        assert!(matches!(made, Err(Error::ClaimedGroup)), "{wrong:?}");
    }
}

#[tokio::test]
async fn settings_of_a_connection_are_checked() {
    let mut store = MemoryPeople::default();
    let domains = ["a.example".to_owned(), "b.example".to_owned()];
    let mut claim = async |claim: &str| {
        let accounts = ConnectionAccounts { groups_claim: Some(claim.to_owned()), creation: None };
        accounts.check(&mut store, &admin(), &domains).await
    };
    let longest = "ä".repeat(256);
    claim(&longest).await.unwrap();
    for wrong in ["", " groups", "groups ", "gro\u{7}ups", &format!("{longest}ä")] {
        assert!(matches!(claim(wrong).await, Err(Error::GroupsClaim)), "{wrong:?}");
    }

    let mut creation = async |by: &HeldRoles, role: Role, of: &[String]| {
        let creation = Some(UserCreation { role, email_domains: of.to_vec() });
        let accounts = ConnectionAccounts { groups_claim: None, creation };
        let all = [&domains[..], of.get(2..).unwrap_or_default()].concat();
        accounts.check(&mut store, by, &all).await
    };
    creation(&admin(), Role::Member, &domains).await.unwrap();
    let many = |count: usize| (0..count).map(|number| format!("{number}.example")).collect::<Vec<_>>();
    let other = creation(&admin(), Role::Member, &many(2)).await;
    assert!(matches!(other, Err(Error::CreationDomain(domain)) if domain == "0.example"));
    let known = |count: usize| [&domains[..], &many(count - 2)].concat();
    creation(&admin(), Role::Member, &known(100)).await.unwrap();
    let too_many = creation(&admin(), Role::Member, &known(101)).await;
    assert!(matches!(too_many, Err(Error::CreationDomain(_))));
    let support = HeldRoles::new(Role::Support, Vec::new(), Permissions::NONE);
    let refused = creation(&support, Role::Admin, &[]).await;
    assert!(matches!(refused, Err(Error::MorePermissions)));
}

#[tokio::test]
async fn groups_of_users_and_connections_are_apart() {
    let (ctx, mut store) = (ctx(), MemoryPeople::default());
    let mut people = Vec::new();
    for email in ["ada@example.com", "bob@example.com"] {
        let new = NewPerson { email: email.parse().unwrap(), role: Role::Member, display_name: None };
        people.push(create_person(&ctx, &mut store, new).await.unwrap());
    }
    let group = GroupId::new(&*ctx.env);
    let ada = people.first().unwrap();
    store.set_group(group.clone(), [ada.id.clone()]);
    let query = PeopleQuery { group: Some(group), ..PeopleQuery::default() };
    assert_eq!(store.people(&query, None, 10).await.unwrap(), std::slice::from_ref(ada));

    let named = |groups: &[&str]| groups.iter().map(|group| (*group).to_owned()).collect::<Vec<_>>();
    let mut replaced = Vec::new();
    for (person, provider) in people.iter().flat_map(|person| [(person, "idp"), (person, "other")]) {
        for groups in [named(&["a", "b"]), named(&["b", "c"])] {
            let changed = store.replace_claimed_groups(&person.id, provider, &groups).await.unwrap();
            replaced.push((changed.joined.join(" "), changed.left.join(" ")));
        }
    }
    let expected = [("a b".to_owned(), String::new()), ("c".to_owned(), "a".to_owned())];
    assert!(replaced.len() == 8 && replaced.chunks(2).all(|both| both == expected), "{replaced:?}");
    for (person, provider) in people.iter().flat_map(|person| [(person, "idp"), (person, "other")]) {
        let changed = store.replace_claimed_groups(&person.id, provider, &named(&["b", "c"])).await.unwrap();
        assert!(changed.joined.is_empty() && changed.left.is_empty());
    }
}

#[test]
fn marks_differ_by_roles_and_permissions() {
    let held = |given: &[Role], own: &[Permission]| {
        HeldRoles::new(Role::Support, given.to_vec(), Permissions::of(own)).mark()
    };
    assert_eq!(held(&[], &[]), "SUPPORT");
    assert_eq!(held(&[Role::Auditor], &[]), "SUPPORT,AUDITOR");
    let marks = [
        held(&[], &[]),
        held(&[Role::Auditor], &[]),
        held(&[], &[Permission::ReadAudit]),
        held(&[], &[Permission::ManageWebhooks]),
        held(&[], &[Permission::ReadAudit, Permission::ManageWebhooks]),
    ];
    for (at, mark) in marks.iter().enumerate() {
        assert!(marks.iter().skip(at + 1).all(|other| other != mark), "{marks:?}");
    }
    assert_eq!(held(&[], &[Permission::ReadUsers]), "SUPPORT", "the role has it already");
}

#[test]
fn sets_of_permissions_are_joined() {
    let of = Permissions::of;
    let audit = of(&[Permission::ReadAudit]);
    let joined = audit.union(of(&[Permission::ReadAudit, Permission::ManageWebhooks]));
    assert_eq!(joined.iter().collect::<Vec<_>>(), [Permission::ReadAudit, Permission::ManageWebhooks]);
    assert_eq!([Permission::ReadAudit].into_iter().collect::<Permissions>(), audit);
    assert_eq!(Permission::ReadAudit.to_string(), "read:audit");
    assert_eq!(Role::Security.to_string(), "SECURITY");
}

#[tokio::test]
async fn tenant_is_created_once_and_renamed() {
    let (ctx, mut store) = (ctx(), MemoryPeople::default());
    for (tier, name) in [(Tier::Free, "FREE"), (Tier::Standard, "STANDARD"), (Tier::Enterprise, "ENTERPRISE")]
    {
        assert_eq!((tier.as_str(), name.to_lowercase().parse()), (name, Ok(tier)));
    }
    let named = |name: &str| {
        let new = NewTenant { slug: "acme".into(), name: name.into(), tier: Tier::Free };
        Tenant::new(&*ctx.env, new)
    };
    assert_eq!(named(&format!(" {} ", "ä".repeat(200))).unwrap().name, "ä".repeat(200));
    for wrong in ["", "  ", "a\u{7}b", &"ä".repeat(201)] {
        assert!(matches!(named(wrong), Err(Error::Name)), "{wrong:?}");
    }
    let acme = named("Acme").unwrap();
    create_tenant(&mut store, &acme).await.unwrap();
    let again = create_tenant(&mut store, &acme).await;
    assert!(matches!(again, Err(Error::SlugTaken(slug)) if slug == "acme"));
    assert_eq!(rename_tenant(&mut store, " Acme ").await.unwrap(), (acme.clone(), false));
    let (renamed, is_new) = rename_tenant(&mut store, "Apex").await.unwrap();
    assert_eq!((renamed.name.as_str(), is_new), ("Apex", true));
    assert_eq!(store.own_tenant().await.unwrap(), Some(renamed));
}
