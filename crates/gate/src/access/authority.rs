//! Decides whether a caller may act: when the request arrives, and again in the transaction of its change.
//!
//! In between, a client may delay its body while its user is demoted, disabled, signed out or blocked. So a unit of
//! work reads the caller's credential again and checks it: the credential, the user's state and role, the token's
//! scopes, and the tenant's policies.

use std::sync::Arc;

use credentials::{FactorKind, SignInMode, SignInPolicy};
use directory::Permissions;
use kernel::{Actor, Ctx, StoreError, Timestamp};
use netpolicy::Surface;
use sessions::{Lifetime, Method, Session, Standing};
use store::{Credential, CredentialAtCommit, CredentialKey, Holder, NetworkMark, Tx};

use super::request_identity::RequestIdentity;
use crate::{
    caller::{Caller, PatCaller, Signed},
    errors::Problem,
    network::{self, DeniedCaller},
    permissions::Permission,
};

/// A caller with a valid credential.
pub(crate) struct AuthenticatedCaller {
    pub(crate) caller: Caller,
    /// The tenant's network policy.
    pub(crate) network: NetworkMark,
    /// Whether the tenant's sign-in policy still accepts the method that started the session.
    pub(crate) policy: Result<(), Problem>,
}

/// Returns a 401 without a reason, which only the log receives.
pub(crate) fn refused(why: &'static str) -> Problem {
    tracing::debug!(why, "credential rejected");
    Problem::unauthenticated()
}

/// Returns the session lifetime of a policy.
pub fn lifetime(policy: &SignInPolicy) -> Lifetime {
    let session = policy.session;
    Lifetime { idle_minutes: session.idle_minutes, absolute_days: session.absolute_days }
}

/// Returns the caller of a credential, if it is valid.
pub(crate) fn check_credential(
    found: Option<Credential>,
    now: Timestamp,
) -> Result<AuthenticatedCaller, Problem> {
    match found {
        None => Err(refused("unknown credential")),
        Some(Credential::ScimToken(token, network)) => {
            if token.revoked_at.is_some() {
                tracing::info!(token = %token.id, "revoked token used");
                return Err(Problem::unauthenticated());
            }
            Ok(AuthenticatedCaller { caller: Caller::Scim(Arc::new(token)), network, policy: Ok(()) })
        }
        Some(Credential::Receiver(receiver, network)) => {
            Ok(AuthenticatedCaller { caller: Caller::Receiver(Arc::new(receiver)), network, policy: Ok(()) })
        }
        Some(Credential::Pat(pat, holder)) => {
            if !pat.is_live(now) || holder.deleted {
                tracing::info!(token = %pat.id, "revoked or expired token used");
                return Err(Problem::unauthenticated());
            }
            if !holder.active {
                return Err(Problem::account_disabled());
            }
            let network = holder.network;
            Ok(AuthenticatedCaller {
                caller: Caller::Pat(Arc::new(PatCaller { pat, holder })),
                network,
                policy: Ok(()),
            })
        }
        Some(Credential::Session(session, holder)) => {
            in_force(&session, &holder, now)?;
            let network = holder.network;
            let mut signed = Signed { session, holder };
            let policy = apply_policy(&mut signed);
            Ok(AuthenticatedCaller { caller: Caller::Session(Arc::new(signed)), network, policy })
        }
    }
}

fn in_force(session: &Session, holder: &Holder, now: Timestamp) -> Result<(), Problem> {
    if !holder.active && !holder.deleted {
        return Err(Problem::account_disabled());
    }
    if session.revoked_at.is_some() || holder.deleted {
        return Err(Problem::session_revoked());
    }
    if lifetime(&holder.policy).is_over(session, now) {
        return Err(refused("the session has expired"));
    }
    Ok(())
}

/// Applies the tenant's current sign-in policy to an existing session, as sign-in would.
fn apply_policy(signed: &mut Signed) -> Result<(), Problem> {
    let (policy, session) = (&signed.holder.policy, &signed.session);
    // The first method decides: a factor added after single sign-on does not turn the session into a local one.
    let began_with_sso = session.methods.first() == Some(&Method::Sso);
    if began_with_sso && policy.sign_in_mode == SignInMode::CredentialsOnly {
        return Err(Problem::sso_not_allowed());
    }
    if !began_with_sso && policy.requires_sso(signed.holder.break_glass) {
        return Err(Problem::sso_required());
    }
    let trusted = session.methods.contains(&Method::Sso) && policy.mfa.trust_sso_mfa;
    if policy.mfa.required && !trusted && !has_accepted_factor(session, policy) {
        signed.session.standing = Standing::Owing;
    }
    Ok(())
}

/// Returns whether the session has a second factor that the tenant accepts, or a recovery code instead.
fn has_accepted_factor(session: &Session, policy: &SignInPolicy) -> bool {
    session.methods.iter().any(|method| match method {
        Method::Totp => policy.mfa.accepts(FactorKind::Totp),
        Method::Passkey => policy.mfa.accepts(FactorKind::Webauthn),
        Method::RecoveryCode => true,
        Method::Password | Method::UserVerified | Method::Sso => false,
    })
}

/// Returns the caller as an actor, the surface it uses, and its identity for network policies.
pub(crate) fn identify(caller: &Caller) -> (Actor, DeniedCaller<'_>) {
    match caller {
        Caller::Scim(token) => {
            let id = token.id.as_str();
            (Actor::scim(id.to_owned()), DeniedCaller { surface: Surface::Api, id, admin: false })
        }
        Caller::Receiver(receiver) => {
            let id = receiver.id.as_str();
            (Actor::system(id.to_owned()), DeniedCaller { surface: Surface::Api, id, admin: false })
        }
        Caller::Session(signed) => {
            (Actor::user(&signed.holder.user), DeniedCaller::of(&signed.holder, Surface::Dashboard))
        }
        Caller::Pat(by) => (Actor::user(&by.holder.user), DeniedCaller::of(&by.holder, Surface::Api)),
    }
}

/// The conditions under which a unit of work's caller may still act.
#[derive(Clone)]
pub(crate) struct Authority {
    key: CredentialKey,
    /// The network policy that admitted the request.
    network: NetworkMark,
    /// Whether that policy was applied to an administrator.
    was_admin: bool,
    /// The permissions of the caller's roles. The work may rely on them.
    permissions: Permissions,
    is_sign_out: bool,
    admit: fn(Caller) -> Result<(), Problem>,
    /// Whether to decide after the work, so that no statement waits for the credential. This is safe for identity
    /// providers, which cannot change the rows that their token is checked against.
    pub(crate) decides_last: bool,
}

impl Authority {
    /// Creates the authority for permission `P`.
    pub(crate) fn of<P: Permission>(pass: &RequestIdentity) -> Self {
        Self {
            key: match &pass.caller {
                Caller::Session(signed) => CredentialKey::Session(signed.session.id.clone()),
                Caller::Pat(by) => CredentialKey::Pat(by.pat.hash.clone()),
                Caller::Scim(token) => CredentialKey::ScimToken(token.hash.clone()),
                Caller::Receiver(receiver) => CredentialKey::Receiver(receiver.hash.clone()),
            },
            network: pass.network,
            was_admin: identify(&pass.caller).1.admin,
            permissions: permissions_of(&pass.caller),
            is_sign_out: pass.is_sign_out,
            admit: |caller| P::admit(caller).map(drop),
            decides_last: matches!(pass.caller, Caller::Scim(_)),
        }
    }

    /// Returns the key to read the credential again.
    pub(crate) fn key(&self) -> &CredentialKey {
        &self.key
    }

    /// Returns the error that a new request would get, if the caller may no longer act.
    pub(crate) async fn check(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        found: Option<Credential>,
    ) -> Result<(), Problem> {
        self.check_caller(ctx, tx, check_credential(found, ctx.env.now())?, true).await
    }

    /// Checks again at the end of a unit of work. Policies that the unit of work itself has changed are not applied
    /// to it.
    pub(crate) async fn check_at_end(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        at_end: CredentialAtCommit,
    ) -> Result<(), Problem> {
        let checked = check_credential(at_end.credential, ctx.env.now())?;
        let authority = if at_end.own_roles {
            // The caller may have lowered their own roles, which they had until now.
            Self { admit: |_| Ok(()), permissions: Permissions::NONE, was_admin: false, ..self.clone() }
        } else {
            self.clone()
        };
        authority.check_caller(ctx, tx, checked, !at_end.own_policies).await
    }

    async fn check_caller(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        checked: AuthenticatedCaller,
        under_policies: bool,
    ) -> Result<(), Problem> {
        let AuthenticatedCaller { caller, network, policy } = checked;
        if !self.is_sign_out && under_policies {
            policy?;
            let (_, who) = identify(&caller);
            if network.version != self.network.version || who.admin != self.was_admin {
                network::decide_again(ctx, tx, network, &who).await?;
            }
        }
        let (is_admin, permissions) = (identify(&caller).1.admin, permissions_of(&caller));
        (self.admit)(caller)?;
        if self.is_sign_out || (permissions.covers(self.permissions) && (is_admin || !self.was_admin)) {
            return Ok(());
        }
        // The work may have decided by a permission that is gone.
        Err(Problem::forbidden("ROLE_REQUIRED", "Your roles have changed. Send the request again."))
    }
}

fn permissions_of(caller: &Caller) -> Permissions {
    match caller {
        Caller::Scim(_) | Caller::Receiver(_) => Permissions::NONE,
        Caller::Session(signed) => signed.holder.roles.permissions,
        Caller::Pat(by) => by.holder.roles.permissions,
    }
}

/// Why a unit of work was rolled back.
#[derive(Debug)]
pub enum WorkError<E> {
    /// The caller may no longer act.
    Denied(Box<Problem>),
    /// The work itself failed.
    Failed(E),
}

impl<E> WorkError<E> {
    /// Creates the error for a caller who may no longer act.
    pub(crate) fn denied(problem: Problem) -> Self {
        Self::Denied(Box::new(problem))
    }
}

impl<E: From<StoreError>> From<StoreError> for WorkError<E> {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl<E: Into<Problem>> From<WorkError<E>> for Problem {
    fn from(error: WorkError<E>) -> Self {
        match error {
            WorkError::Denied(problem) => *problem,
            WorkError::Failed(error) => error.into(),
        }
    }
}
