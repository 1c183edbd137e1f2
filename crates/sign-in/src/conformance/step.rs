//! The actions that a generated sign-in consists of, and how they are drawn.

use credentials::{FactorKind, MfaPolicy, SignInMode, SignInPolicy};

/// One action. Indexes count back from the newest ticket, session or app.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Password { right: bool },
    OfferTenants,
    ChooseTenant { ticket: usize, right: bool },
    IssueLink,
    RedeemLink { newest: bool },
    Passkey,
    IdentityProvider,
    NeighbourCookie,
    Totp { ticket: usize, app: usize, right: bool },
    RecoveryCode { ticket: usize, code: usize },
    Assertion { ticket: usize },
    Continue { session: usize, owes_today: bool },
    Resume { ticket: usize },
    EnrolApp { session: usize, steps_up: bool },
    EnrolPasskey { session: usize, steps_up: bool },
    NewRecoveryCodes,
    SetPolicy(SignInPolicy),
    SetActive(bool),
    SetBreakGlass(bool),
    SetNetwork { blocks: bool },
    ResetPassword,
    ResetFactors,
    EndSession { session: usize },
    Wait { millis: i64 },
}

/// The result of an action as the client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Observed {
    SignedIn,
    FactorOwed(Vec<&'static str>),
    EnrolmentOwed,
    /// The proof was wrong and counts as an attempt.
    Wrong,
    /// The action succeeded and returns nothing.
    Done,
    /// Nothing was changed because a step-up is required first.
    StepUpNeeded,
    /// The name of the error.
    Refused(String),
}

/// Draws actions.
pub(super) struct Random(kernel::Random);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(kernel::Random::new(seed))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.0.chance(percent)
    }

    fn back(&mut self) -> usize {
        self.0.back()
    }

    fn policy(&mut self) -> SignInPolicy {
        let sign_in_mode = match self.below(6) {
            0 => SignInMode::CredentialsOnly,
            1 => SignInMode::SsoRequired,
            _ => SignInMode::SsoAllowed,
        };
        let accepted_factors = match self.below(4) {
            0 => vec![FactorKind::Webauthn],
            1 => vec![FactorKind::Totp],
            _ => vec![FactorKind::Webauthn, FactorKind::Totp],
        };
        let mfa = MfaPolicy { required: self.chance(50), accepted_factors, trust_sso_mfa: self.chance(25) };
        SignInPolicy { sign_in_mode, mfa, ..SignInPolicy::default() }
    }

    /// Draws the next action.
    pub(super) fn act(&mut self) -> Action {
        match self.below(100) {
            0..12 => Action::Password { right: self.chance(85) },
            12..15 => Action::OfferTenants,
            15..19 => Action::ChooseTenant { ticket: self.back(), right: self.chance(80) },
            19..21 => Action::IssueLink,
            21..25 => Action::RedeemLink { newest: self.chance(90) },
            25..29 => Action::Passkey,
            29..33 => Action::IdentityProvider,
            33..36 => Action::NeighbourCookie,
            36..48 => Action::Totp { ticket: self.back(), app: self.back(), right: self.chance(80) },
            48..53 => Action::RecoveryCode { ticket: self.back(), code: self.back() },
            53..60 => Action::Assertion { ticket: self.back() },
            60..66 => Action::Continue { session: self.back(), owes_today: self.chance(15) },
            66..69 => Action::Resume { ticket: self.back() },
            69..75 => Action::EnrolApp { session: self.back(), steps_up: self.chance(70) },
            75..79 => Action::EnrolPasskey { session: self.back(), steps_up: self.chance(70) },
            79..81 => Action::NewRecoveryCodes,
            81..84 => Action::SetPolicy(self.policy()),
            84..86 => Action::SetActive(self.chance(85)),
            86 => Action::SetBreakGlass(self.chance(50)),
            87 => Action::SetNetwork { blocks: self.chance(20) },
            88 => Action::ResetPassword,
            89 => Action::ResetFactors,
            90..92 => Action::EndSession { session: self.back() },
            _ => Action::Wait { millis: self.wait() },
        }
    }

    fn wait(&mut self) -> i64 {
        const MINUTE: i64 = 60_000;
        match self.below(7) {
            0 | 1 => 31_000,
            2 => 4 * MINUTE,
            3 => 6 * MINUTE,
            4 => 11 * MINUTE,
            5 => 16 * MINUTE,
            _ => 2 * 60 * MINUTE,
        }
    }
}
