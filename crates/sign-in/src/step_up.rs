//! Step-ups accept the same factors as a sign-in.

use async_trait::async_trait;
use audit::{
    Audited, Event,
    events::step_up::{StepUpFailed, StepUpIssued},
};
use credentials::{
    Assertion, Factor as Enrolled, FactorKind, FactorStore, Passkey,
    attempts::{self, Limit},
};
use kernel::{Ctx, StoreResult, TenantId, UserId};
use serde_json::Value;
use sessions::Session;
use stepup::{Answer, Ceremonies, Ceremony, Error, Factor, IssuedToken, StepUpStore, Verified};

use crate::{
    account::Account,
    factor::{Challenge, FactorAnswer, FactorName, Verifiers, prove},
};

/// The second factors of a locked account, for [`stepup::begin`] and [`stepup::verify`]. They are read once, after
/// the challenge row is locked, to keep one order of row locks everywhere.
pub struct SecondFactors<'a, S> {
    store: &'a mut S,
    verifiers: Verifiers<'a>,
    account: &'a Account,
    verified: Vec<Enrolled>,
    is_read: bool,
}

impl<'a, S: FactorStore> SecondFactors<'a, S> {
    /// Creates the ceremonies of this account, in the unit of work of `store`.
    pub fn new(store: &'a mut S, verifiers: Verifiers<'a>, account: &'a Account) -> Self {
        Self { store, verifiers, account, verified: Vec::new(), is_read: false }
    }

    async fn read(&mut self) -> StoreResult<()> {
        if !self.is_read {
            self.verified = self.store.factors(&self.account.person.id).await?;
            self.verified.retain(Enrolled::is_verified);
            self.is_read = true;
        }
        Ok(())
    }
}

/// A user's answer to a step-up challenge.
#[derive(Debug, Clone)]
pub struct StepUpAnswer {
    /// The factor in the terms of a sign-in.
    pub name: FactorName,
    /// The factor in the terms of a step-up.
    pub factor: Factor,
    /// The code or assertion.
    pub answer: Answer,
}

impl StepUpAnswer {
    /// Reads the answer from the two optional members of a request. Recovery codes are not accepted.
    pub fn new(
        name: FactorName,
        code: Option<String>,
        credential: Option<Value>,
    ) -> Result<Self, crate::Error> {
        let answer = match FactorAnswer::new(name, code, credential)? {
            FactorAnswer::Code(code) => Answer::Code(code),
            FactorAnswer::Credential(credential) => {
                let malformed = crate::Error::Malformed(
                    "credential: send the authenticator's response (AuthenticationResponseJSON)",
                );
                Assertion::read(&credential).map_err(|_| malformed)?;
                Answer::Credential(credential)
            }
        };
        let factor = match name {
            FactorName::Webauthn => Factor::Webauthn,
            FactorName::Totp => Factor::Totp,
            FactorName::RecoveryCode => return Err(crate::Error::RecoveryCodeNotAccepted),
        };
        Ok(Self { name, factor, answer })
    }

    /// Returns the rate limits that the answer counts against.
    pub fn limits(&self, tenant: &TenantId, session: &Session, origin: &str) -> Vec<Limit> {
        match self.name {
            FactorName::Totp => attempts::step_up(session.id.as_str()),
            other => other.limits(tenant, &session.user, origin),
        }
    }
}

/// Returns the token for a correct answer, with the audit entry for either outcome.
pub fn audited(verified: Verified, user: &UserId, factor: Factor) -> Audited<Option<Box<IssuedToken>>> {
    let factor = factor.as_str();
    match verified {
        Verified::Wrong(challenge) => {
            let data = StepUpFailed { session: challenge.session, purpose: challenge.purpose, factor };
            Audited::new(None, Event::new(user.as_str(), &data))
        }
        Verified::Right(granted) => {
            let (session, purpose) = (granted.grant.session.clone(), granted.grant.purpose.clone());
            let data = StepUpIssued { user: user.to_string(), session, purpose, factor };
            let event = Event::new(granted.grant.id.as_str(), &data);
            Audited::new(Some(granted), event)
        }
    }
}

/// Wraps the error of a failed ceremony.
fn failed(error: crate::Error) -> Error {
    Error::Ceremony(Box::new(error))
}

#[async_trait]
impl<S: FactorStore + StepUpStore> Ceremonies for SecondFactors<'_, S> {
    fn store(&mut self) -> &mut dyn StepUpStore {
        self.store
    }

    async fn factors(&mut self, _: &Ctx, _: &UserId) -> Result<Vec<Factor>, Error> {
        self.read().await?;
        let mfa = &self.account.policy.mfa;
        let has = |kind| mfa.accepts(kind) && self.verified.iter().any(|factor| factor.kind() == kind);
        let kinds = [(FactorKind::Webauthn, Factor::Webauthn), (FactorKind::Totp, Factor::Totp)];
        Ok(kinds.into_iter().filter(|(kind, _)| has(*kind)).map(|(_, factor)| factor).collect())
    }

    async fn begin(&mut self, _: &Ctx, _: &UserId) -> Result<Ceremony, Error> {
        self.read().await?;
        let passkeys: Vec<Passkey> = self.verified.iter().filter_map(Enrolled::passkey).cloned().collect();
        let begun = self.verifiers.passkeys().map_err(failed)?.begin_assertion(&passkeys);
        let (options, pending) = begun.map_err(|error| failed(crate::Error::internal(error)))?;
        let state = serde_json::to_value(&pending).map_err(|error| Error::Ceremony(error.into()))?;
        Ok(Ceremony { options, state })
    }

    async fn verify(
        &mut self,
        ctx: &Ctx,
        _: &UserId,
        factor: Factor,
        answer: &Answer,
        state: &Value,
    ) -> Result<bool, Error> {
        let pending = serde_json::from_value(state.clone()).ok();
        let (name, answer) = match (factor, answer) {
            (Factor::Webauthn, Answer::Credential(credential)) => {
                (FactorName::Webauthn, FactorAnswer::Credential(credential.clone()))
            }
            (Factor::Totp, Answer::Code(code)) => (FactorName::Totp, FactorAnswer::Code(code.clone())),
            _ => return Ok(false),
        };
        self.read().await?;
        let user = &self.account.person.id;
        let challenge = Challenge { user, verified: &self.verified, pending: pending.as_ref() };
        prove(ctx, self.store, &self.verifiers, &challenge, name, &answer).await.map_err(failed)
    }
}
