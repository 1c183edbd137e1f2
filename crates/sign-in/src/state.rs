//! The states of a sign-in and their transitions.

use credentials::{FactorKind, MfaPolicy, SignInMode, SignInPolicy};
use sessions::Method;

use crate::{error::Error, factor::FactorName};

/// The progress of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nothing is proved.
    Anonymous,
    /// The password fits accounts in several tenants. A ticket waits for the choice; there is no session.
    TenantChoice,
    /// A first factor is proved. A ticket waits for a second; there is no session, or a restricted one.
    FactorOwed,
    /// A session of a neighbouring service owes a second factor that has not been requested yet.
    Restricted,
    /// A restricted session that may only enrol a factor the tenant accepts.
    EnrolmentOwed,
    /// A full session.
    SignedIn,
    /// A full session that may change factors without a step-up for 15 minutes.
    Grace,
}

impl State {
    /// All states, in the order of a sign-in.
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

/// An act of a user or browser, or the passing of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A password that fits an account in one tenant.
    Password,
    /// A password that fits accounts in several tenants.
    PasswordOfSeveral,
    /// The user chooses one of those tenants.
    ChooseTenant,
    /// An invitation or reset link with a new password.
    Link,
    /// A passkey that has verified the user.
    Passkey,
    /// An assertion of an identity provider.
    IdentityProvider,
    /// A session cookie from a neighbouring service.
    NeighbourCookie,
    /// A browser with a restricted session requests what it owes.
    Continue,
    /// A browser that returns from an identity provider requests what its ticket waits for.
    Resume,
    /// A second factor.
    Factor(FactorName),
    /// The end of enrolling a factor.
    Enrol(FactorKind),
    /// The grace has lasted 15 minutes.
    GraceOver,
}

impl Step {
    /// All steps.
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

/// The tenant's policy and the user's factors, which decide where a step leads.
#[derive(Debug, Clone)]
pub struct Requirements {
    /// Which methods of sign-in the tenant accepts.
    pub sign_in_mode: SignInMode,
    /// The requirements for second factors.
    pub mfa: MfaPolicy,
    /// Whether the user may use a password even if the tenant requires single sign-on.
    pub break_glass: bool,
    /// The kinds of the user's verified factors.
    pub verified: Vec<FactorKind>,
    /// The number of the user's unused recovery codes.
    pub unused_codes: usize,
    /// The first method of the sign-in in progress.
    pub begun_with: Option<Method>,
}

impl Requirements {
    /// Returns the requirements of a policy for a user without factors.
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

    /// Returns the state after a first factor that does not count as a second.
    fn after_first_factor(&self) -> State {
        match (self.verified.is_empty(), self.mfa.required) {
            (false, _) => State::FactorOwed,
            // Recovery codes replace factors that were removed: a password is not enough to enrol a new one.
            (true, true) if self.unused_codes > 0 => State::FactorOwed,
            (true, true) => State::EnrolmentOwed,
            (true, false) => State::SignedIn,
        }
    }
}

/// Refuses a step that the tenant's sign-in mode does not permit.
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

/// Refuses to continue a sign-in whose first step the tenant no longer permits.
fn check_still_open(requirements: &Requirements) -> Result<(), Error> {
    let begun = match requirements.begun_with {
        Some(Method::Sso) => Step::IdentityProvider,
        Some(Method::Password) => Step::Password,
        Some(Method::Passkey) => Step::Passkey,
        _ => return Ok(()),
    };
    check_mode(begun, requirements.sign_in_mode, requirements.break_glass)
}

/// Returns the state that a proved step leads to.
///
/// # Errors
/// [`Error::SsoRequired`] or [`Error::SsoNotAllowed`] if the tenant does not permit this method,
/// [`Error::FactorNotAccepted`] for a factor the tenant does not accept while the user has one it does, and
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
        // It is the user's best factor. If the tenant requires one, the user still has to enrol one it accepts.
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
