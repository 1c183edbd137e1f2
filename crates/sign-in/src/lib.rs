//! Sign-in, from the first credential to the session.
//!
//! A sign-in is a state machine: [`State`] is its progress, [`Step`] an act of the user or browser, and [`next`] the
//! transition, decided by the tenant's policy and the user's factors ([`Requirements`]). Each function of this crate
//! carries out one step over [`Storage`] in one unit of work. It verifies the proof, refuses with [`Error`], and
//! returns an [`Outcome`] with its audit entries.
//!
//! # Transitions
//!
//! A cell lists every state that a step can lead to. `FactorOwed` applies if the user has a verified factor,
//! `EnrolmentOwed` if the tenant requires a factor and the user has none it accepts, and `SignedIn` otherwise.
//!
//! | From | Step | To |
//! |---|---|---|
//! | `Anonymous` | `PasswordOfSeveral` | `TenantChoice` |
//! | `Anonymous` | `Password`, `Link` | `FactorOwed`, `EnrolmentOwed`, `SignedIn`; refused `Error::SsoRequired` |
//! | `TenantChoice` | `ChooseTenant` | `FactorOwed`, `EnrolmentOwed`, `SignedIn`; refused `Error::SsoRequired` |
//! | `Anonymous` | `Passkey` | `SignedIn`, or where passkeys do not count `FactorOwed`, `EnrolmentOwed`; refused `Error::SsoRequired` |
//! | `Anonymous` | `IdentityProvider` | `SignedIn` where its factors are trusted, else `FactorOwed`, `EnrolmentOwed`; refused `Error::SsoNotAllowed` |
//! | `Anonymous` | `NeighbourCookie` | `SignedIn` where its factors are trusted or none is asked for, else `Restricted`; refused `Error::SsoNotAllowed` |
//! | `Restricted` | `Continue` | `FactorOwed`, `EnrolmentOwed`, `SignedIn` |
//! | `EnrolmentOwed` | `Continue` | `FactorOwed`, `EnrolmentOwed`, `SignedIn` |
//! | `FactorOwed` | `Resume` | `FactorOwed`; refused `Error::SsoRequired`, `Error::SsoNotAllowed` where the way in was closed meanwhile |
//! | `FactorOwed` | `Factor(Webauthn)`, `Factor(Totp)` | `SignedIn`, or where it does not count `EnrolmentOwed`; refused `Error::FactorNotAccepted`, `Error::SsoRequired`, `Error::SsoNotAllowed` |
//! | `FactorOwed` | `Factor(RecoveryCode)` | `Grace`; refused `Error::SsoRequired`, `Error::SsoNotAllowed` |
//! | `Restricted` | `Enrol(Webauthn)`, `Enrol(Totp)` | `Grace` with the first factor, `SignedIn` with a further one, `EnrolmentOwed` where it does not count |
//! | `EnrolmentOwed` | `Enrol(Webauthn)`, `Enrol(Totp)` | `Grace` with the first factor, `SignedIn` with a further one, `EnrolmentOwed` where it does not count |
//! | `SignedIn` | `Enrol(Webauthn)`, `Enrol(Totp)` | `Grace` with the first factor, else `SignedIn` |
//! | `Grace` | `Enrol(Webauthn)`, `Enrol(Totp)` | `Grace` |
//! | `SignedIn` | `Continue` | `SignedIn` |
//! | `Grace` | `Continue` | `Grace` |
//! | `Grace` | `GraceOver` | `SignedIn` |
//!
//! Every other step is refused with [`Error::OutOfOrder`]. A wrong proof leaves the state unchanged. Five wrong
//! answers or ten minutes end a ticket, and the sign-in starts again from `Anonymous`.

mod account;
pub mod administration;
pub mod app_enrolment;
#[cfg(feature = "conformance")]
pub mod conformance;
mod device;
pub mod enrolment;
mod error;
mod events;
mod factor;
mod federated;
mod first_factor;
mod link;
mod lockout;
mod memory;
mod network;
mod outcome;
pub mod own_password;
mod passkey;
pub mod passkey_enrolment;
pub mod password;
pub mod pats;
mod policy;
mod provider_session;
pub mod recovery_codes;
mod refusal;
mod rehearsal;
pub mod removals;
pub mod reset;
mod second_factor;
mod session;
mod setup;
pub mod sso;
mod state;
mod step_up;
mod store;
pub mod ticket;

pub use self::{
    account::{Account, lock_account, lock_account_to_remove, lock_session},
    device::Device,
    error::{Error, LockoutError, NetworkBlocked},
    events::{account_changes, end_other_sessions, end_session},
    factor::{FactorAnswer, FactorName, TotpKeys, Verifiers, totp_place},
    federated::{NeighbourCookie, with_neighbour_cookie},
    link::{LinkProof, RedeemableLink, check_password, find_link, parse_link, with_link},
    lockout::{AdministratorStore, Lockout, missing_to_sign_in, require_way_in},
    memory::MemoryStore,
    outcome::{Attempt, Outcome},
    passkey::{PasskeyChallenge, PasskeyProof, with_passkey},
    password::with_password,
    policy::{change_network_policy, change_policy, check_policy},
    provider_session::{EndedAtProvider, ProviderSession, ProviderSessionStore},
    refusal::Refusal,
    rehearsal::{Rehearsal, Rehearsed, Way, rehearse},
    second_factor::{SecondFactor, continue_session, find_ticket, resume, with_second_factor},
    session::StartedSession,
    setup::{LINK_HOURS as SETUP_LINK_HOURS, SetUp, SetUpError, SetupKeys, SetupStore, set_up},
    state::{Requirements, State, Step, check_mode, next},
    step_up::{SecondFactors, StepUpAnswer, audited},
    store::Storage,
};
