//! Sign-ins with a first factor.

use credentials::FactorKind;
use sessions::Method;

use super::{Model, Step};
use crate::conformance::step::Observed;

impl Model {
    pub(super) fn password(&mut self, version: Option<u32>, compared: Option<i64>) -> Step {
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
    pub(in crate::conformance) fn choose(&mut self, back: usize, right: bool) -> Observed {
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

    pub(super) fn redeem(&mut self, newest: bool) -> Step {
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

    pub(super) fn passkey(&mut self) -> Step {
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

    pub(super) fn neighbour(&mut self) -> Step {
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

    /// Continues after a first factor, which may be sufficient.
    pub(super) fn after_first(
        &mut self,
        methods: Vec<Method>,
        waiting: Option<(usize, u32)>,
        enough: bool,
    ) -> Step {
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

    pub(super) fn names(&self) -> Vec<&'static str> {
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
}
