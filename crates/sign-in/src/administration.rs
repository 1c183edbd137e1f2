//! Users and tokens as administrators and operators manage them, each change with its audit entries.

use audit::{
    Audited, Event, Unaudited,
    events::{
        credentials::PasswordChanged,
        scim_tokens::{ScimTokenCreated, ScimTokenRevoked},
        users::{UserCreated, UserDeleted, UserUpdated},
    },
};
use credentials::SignInStore;
use directory::{NewPerson, PeopleStore, Person, ProfileChanges, RoleStore, find_person, permissions_of};
use kernel::{Ctx, UserId};
use tokens::{
    NewScimToken, PatError, PatId, PatStore, RawToken, ScimToken, ScimTokenError, ScimTokenId, ScimTokenStore,
};

use crate::{events::account_changes, pats};

/// Creates a user, with a password if there is one: its hash, and who set it, as in [`PasswordChanged`].
pub async fn create_user<S: PeopleStore + RoleStore + SignInStore>(
    ctx: &Ctx,
    store: &mut S,
    new: NewPerson,
    password: Option<(&str, &'static str)>,
) -> Result<Audited<Person>, directory::Error> {
    permissions_of(store, &new.role).await?;
    let person = directory::create_person(ctx, store, new).await?;
    let id = person.id.as_str();
    let fields = vec!["userName".into(), "emails".into()];
    let data = UserCreated { active: true, role: person.role.to_string(), fields };
    let mut events = vec![Event::new(id, &data)];
    if let Some((hash, by)) = password {
        store.set_password(&person.id, hash, ctx.now).await?;
        events.push(Event::new(id, &PasswordChanged { by }));
    }
    Ok(Audited::of_changes(person, events))
}

/// Changes a user's role, break-glass state or permission to sign in for the operator, who may also leave the tenant
/// without an administrator. Disabling a user ends the sessions.
pub async fn change_account<S: PeopleStore + RoleStore>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
    change: impl FnOnce(&mut Person) + Send,
) -> Result<Audited<Person>, directory::Error> {
    let before = find_person(store, user).await?;
    let mut after = before.clone();
    change(&mut after);
    if after == before {
        return Ok(Audited::without(before, Unaudited::NothingChanged));
    }
    permissions_of(store, &after.role).await?;
    after.updated_at = ctx.now;
    store.update_person(&before, &after).await?;
    let events = account_changes(&before, &after);
    Ok(Audited::of_changes(after, events))
}

/// Changes a user's profile.
pub async fn change_profile<S: PeopleStore>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
    changes: ProfileChanges,
) -> Result<Audited<Person>, directory::Error> {
    let (person, changed) = directory::change_profile(ctx, store, user, changes).await?;
    let event = (!changed.is_empty()).then(|| Event::new(user.as_str(), &UserUpdated { changed }));
    Ok(Audited::of_changes(person, event.into_iter().collect()))
}

/// Deletes a user for the operator, who may also delete the last administrator.
pub async fn delete_user<S: PeopleStore>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
) -> Result<Audited<()>, directory::Error> {
    let person = find_person(store, user).await?;
    store.delete_person(&person, ctx.now).await?;
    Ok(Audited::new((), Event::new(user.as_str(), &UserDeleted {})))
}

/// Revokes a personal access token of any user. A token that is already revoked stays so, without an entry.
pub async fn revoke_any_pat<S: PatStore>(
    ctx: &Ctx,
    store: &mut S,
    id: &PatId,
) -> Result<Audited<()>, PatError> {
    let pat = store.pat(id).await?.ok_or(PatError::NotFound)?;
    if pat.revoked_at.is_some() {
        return Ok(Audited::without((), Unaudited::NothingChanged));
    }
    pats::revoke(ctx, store, &pat.user, id).await
}

/// Mints a SCIM token.
pub async fn mint_scim_token<S: ScimTokenStore>(
    ctx: &Ctx,
    store: &mut S,
    new: NewScimToken,
) -> Result<Audited<(ScimToken, RawToken)>, ScimTokenError> {
    let (token, raw) = tokens::mint(ctx, store, new).await?;
    let event = Event::new(
        token.id.as_str(),
        &ScimTokenCreated { create_conflict: token.create_conflict, dry_run: token.dry_run },
    );
    Ok(Audited::new((token, raw), event))
}

/// Revokes a SCIM token. The next request with it is refused.
pub async fn revoke_scim_token<S: ScimTokenStore>(
    ctx: &Ctx,
    store: &mut S,
    id: &ScimTokenId,
) -> Result<Audited<()>, ScimTokenError> {
    tokens::revoke(ctx, store, id).await?;
    Ok(Audited::new((), Event::new(id.as_str(), &ScimTokenRevoked {})))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use directory::Role;
    use kernel::{Actor, Env, ManualEnv, TenantId};
    use tokens::{Scope, pat::NewPat};

    use super::*;
    use crate::MemoryStore;

    fn codes<T>(audited: Audited<T>) -> (T, Vec<&'static str>) {
        let (value, events) = audited.into_parts();
        (value, events.iter().map(|event| event.code).collect())
    }

    fn world() -> (Ctx, MemoryStore) {
        let env: Arc<dyn Env> = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        let store = MemoryStore::new(&tenant);
        (Ctx::new(env, tenant, Actor::system("cli")), store)
    }

    async fn admin(ctx: &Ctx, store: &mut MemoryStore) -> UserId {
        let new =
            NewPerson { email: "ada@example.com".parse().unwrap(), role: Role::Admin, display_name: None };
        let (person, codes) =
            codes(create_user(ctx, store, new, Some(("a hash", "OPERATOR"))).await.unwrap());
        assert_eq!(codes, ["ACCOUNT_USER_CREATED", "ACCOUNT_PASSWORD_CHANGED"]);
        person.id
    }

    #[tokio::test]
    async fn operator_changes_an_account_once() {
        let (ctx, mut store) = world();
        let id = admin(&ctx, &mut store).await;
        let to_member = |person: &mut Person| person.role = Role::Member;
        let role = codes(change_account(&ctx, &mut store, &id, to_member).await.unwrap());
        assert_eq!((role.0.role, role.1), (Role::Member, vec!["ACCOUNT_USER_ROLE_CHANGED"]));
        let again = codes(change_account(&ctx, &mut store, &id, to_member).await.unwrap());
        assert_eq!(again.1, [""; 0]);
        let marked = change_account(&ctx, &mut store, &id, |person| person.break_glass = true).await.unwrap();
        assert_eq!(marked.into_parts().1[0].data, r#"{"changed":["breakGlass"]}"#);
        for (active, expected) in [(false, "ACCOUNT_USER_DEACTIVATED"), (true, "ACCOUNT_USER_REACTIVATED")] {
            let switched = change_account(&ctx, &mut store, &id, move |person| person.active = active).await;
            assert_eq!(codes(switched.unwrap()).1, [expected]);
        }
        let gone = codes(delete_user(&ctx, &mut store, &id).await.unwrap());
        assert_eq!(gone.1, ["ACCOUNT_USER_DELETED"]);
        let missing = delete_user(&ctx, &mut store, &id).await;
        assert!(matches!(missing, Err(directory::Error::NotFound)));
    }

    #[tokio::test]
    async fn token_is_revoked_once_and_only_as_its_users() {
        let (ctx, mut store) = world();
        let id = admin(&ctx, &mut store).await;
        let new = NewPat { name: "CI".into(), scopes: vec![Scope::ReadHcm], expires_in_days: None };
        let (pat, _, minted) = pats::mint(&ctx, &mut store, &id, new).await.unwrap();
        assert_eq!(minted.code, "ACCOUNT_PAT_CREATED");
        let other = UserId::new(&*ctx.env);
        let foreign = pats::revoke(&ctx, &mut store, &other, &pat.id).await;
        assert!(matches!(foreign, Err(PatError::NotFound)));
        for expected in [&["ACCOUNT_PAT_REVOKED"][..], &[]] {
            assert_eq!(codes(revoke_any_pat(&ctx, &mut store, &pat.id).await.unwrap()).1, expected);
        }
    }
}
