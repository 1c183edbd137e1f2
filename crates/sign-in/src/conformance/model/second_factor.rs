//! Second factors, sessions that wait for one, and enrolment.

use credentials::FactorKind;
use sessions::{GraceKind, Method};

use super::{App, MINUTE, Model, Session, Step, Ticket};
use crate::conformance::step::Observed;

impl Model {
    pub(super) fn push_session(
        &mut self,
        full: bool,
        methods: Vec<Method>,
        grace: Option<(GraceKind, i64, bool)>,
    ) {
        let signed_in = self.now;
        self.sessions.push(Session { full, methods, signed_in, grace, revoked: false, renewed: 0 });
    }

    /// Starts a session, or completes the one that waits; `proved` is the second factor that was just verified.
    pub(super) fn start(
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
    pub(super) fn second(&mut self, ticket: usize, kind: Option<FactorKind>, fits: bool) -> Step {
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

    pub(super) fn go_on(&mut self, back: usize, owes_today: bool) -> Step {
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

    pub(super) fn resume(&mut self, back: usize) -> Step {
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

    pub(super) fn enrol(&mut self, back: usize, kind: FactorKind, steps_up: bool) -> Step {
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
