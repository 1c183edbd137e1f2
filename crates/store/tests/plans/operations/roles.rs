//! Roles, rules that give them, and what SSO connections do with accounts.

use directory::{
    ConnectionAccountStore, ConnectionAccounts, NewPerson, OwnRole, PeopleStore, Permission, Permissions,
    Role, RoleId, RoleRule, RoleRuleId, RoleRuleStore, RoleStore, RuleChange, RuleSource, UserCreation,
};
use kernel::{Ctx, GroupId, StoreError};
use scim_core::{Group, GroupStore, MemberChanges};
use store::Tx;

const PROVIDER: &str = "oidc_01jz000000000000000000000001jz4444444444444444444444";

/// Runs the operations.
pub(super) async fn run(ctx: &Ctx, tx: &mut Tx) -> Result<(), StoreError> {
    let id = RoleId::new(&*ctx.env);
    let role = OwnRole {
        id: id.clone(),
        name: "Desk".into(),
        description: None,
        permissions: Permissions::of(&[Permission::ReadUsers]),
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    assert!(tx.insert_role(&role).await?);
    let renamed =
        OwnRole { name: "Help desk".into(), description: Some("First line".into()), ..role.clone() };
    assert!(tx.update_role(&renamed).await?);
    assert_eq!(tx.roles().await?, std::slice::from_ref(&renamed));
    assert_eq!(tx.role(&id).await?, Some(renamed));
    let email = "has.roles@example.com".parse().unwrap();
    let new = NewPerson { email, role: Role::Own(id.clone()), display_name: None };
    let person = directory::create_person(ctx, tx, new).await.unwrap();
    assert!(tx.is_role_used(&id).await?);
    assert_eq!(tx.people_of(std::slice::from_ref(&person.id)).await?, std::slice::from_ref(&person));

    let group = Group {
        id: GroupId::new(&*ctx.env),
        display_name: "Desk".into(),
        external_id: None,
        created: ctx.now,
        last_modified: ctx.now,
    };
    assert!(tx.insert_group(&group).await?);
    let joins = MemberChanges { join: [person.id.clone()].into(), ..MemberChanges::default() };
    tx.change_members(&group.id, &joins).await?;
    for source in [
        RuleSource::Group(group.id.clone()),
        RuleSource::Claim { provider: PROVIDER.into(), value: "desk".into() },
    ] {
        tx.has_source(&source).await?;
        let rule = RoleRule {
            id: RoleRuleId::new(&*ctx.env),
            source: source.clone(),
            role: Role::Auditor,
            created_at: ctx.now,
        };
        let add = RuleChange { add: Some((source.clone(), Role::Auditor)), remove: None };
        tx.effect_of(&add).await?;
        assert!(tx.insert_role_rule(&rule).await? && !tx.insert_role_rule(&rule).await?);
        assert_eq!(tx.role_rule(&rule.id).await?.as_ref(), Some(&rule));
        tx.effect_of(&RuleChange { add: None, remove: Some(rule.clone()) }).await?;
        tx.revoke_grants_of(&source, ctx.now).await?;
        if matches!(source, RuleSource::Group(_)) {
            assert_eq!(tx.role_rules_of_group(&group.id).await?, std::slice::from_ref(&rule));
            assert_eq!(tx.role_rules().await?, std::slice::from_ref(&rule));
        } else {
            assert_eq!(tx.rules_of_connection(PROVIDER).await?, std::slice::from_ref(&rule));
        }
        tx.delete_role_rule(&rule.id).await?;
    }
    tx.revoke_grants_of_users(std::slice::from_ref(&person.id), ctx.now).await?;
    let creation =
        UserCreation { role: Role::Member, email_domains: vec!["a.example".into(), "b.example".into()] };
    let accounts = ConnectionAccounts { groups_claim: Some("groups".into()), creation: Some(creation) };
    tx.set_connection_accounts(PROVIDER, &accounts).await?;
    assert_eq!(tx.connection_accounts(PROVIDER).await?, accounts);
    for groups in [vec!["a".to_owned(), "b".into()], vec!["b".into()]] {
        tx.replace_claimed_groups(&person.id, PROVIDER, &groups).await?;
    }
    tx.users_with_permission(Permission::ManageConnections, 10).await?;
    tx.drop_claimed_groups(PROVIDER, ctx.now).await?;
    tx.delete_group(&group.id).await?;
    tx.delete_person(&person, ctx.now).await?;
    tx.delete_role(&id).await?;
    Ok(())
}
