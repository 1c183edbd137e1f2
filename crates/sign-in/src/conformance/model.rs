//! A small reference model of sign-in: the expected result of every action, without storage, ids or secrets.

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

    fn password(&mut self, version: Option<u32>, compared: Option<i64>) -> Step {
        self.alive()?;
        if version.is_none() || version != self.password {
            return Err("InvalidCredentials");
        }
        if compared.is_some_and(|at| self.updated > at || self.refused_until > at) {
            return Err("TicketInvalid");
        }
        self.mode(Method::Password)?;
        self.let_in()?;
        self.after_first(vec![Method::Password], None, false)
    }

    /// Chooses a tenant and then signs in. The choice stays consumed even if the sign-in is refused.
    pub(super) fn choose(&mut self, back: usize, right: bool) -> Observed {
        let at = match self.ticket(back, true) {
            Ok(at) => at,
            Err(error) => return Observed::Refused(error.to_owned()),
        };
        if !right {
            self.tickets[at].wrong += 1;
            return Observed::Wrong;
        }
        self.tickets[at].gone = true;
        let (compared, version) = self.tickets[at].choice.unwrap();
        let mut after = self.clone();
        match after.password(Some(version), Some(compared)) {
            Ok(observed) => {
                *self = after;
                observed
            }
            Err(error) => Observed::Refused(error.to_owned()),
        }
    }

    fn redeem(&mut self, newest: bool) -> Step {
        self.alive()?;
        self.let_in()?;
        if !newest || self.link.is_none_or(|end| self.now >= end) {
            return Err("LinkInvalid");
        }
        self.link = None;
        self.newest_password += 1;
        self.password = Some(self.newest_password);
        self.refuse_older();
        self.mode(Method::Password)?;
        self.after_first(vec![Method::Password], None, false)
    }

    fn passkey(&mut self) -> Step {
        if !self.has(FactorKind::Webauthn) {
            return Ok(Observed::Wrong);
        }
        self.wrong_codes = 0;
        self.mode(Method::Passkey)?;
        self.alive()?;
        self.let_in()?;
        let counts = self.accepts(FactorKind::Webauthn) || !self.policy.mfa.required;
        self.after_first(vec![Method::Passkey, Method::UserVerified], None, counts)
    }

    fn neighbour(&mut self) -> Step {
        self.alive()?;
        if self.now <= self.refused_until {
            return Err("SessionRevoked");
        }
        self.mode(Method::Sso)?;
        self.let_in()?;
        let mfa = &self.policy.mfa;
        let full = mfa.trust_sso_mfa || (!mfa.required && self.factors.is_empty());
        self.push_session(full, vec![Method::Sso], None);
        Ok(Observed::Done)
    }

    fn push_session(&mut self, full: bool, methods: Vec<Method>, grace: Option<(GraceKind, i64, bool)>) {
        let signed_in = self.now;
        self.sessions.push(Session { full, methods, signed_in, grace, revoked: false, renewed: 0 });
    }

    /// Continues after a first factor, which may be sufficient.
    fn after_first(&mut self, methods: Vec<Method>, waiting: Option<(usize, u32)>, enough: bool) -> Step {
        let required = self.policy.mfa.required;
        let owes = !self.factors.is_empty() || (required && self.unused_codes() > 0);
        if enough || (!owes && !required) {
            self.start(true, methods, waiting, None)
        } else if owes {
            let names = self.names();
            let asked = names.contains(&"WEBAUTHN");
            self.push_ticket(None, methods, waiting, asked);
            Ok(Observed::FactorOwed(names))
        } else {
            self.start(false, methods, waiting, None)
        }
    }

    fn names(&self) -> Vec<&'static str> {
        let any = !self.factors.iter().any(|factor| self.accepts(factor.kind));
        let kinds = [(FactorKind::Webauthn, "WEBAUTHN"), (FactorKind::Totp, "TOTP")];
        let mut names: Vec<_> = kinds
            .into_iter()
            .filter(|(kind, _)| self.has(*kind) && (any || self.accepts(*kind)))
            .map(|(_, name)| name)
            .collect();
        if self.unused_codes() > 0 {
            names.push("RECOVERY_CODE");
        }
        names
    }

    /// Starts a session, or completes the one that waits; `proved` is the second factor that was just verified.
    fn start(
        &mut self,
        full: bool,
        methods: Vec<Method>,
        waiting: Option<(usize, u32)>,
        proved: Option<Method>,
    ) -> Step {
        let grace = (proved == Some(Method::RecoveryCode)).then_some((GraceKind::Recovery, self.now, false));
        let at = if let Some((at, renewed)) = waiting {
            let now = self.now;
            let session = &mut self.sessions[at];
            if session.revoked || session.renewed != renewed {
                return Err("SessionRevoked");
            }
            let mut opens_more = session.full != full || proved.is_some();
            for method in methods {
                if !session.methods.contains(&method) {
                    session.methods.push(method);
                    session.signed_in = now;
                    opens_more = true;
                }
            }
            session.grace = grace.or(session.grace);
            session.full = full;
            session.renewed += u32::from(opens_more);
            at
        } else {
            self.push_session(full, methods, grace);
            self.sessions.len() - 1
        };
        if full {
            return Ok(Observed::SignedIn);
        }
        let session = &self.sessions[at];
        let (methods, waits) = (session.methods.clone(), Some((at, session.renewed)));
        self.push_ticket(None, methods, waits, false);
        Ok(Observed::EnrolmentOwed)
    }

    /// Verifies a second factor of this kind, or a recovery code for `None`.
    fn second(&mut self, ticket: usize, kind: Option<FactorKind>, fits: bool) -> Step {
        self.alive()?;
        self.let_in()?;
        let at = self.ticket(ticket, false)?;
        let Ticket { mut methods, session, .. } = self.tickets[at].clone();
        self.mode(methods[0])?;
        let counts = kind.is_none_or(|kind| self.accepts(kind));
        if !counts && self.factors.iter().any(|factor| self.accepts(factor.kind)) {
            return Err("FactorNotAccepted");
        }
        let is_code = kind != Some(FactorKind::Webauthn);
        if is_code && self.wrong_codes >= 100 {
            return Err("TooManyWrongCodes");
        }
        if !fits {
            self.wrong_codes += i64::from(is_code);
            self.tickets[at].wrong += 1;
            return Ok(Observed::Wrong);
        }
        self.wrong_codes = 0;
        self.tickets[at].gone = true;
        let proved = match kind {
            Some(FactorKind::Webauthn) => Method::Passkey,
            Some(FactorKind::Totp) => Method::Totp,
            None => Method::RecoveryCode,
        };
        methods.push(proved);
        self.start(counts || !self.policy.mfa.required, methods, session, Some(proved))
    }

    fn go_on(&mut self, back: usize, owes_today: bool) -> Step {
        self.alive()?;
        self.let_in()?;
        let at = self.sessions.len() - 1 - back;
        let session = &self.sessions[at];
        let (methods, waiting) = (session.methods.clone(), Some((at, session.renewed)));
        if session.full && !owes_today {
            return self.start(true, methods, waiting, None);
        }
        self.after_first(methods, waiting, false)
    }

    fn resume(&mut self, back: usize) -> Step {
        self.alive()?;
        self.let_in()?;
        let at = self.ticket(back, false)?;
        if self.tickets[at].methods != [Method::Sso] {
            return Err("TicketInvalid");
        }
        self.mode(Method::Sso)?;
        let owes_factor = !self.factors.is_empty() || (self.policy.mfa.required && self.unused_codes() > 0);
        if !owes_factor {
            return Err("TicketInvalid");
        }
        let names = self.names();
        self.tickets[at].asked |= names.contains(&"WEBAUTHN");
        Ok(Observed::FactorOwed(names))
    }

    fn enrol(&mut self, back: usize, kind: FactorKind, steps_up: bool) -> Step {
        self.alive()?;
        let (now, required_kinds) = (self.now, self.policy.mfa.accepted_factors.clone());
        let (is_first, codes) = (self.factors.is_empty(), self.unused_codes());
        let any_counts = self.factors.iter().any(|factor| required_kinds.contains(&factor.kind));
        let session = self.session(back);
        if session.revoked {
            return Err("SessionRevoked");
        }
        let second = [Method::Totp, Method::Passkey, Method::RecoveryCode];
        let has_second = session.methods.iter().any(|method| second.contains(method));
        let is_fresh = now < session.signed_in + 5 * MINUTE;
        let graced = session.grace.is_some_and(|(_, since, used)| !used && now < since + 15 * MINUTE);
        let owes = !session.full;
        if is_first {
            if owes && !has_second && codes > 0 {
                return Err("MfaRequired");
            }
            if !is_fresh {
                return Err("SignInRequired");
            }
        } else if graced {
            session.grace = session.grace.map(|(kind, since, _)| (kind, since, true));
        } else if !any_counts {
            if !(has_second && is_fresh) {
                return Err("SignInRequired");
            }
        } else if owes {
            return Err("MfaRequired");
        } else if !steps_up {
            return Ok(Observed::StepUpNeeded);
        }
        if is_first {
            session.grace = match session.grace {
                Some((GraceKind::Recovery, since, _)) => Some((GraceKind::Recovery, since, true)),
                _ => Some((GraceKind::FirstFactor, now, false)),
            };
        }
        let method = if kind == FactorKind::Totp { Method::Totp } else { Method::Passkey };
        if !session.methods.contains(&method) {
            session.methods.push(method);
            session.renewed += 1;
        }
        if owes && required_kinds.contains(&kind) {
            session.full = true;
            session.signed_in = now;
        }
        self.factors.push(App { kind, last_step: now / 30_000 });
        Ok(Observed::Done)
    }
}
