//! Prevents changes after which no administrator of a tenant could sign in.

use async_trait::async_trait;
use credentials::{PasskeyUse, SignInMeans, SignInPolicy, SignInStore};
use directory::{Person, Role};
use kernel::{StoreResult, Timestamp, UserId};

use crate::{Account, error::LockoutError};

/// Reads how the administrators of a tenant can sign in, including changes made by this unit of work.
#[async_trait]
pub trait AdministratorStore: SignInStore {
    /// Returns the means of each active administrator but `except`. The policy determines how long sessions last.
    async fn administrators_means(
        &mut self,
        policy: &SignInPolicy,
        except: Option<&UserId>,
        now: Timestamp,
    ) -> StoreResult<Vec<SignInMeans>>;
    /// Returns whether any authenticator model may be enrolled.
    async fn allows_any_model(&mut self) -> StoreResult<bool>;
}

/// Records whether an administrator could sign in before a change, to compare with the state after it.
///
/// Create it after locking user rows and before the change. It locks the tenant, so that of two concurrent changes
/// that together lock everybody out, the second sees the first.
#[derive(Debug, Clone, Copy)]
pub struct Lockout {
    passkeys_work: bool,
    was_possible: bool,
}

impl Lockout {
    /// Locks the tenant and checks whether an administrator could sign in before the change.
    pub async fn before<S: AdministratorStore>(
        store: &mut S,
        passkeys_work: bool,
        now: Timestamp,
    ) -> StoreResult<Self> {
        let policy = store.sign_in_policy_to_change().await?;
        Self::under(&policy, store, passkeys_work, now).await
    }

    /// Does the same before a change of a user. Only changes of administrators can lock them out.
    pub async fn before_change_of<S: AdministratorStore>(
        store: &mut S,
        person: &Person,
        passkeys_work: bool,
        now: Timestamp,
    ) -> StoreResult<Self> {
        if person.role == Role::Admin {
            Self::before(store, passkeys_work, now).await
        } else {
            Ok(Self { passkeys_work: false, was_possible: false })
        }
    }

    /// Does the same before a change of the caller's own account, which
    /// [`lock_account_to_remove`](crate::lock_account_to_remove) has locked.
    pub async fn before_own_change<S: AdministratorStore>(
        store: &mut S,
        account: &Account,
        passkeys_work: bool,
        now: Timestamp,
    ) -> StoreResult<Self> {
        if account.person.role == Role::Admin {
            Self::under(&account.policy, store, passkeys_work, now).await
        } else {
            Ok(Self { passkeys_work: false, was_possible: false })
        }
    }

    async fn under<S: AdministratorStore>(
        policy: &SignInPolicy,
        store: &mut S,
        passkeys_work: bool,
        now: Timestamp,
    ) -> StoreResult<Self> {
        let was_possible = missing_to_sign_in(store, policy, passkeys_work, now).await?.is_none();
        Ok(Self { passkeys_work, was_possible })
    }

    /// Refuses the change if an administrator could sign in before it and none could after it.
    pub async fn after<S: AdministratorStore>(
        self,
        store: &mut S,
        now: Timestamp,
    ) -> Result<(), LockoutError> {
        if !self.was_possible {
            return Ok(());
        }
        let policy = store.sign_in_policy().await?;
        require_way_in(store, &policy, self.passkeys_work, now).await
    }
}

/// Refuses a policy under which no administrator could sign in.
pub async fn require_way_in<S: AdministratorStore>(
    store: &mut S,
    policy: &SignInPolicy,
    passkeys_work: bool,
    now: Timestamp,
) -> Result<(), LockoutError> {
    match missing_to_sign_in(store, policy, passkeys_work, now).await? {
        None => Ok(()),
        Some(missing) => Err(LockoutError::NoWayIn(missing)),
    }
}

/// Returns the requirement that keeps all administrators from signing in under a policy, if there is one.
pub async fn missing_to_sign_in<S: AdministratorStore>(
    store: &mut S,
    policy: &SignInPolicy,
    passkeys_work: bool,
    now: Timestamp,
) -> StoreResult<Option<&'static str>> {
    missing_without(store, policy, None, passkeys_work, now).await
}

/// Returns whether an administrator can sign in now, and none could without this user. Locks the tenant.
pub(crate) async fn is_last_way_in<S: AdministratorStore>(
    store: &mut S,
    person: &Person,
    passkeys_work: bool,
    now: Timestamp,
) -> StoreResult<bool> {
    if person.role != Role::Admin {
        return Ok(false);
    }
    let policy = store.sign_in_policy_to_change().await?;
    Ok(missing_without(store, &policy, Some(&person.id), passkeys_work, now).await?.is_some()
        && missing_without(store, &policy, None, passkeys_work, now).await?.is_none())
}

async fn missing_without<S: AdministratorStore>(
    store: &mut S,
    policy: &SignInPolicy,
    except: Option<&UserId>,
    passkeys_work: bool,
    now: Timestamp,
) -> StoreResult<Option<&'static str>> {
    let passkeys = PasskeyUse { work: passkeys_work, any_may_be_enrolled: store.allows_any_model().await? };
    let administrators = store.administrators_means(policy, except, now).await?;
    let is_possible = administrators.iter().any(|means| policy.admits(means, passkeys));
    Ok((!is_possible).then(|| policy.what_is_missing(passkeys)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use directory::{AccountChanges, NewPerson, change_person, create_person};
    use kernel::{Actor, Ctx, ManualEnv, TenantId};

    use super::*;
    use crate::MemoryStore;

    async fn tenant_of(roles: [Role; 2]) -> (Ctx, MemoryStore, Vec<Person>) {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"));
        let (mut store, mut people) = (MemoryStore::new(&ctx.tenant), Vec::new());
        for (number, role) in roles.into_iter().enumerate() {
            let email = format!("user{number}@example.com").parse().unwrap();
            let new = NewPerson { email, role, display_name: None };
            let person = create_person(&ctx, &mut store, new).await.unwrap();
            store.set_password(&person.id, "hash", ctx.now).await.unwrap();
            people.push(person);
        }
        (ctx, store, people)
    }

    #[tokio::test]
    async fn last_means_of_the_last_administrator_is_kept() {
        let (ctx, mut store, people) = tenant_of([Role::Admin, Role::Member]).await;
        let lockout = Lockout::before_change_of(&mut store, &people[0], true, ctx.now).await.unwrap();
        store.delete_password(&people[0].id).await.unwrap();
        assert!(matches!(lockout.after(&mut store, ctx.now).await, Err(LockoutError::NoWayIn(_))));
        let already = Lockout::before(&mut store, true, ctx.now).await.unwrap();
        already.after(&mut store, ctx.now).await.unwrap();
        let member = Lockout::before_change_of(&mut store, &people[1], true, ctx.now).await.unwrap();
        member.after(&mut store, ctx.now).await.unwrap();
    }

    #[tokio::test]
    async fn another_administrator_keeps_the_way_in() {
        let (ctx, mut store, people) = tenant_of([Role::Admin, Role::Admin]).await;
        let lockout = Lockout::before(&mut store, true, ctx.now).await.unwrap();
        let off = AccountChanges { role: None, email: None, active: Some(false) };
        change_person(&ctx, &mut store, &people[0], off).await.unwrap();
        lockout.after(&mut store, ctx.now).await.unwrap();
        let policy =
            SignInPolicy { sign_in_mode: credentials::SignInMode::SsoRequired, ..Default::default() };
        assert!(
            require_way_in(&mut store, &policy, true, ctx.now).await.is_err(),
            "there is no SSO connection"
        );
    }
}
