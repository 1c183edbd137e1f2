//! Whether a caller may act: decided when the request arrives, and again in the transaction of what it changes.
//!
//! Between the two the client may hold its body back for as long as a body may take, and meanwhile be demoted, disabled,
//! signed out or blocked. So a unit of work reads its caller's credential again and decides by what it finds: the
//! credential, the user's state and role, the token's scopes, and the tenant's policies.

use std::sync::Arc;

use credentials::{FactorKind, SignInMode, SignInPolicy};
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

/// A caller whose credential is in force.
pub(crate) struct AuthenticatedCaller {
    pub(crate) caller: Caller,
    /// The tenant's network policy.
    pub(crate) network: NetworkMark,
    /// Whether the tenant's sign-in policy still accepts how the session began.
    pub(crate) policy: Result<(), Problem>,
}

/// A refusal that tells the caller nothing and the log why.
pub(crate) fn refused(why: &'static str) -> Problem {
    tracing::debug!(why, "a credential was refused");
    Problem::unauthenticated()
}

/// How long sessions last under a policy.
pub fn lifetime(policy: &SignInPolicy) -> Lifetime {
    let session = policy.session;
    Lifetime { idle_minutes: session.idle_minutes, absolute_days: session.absolute_days }
}

/// The caller that a credential stands for, if it is in force.
pub(crate) fn vouch(found: Option<Credential>, now: Timestamp) -> Result<AuthenticatedCaller, Problem> {
    match found {
        None => Err(refused("unknown credential")),
        Some(Credential::ScimToken(token, network)) => {
            if token.revoked_at.is_some() {
                tracing::info!(token = %token.id, "a revoked token was presented");
                return Err(Problem::unauthenticated());
            }
            Ok(AuthenticatedCaller { caller: Caller::Scim(Arc::new(token)), network, policy: Ok(()) })
        }
        Some(Credential::Pat(pat, holder)) => {
            if !pat.is_live(now) || holder.deleted {
                tracing::info!(token = %pat.id, "a revoked or expired token was presented");
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
        return Err(refused("the session is over"));
    }
    Ok(())
}

/// Applies the tenant's sign-in policy of today to a session that began under another one, as sign-in would.
fn apply_policy(signed: &mut Signed) -> Result<(), Problem> {
    let (policy, session) = (&signed.holder.policy, &signed.session);
    // What began it decides: a factor of ours after an identity provider's word does not make it ours.
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

/// Whether a second factor that the tenant accepts was proved on the session, or a recovery code in its place.
fn has_accepted_factor(session: &Session, policy: &SignInPolicy) -> bool {
    session.methods.iter().any(|method| match method {
        Method::Totp => policy.mfa.accepts(FactorKind::Totp),
        Method::Passkey => policy.mfa.accepts(FactorKind::Webauthn),
        Method::RecoveryCode => true,
        Method::Password | Method::UserVerified | Method::Sso => false,
    })
}

/// As whom the caller acts, through which surface, and as whom a network policy knows them.
pub(crate) fn surface_of(caller: &Caller) -> (Actor, Surface, DeniedCaller<'_>) {
    match caller {
        Caller::Scim(token) => {
            let id = token.id.as_str();
            (Actor::scim(id.to_owned()), Surface::Api, DeniedCaller { id, admin: false })
        }
        Caller::Session(signed) => {
            (Actor::user(&signed.holder.user), Surface::Dashboard, DeniedCaller::of(&signed.holder))
        }
        Caller::Pat(by) => (Actor::user(&by.holder.user), Surface::Api, DeniedCaller::of(&by.holder)),
    }
}

/// What a unit of work decides by whether its caller may still act.
#[derive(Clone)]
pub(crate) struct Authority {
    key: CredentialKey,
    /// The network policy that has let the request in.
    network: NetworkMark,
    /// Whether it has let an administrator in.
    was_admin: bool,
    is_sign_out: bool,
    admit: fn(Caller) -> Result<(), Problem>,
    /// Whether the decision waits until the work is done, so that no statement waits for the credential. What an
    /// identity provider may change is never what its token is judged by.
    pub(crate) decides_last: bool,
}

impl Authority {
    /// To act with the permission `P`.
    pub(crate) fn of<P: Permission>(pass: &RequestIdentity) -> Self {
        Self {
            key: match &pass.caller {
                Caller::Session(signed) => CredentialKey::Session(signed.session.id.clone()),
                Caller::Pat(by) => CredentialKey::Pat(by.pat.hash.clone()),
                Caller::Scim(token) => CredentialKey::ScimToken(token.hash.clone()),
            },
            network: pass.network,
            was_admin: surface_of(&pass.caller).2.admin,
            is_sign_out: pass.is_sign_out,
            admit: |caller| P::admit(caller).map(drop),
            decides_last: matches!(pass.caller, Caller::Scim(_)),
        }
    }

    /// What the credential is read again by.
    pub(crate) fn key(&self) -> &CredentialKey {
        &self.key
    }

    /// Refuses, as a new request would be, a caller who may no longer act.
    pub(crate) async fn check(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        found: Option<Credential>,
    ) -> Result<(), Problem> {
        self.judge(ctx, tx, vouch(found, ctx.env.now())?, true).await
    }

    /// The same at the end of a unit of work. Policies that it has set itself it was not made under.
    pub(crate) async fn check_at_end(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        at_end: CredentialAtCommit,
    ) -> Result<(), Problem> {
        let vouched = vouch(Some(at_end.credential), ctx.env.now())?;
        self.judge(ctx, tx, vouched, !at_end.own_policies).await
    }

    async fn judge(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        vouched: AuthenticatedCaller,
        under_policies: bool,
    ) -> Result<(), Problem> {
        let AuthenticatedCaller { caller, network, policy } = vouched;
        if !self.is_sign_out && under_policies {
            policy?;
            let (_, surface, who) = surface_of(&caller);
            if network.version != self.network.version || who.admin != self.was_admin {
                network::decide_again(ctx, tx, network, surface, &who).await?;
            }
        }
        (self.admit)(caller)
    }
}

/// Why a unit of work changed nothing.
#[derive(Debug)]
pub enum WorkError<E> {
    /// The caller may no longer act.
    Denied(Box<Problem>),
    /// The work itself failed.
    Failed(E),
}

impl<E> WorkError<E> {
    /// The caller may no longer act.
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
