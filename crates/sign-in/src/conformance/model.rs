//! A small reference model of sign-in: the expected result of every action, without storage, ids or secrets.

mod first_factor;
mod second_factor;

use credentials::{FactorKind, SignInMode, SignInPolicy};
use sessions::{GraceKind, Method};

use super::step::{Action, Observed};

const MINUTE: i64 = 60_000;

#[derive(Debug, Clone)]
struct Ticket {
    /// For a tenant choice: when the password was compared, and the version of that password.
    choice: Option<(i64, u32)>,
    made: i64,
    wrong: u32,
    gone: bool,
    methods: Vec<Method>,
    /// The restricted session that waits for a factor: its index, and how often its id had been renewed.
    session: Option<(usize, u32)>,
    /// Whether a WebAuthn challenge was issued.
    asked: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Session {
    pub(super) full: bool,
    pub(super) methods: Vec<Method>,
    pub(super) signed_in: i64,
    /// The kind of grace, when it began, and whether it was used to enrol a factor.
    pub(super) grace: Option<(GraceKind, i64, bool)>,
    pub(super) revoked: bool,
    /// How often the id was renewed.
    renewed: u32,
}

#[derive(Debug, Clone)]
pub(super) struct App {
    kind: FactorKind,
    last_step: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) now: i64,
    pub(super) policy: SignInPolicy,
    pub(super) blocked: bool,
    active: bool,
    break_glass: bool,
    updated: i64,
    refused_until: i64,
    password: Option<u32>,
    newest_password: u32,
    pub(super) factors: Vec<App>,
    pub(super) codes: Vec<bool>,
    pub(super) wrong_codes: i64,
    /// When the newest link expires.
    link: Option<i64>,
    tickets: Vec<Ticket>,
    pub(super) sessions: Vec<Session>,
}

type Step = Result<Observed, &'static str>;

impl Model {
    pub(super) fn new(now: i64) -> Self {
        Self {
            now,
            policy: SignInPolicy::default(),
            blocked: false,
            active: true,
            break_glass: false,
            updated: now,
            refused_until: i64::MIN,
            password: None,
            newest_password: 0,
            factors: Vec::new(),
            codes: Vec::new(),
            wrong_codes: 0,
            link: None,
            tickets: Vec::new(),
            sessions: Vec::new(),
        }
    }

    /// Returns the expected result of `act`. Refused actions change nothing.
    pub(super) fn act(&mut self, act: &Action) -> Observed {
        let mut after = self.clone();
        match after.try_act(act) {
            Ok(observed) => {
                *self = after;
                observed
            }
            Err(error) => Observed::Refused(error.to_owned()),
        }
    }

    fn try_act(&mut self, act: &Action) -> Step {
        match *act {
            Action::Password { right } => self.password(right.then_some(self.password).flatten(), None),
            Action::OfferTenants => {
                let version = self.password.unwrap_or(self.newest_password);
                self.push_ticket(Some((self.now, version)), Vec::new(), None, false);
                Ok(Observed::Done)
            }
            Action::RedeemLink { newest } => self.redeem(newest),
            Action::Passkey => self.passkey(),
            Action::IdentityProvider => {
                self.alive()?;
                self.mode(Method::Sso)?;
                self.after_first(vec![Method::Sso], None, self.policy.mfa.trust_sso_mfa)
            }
            Action::NeighbourCookie => self.neighbour(),
            Action::Totp { ticket, app, right } => {
                let step = self.now / 30_000;
                let apps: Vec<_> =
                    (0..self.factors.len()).filter(|at| self.factors[*at].kind == FactorKind::Totp).collect();
                let used = apps.iter().rev().nth(app).copied();
                let fits = right && used.is_some_and(|at| self.factors[at].last_step < step);
                let observed = self.second(ticket, Some(FactorKind::Totp), fits)?;
                if let (true, Some(at)) = (fits, used) {
                    self.factors[at].last_step = step;
                }
                Ok(observed)
            }
            Action::RecoveryCode { ticket, code } => {
                let fits = self.codes.get(code).is_some_and(|used| !used);
                let observed = self.second(ticket, None, fits)?;
                if fits {
                    self.codes[code] = true;
                }
                Ok(observed)
            }
            Action::Assertion { ticket } => {
                let asked = self.tickets.iter().rev().nth(ticket).is_some_and(|ticket| ticket.asked);
                self.second(ticket, Some(FactorKind::Webauthn), asked && self.has(FactorKind::Webauthn))
            }
            Action::Continue { session, owes_today } => self.go_on(session, owes_today),
            Action::Resume { ticket } => self.resume(ticket),
            Action::EnrolApp { session, steps_up } => self.enrol(session, FactorKind::Totp, steps_up),
            Action::EnrolPasskey { session, steps_up } => self.enrol(session, FactorKind::Webauthn, steps_up),
            Action::SetBreakGlass(on) => {
                self.break_glass = on;
                self.updated = self.now;
                Ok(Observed::Done)
            }
            Action::SetActive(on) => {
                if self.active && !on {
                    self.refuse_older();
                    self.link = None;
                }
                self.active = on;
                self.updated = self.now;
                Ok(Observed::Done)
            }
            Action::ResetPassword => {
                if !self.active {
                    return Err("UserDisabled");
                }
                self.password = None;
                self.refuse_older();
                Ok(Observed::Done)
            }
            Action::ResetFactors => {
                self.factors.clear();
                self.codes.clear();
                self.wrong_codes = 0;
                self.refuse_older();
                Ok(Observed::Done)
            }
            Action::EndSession { session } => {
                self.session(session).revoked = true;
                Ok(Observed::Done)
            }
            // `choose` and `expected` handle these: a choice is a commit of its own, and the others are not sign-in
            // steps.
            Action::ChooseTenant { .. }
            | Action::IssueLink
            | Action::NewRecoveryCodes
            | Action::SetPolicy(_) => {
                unreachable!()
            }
            Action::SetNetwork { .. } | Action::Wait { .. } => unreachable!(),
        }
    }

    pub(super) fn set_link(&mut self, hours: i64) {
        self.link = Some(self.now + hours * 60 * MINUTE);
    }

    fn alive(&self) -> Result<(), &'static str> {
        if self.active { Ok(()) } else { Err("AccountDisabled") }
    }

    fn let_in(&self) -> Result<(), &'static str> {
        if self.blocked { Err("NetworkBlocked") } else { Ok(()) }
    }

    /// Checks that the tenant's sign-in mode permits a sign-in that begins with `first`.
    fn mode(&self, first: Method) -> Result<(), &'static str> {
        match (first, self.policy.sign_in_mode) {
            (Method::Sso, SignInMode::CredentialsOnly) => Err("SsoNotAllowed"),
            (Method::Password | Method::Passkey, SignInMode::SsoRequired) if !self.break_glass => {
                Err("SsoRequired")
            }
            _ => Ok(()),
        }
    }

    fn accepts(&self, kind: FactorKind) -> bool {
        self.policy.mfa.accepted_factors.contains(&kind)
    }

    fn has(&self, kind: FactorKind) -> bool {
        self.factors.iter().any(|factor| factor.kind == kind)
    }

    pub(super) fn has_passkey(&self) -> bool {
        self.has(FactorKind::Webauthn)
    }

    pub(super) fn unused_codes(&self) -> usize {
        self.codes.iter().filter(|used| !**used).count()
    }

    fn session(&mut self, back: usize) -> &mut Session {
        self.sessions.iter_mut().rev().nth(back).unwrap()
    }

    /// Ends all sessions and sign-ins, and refuses older tokens of other services.
    fn refuse_older(&mut self) {
        self.sessions.iter_mut().for_each(|session| session.revoked = true);
        self.tickets.iter_mut().for_each(|ticket| ticket.gone = true);
        self.refused_until = self.now;
    }

    fn push_ticket(
        &mut self,
        choice: Option<(i64, u32)>,
        methods: Vec<Method>,
        session: Option<(usize, u32)>,
        asked: bool,
    ) {
        let made = self.now;
        self.tickets.push(Ticket { choice, made, wrong: 0, gone: false, methods, session, asked });
    }

    /// Returns the index of a live ticket of this kind, counted back from the newest.
    fn ticket(&self, back: usize, for_choice: bool) -> Result<usize, &'static str> {
        let at = self.tickets.len().checked_sub(back + 1).ok_or("TicketInvalid")?;
        let ticket = &self.tickets[at];
        let waits = !ticket.gone && ticket.wrong < 5 && self.now < ticket.made + 10 * MINUTE;
        if waits && ticket.choice.is_some() == for_choice { Ok(at) } else { Err("TicketInvalid") }
    }
}
