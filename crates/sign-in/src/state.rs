//! The states of a sign-in, and where each step leads.

use credentials::{FactorKind, MfaPolicy, SignInMode, SignInPolicy};
use sessions::Method;

use crate::{error::Error, factor::FactorName};

/// How far a sign-in has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nothing is proved.
    Anonymous,
    /// The password fits in several tenants. A ticket waits for the choice; there is no session.
    TenantChoice,
    /// A first factor is proved. A ticket waits for a second; there is no session, or a restricted one.
    FactorOwed,
    /// A session of a neighbouring service owes a second factor, and nobody has asked yet which.
    Restricted,
    /// A session that may do nothing but enrol a factor the tenant accepts.
    EnrolmentOwed,
    /// A full session.
    SignedIn,
    /// A full session that may change factors without a step-up, for 15 minutes.
    Grace,
}

impl State {
    /// All of them, in the order of a sign-in.
    pub const ALL: [Self; 7] = [
        Self::Anonymous,
        Self::TenantChoice,
        Self::FactorOwed,
        Self::Restricted,
        Self::EnrolmentOwed,
        Self::SignedIn,
        Self::Grace,
    ];

    /// Whether the session may do everything its user may.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::SignedIn | Self::Grace)
    }
}

/// What a user, a browser or time does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A password that fits in one tenant.
    Password,
    /// A password that fits in several tenants.
    PasswordOfSeveral,
    /// One of those tenants is chosen.
    ChooseTenant,
    /// An invitation or reset link with a new password.
    Link,
    /// A passkey that has verified the user.
    Passkey,
    /// An assertion of an identity provider.
    IdentityProvider,
    /// A session cookie of a neighbouring service.
    NeighbourCookie,
    /// A browser with a restricted session asks what it owes.
    Continue,
    /// A browser that comes from an identity provider asks what its ticket waits for.
    Resume,
    /// A second factor.
    Factor(FactorName),
    /// The end of enrolling a factor.
    Enrol(FactorKind),
    /// 15 minutes since the grace began.
    GraceOver,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Password,
        Self::PasswordOfSeveral,
        Self::ChooseTenant,
        Self::Link,
        Self::Passkey,
        Self::IdentityProvider,
        Self::NeighbourCookie,
        Self::Continue,
        Self::Resume,
        Self::Factor(FactorName::Webauthn),
        Self::Factor(FactorName::Totp),
        Self::Factor(FactorName::RecoveryCode),
        Self::Enrol(FactorKind::Webauthn),
        Self::Enrol(FactorKind::Totp),
        Self::GraceOver,
    ];
}

/// What decides where a step leads: the tenant's policy, and what the user can prove.
#[derive(Debug, Clone)]
pub struct Requirements {
    /// Which ways in are open.
    pub sign_in_mode: SignInMode,
    /// What is asked besides a first factor.
    pub mfa: MfaPolicy,
    /// Whether the user may use a password where an identity provider is required.
    pub break_glass: bool,
    /// The kinds of the user's verified factors.
    pub verified: Vec<FactorKind>,
    /// The user's unused recovery codes.
    pub unused_codes: usize,
    /// The first method of a sign-in that is under way.
    pub begun_with: Option<Method>,
}

impl Requirements {
    /// Those of a policy, for a user without factors.
    pub fn of_policy(policy: &SignInPolicy, break_glass: bool) -> Self {
        Self {
            sign_in_mode: policy.sign_in_mode,
            mfa: policy.mfa.clone(),
            break_glass,
            verified: Vec::new(),
            unused_codes: 0,
            begun_with: None,
        }
    }

    /// Whether a verified factor is of a kind the tenant accepts.
    fn has_accepted_factor(&self) -> bool {
        self.verified.iter().any(|kind| self.mfa.accepts(*kind))
    }

    /// What is owed after a first factor that is no second one.
    fn after_first_factor(&self) -> State {
        match (self.verified.is_empty(), self.mfa.required) {
            (false, _) => State::FactorOwed,
            // Recovery codes stand in for factors that were removed: a password alone enrols no new one.
            (true, true) if self.unused_codes > 0 => State::FactorOwed,
            (true, true) => State::EnrolmentOwed,
            (true, false) => State::SignedIn,
        }
    }
}

/// Refuses a step that the tenant's sign-in mode closes.
pub fn check_mode(step: Step, mode: SignInMode, break_glass: bool) -> Result<(), Error> {
    match (step, mode) {
        (Step::Password | Step::ChooseTenant | Step::Link | Step::Passkey, SignInMode::SsoRequired)
            if !break_glass =>
        {
            Err(Error::SsoRequired)
        }
        (Step::IdentityProvider | Step::NeighbourCookie, SignInMode::CredentialsOnly) => {
            Err(Error::SsoNotAllowed)
        }
        _ => Ok(()),
    }
}

/// Refuses to go on with a sign-in whose first step is closed by now.
fn check_still_open(requirements: &Requirements) -> Result<(), Error> {
    let begun = match requirements.begun_with {
        Some(Method::Sso) => Step::IdentityProvider,
        Some(Method::Password) => Step::Password,
        Some(Method::Passkey) => Step::Passkey,
        _ => return Ok(()),
    };
    check_mode(begun, requirements.sign_in_mode, requirements.break_glass)
}

/// Where a step that was proved leads.
///
/// # Errors
/// [`Error::SsoRequired`] or [`Error::SsoNotAllowed`] where the tenant has closed the way in,
/// [`Error::FactorNotAccepted`] for a factor that does not count while the user has one that does, and
/// [`Error::OutOfOrder`] for a step that this state does not have.
pub fn next(from: State, step: Step, requirements: &Requirements) -> Result<State, Error> {
    let mfa = &requirements.mfa;
    check_mode(step, requirements.sign_in_mode, requirements.break_glass)?;
    match (from, step) {
        (State::Anonymous, Step::PasswordOfSeveral) => Ok(State::TenantChoice),
        (State::Anonymous, Step::Passkey) if mfa.accepts(FactorKind::Webauthn) || !mfa.required => {
            Ok(State::SignedIn)
        }
        (State::Anonymous, Step::IdentityProvider) if mfa.trust_sso_mfa => Ok(State::SignedIn),
        (State::Anonymous, Step::Password | Step::Link | Step::Passkey | Step::IdentityProvider)
        | (State::TenantChoice, Step::ChooseTenant)
        | (State::Restricted | State::EnrolmentOwed, Step::Continue) => Ok(requirements.after_first_factor()),
        (State::Anonymous, Step::NeighbourCookie) => {
            let is_owed = (mfa.required || !requirements.verified.is_empty()) && !mfa.trust_sso_mfa;
            Ok(if is_owed { State::Restricted } else { State::SignedIn })
        }
        (State::FactorOwed, Step::Resume) => {
            check_still_open(requirements)?;
            Ok(State::FactorOwed)
        }
        (State::FactorOwed, Step::Factor(name)) => after_factor(name, requirements),
        (State::Restricted | State::EnrolmentOwed, Step::Enrol(kind)) => {
            Ok(after_enrolment(kind, requirements))
        }
        (State::SignedIn, Step::Enrol(_)) if requirements.verified.is_empty() => Ok(State::Grace),
        (State::SignedIn | State::Grace, Step::Continue | Step::Enrol(_)) => Ok(from),
        (State::Grace, Step::GraceOver) => Ok(State::SignedIn),
        _ => Err(Error::OutOfOrder),
    }
}

fn after_factor(name: FactorName, requirements: &Requirements) -> Result<State, Error> {
    check_still_open(requirements)?;
    let mfa = &requirements.mfa;
    match name.kind() {
        None => Ok(State::Grace),
        Some(kind) if mfa.accepts(kind) => Ok(State::SignedIn),
        Some(_) if requirements.has_accepted_factor() => Err(Error::FactorNotAccepted),
        // It is the best the user has, and a factor that counts is still to be enrolled where one is required.
        Some(_) if mfa.required => Ok(State::EnrolmentOwed),
        Some(_) => Ok(State::SignedIn),
    }
}

fn after_enrolment(kind: FactorKind, requirements: &Requirements) -> State {
    if !requirements.mfa.accepts(kind) {
        State::EnrolmentOwed
    } else if requirements.verified.is_empty() {
        State::Grace
    } else {
        State::SignedIn
    }
}
