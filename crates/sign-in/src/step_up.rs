//! Step-ups accept the same factors as a sign-in.

use async_trait::async_trait;
use credentials::{Factor as Enrolled, FactorKind, FactorStore, Passkey};
use kernel::{Ctx, StoreResult, UserId};
use serde_json::Value;
use stepup::{Answer, Ceremonies, Ceremony, Error, Factor};
use tokio::sync::OnceCell;

use crate::{
    account::Account,
    factor::{Challenge, FactorAnswer, FactorName, Verifiers, prove},
};

/// The second factors of a locked account, for [`stepup::begin`] and [`stepup::verify`]. They are read once, after
/// the challenge row is locked, to keep one order of row locks everywhere.
pub struct SecondFactors<'a> {
    verifiers: Verifiers<'a>,
    account: &'a Account,
    verified: OnceCell<Vec<Enrolled>>,
}

impl<'a> SecondFactors<'a> {
    /// Creates the ceremonies of this account.
    pub fn new(verifiers: Verifiers<'a>, account: &'a Account) -> Self {
        Self { verifiers, account, verified: OnceCell::new() }
    }

    async fn verified<S: FactorStore>(&self, store: &mut S) -> StoreResult<&[Enrolled]> {
        let read = async || {
            let mut factors = store.factors(&self.account.person.id).await?;
            factors.retain(Enrolled::is_verified);
            Ok(factors)
        };
        self.verified.get_or_try_init(read).await.map(Vec::as_slice)
    }
}

/// Wraps the error of a failed ceremony.
fn failed(error: crate::Error) -> Error {
    Error::Ceremony(Box::new(error))
}

#[async_trait]
impl<S: FactorStore> Ceremonies<S> for SecondFactors<'_> {
    async fn factors(&self, _: &Ctx, store: &mut S, _: &UserId) -> Result<Vec<Factor>, Error> {
        let verified = self.verified(store).await?;
        let mfa = &self.account.policy.mfa;
        let has = |kind| mfa.accepts(kind) && verified.iter().any(|factor| factor.kind() == kind);
        let kinds = [(FactorKind::Webauthn, Factor::Webauthn), (FactorKind::Totp, Factor::Totp)];
        Ok(kinds.into_iter().filter(|(kind, _)| has(*kind)).map(|(_, factor)| factor).collect())
    }

    async fn begin(&self, _: &Ctx, store: &mut S, _: &UserId) -> Result<Ceremony, Error> {
        let verified = self.verified(store).await?;
        let passkeys: Vec<Passkey> = verified.iter().filter_map(Enrolled::passkey).cloned().collect();
        let begun = self.verifiers.passkeys().map_err(failed)?.begin_assertion(&passkeys);
        let (options, pending) = begun.map_err(|error| failed(crate::Error::internal(error)))?;
        let state = serde_json::to_value(&pending).map_err(|error| Error::Ceremony(error.into()))?;
        Ok(Ceremony { options, state })
    }

    async fn verify(
        &self,
        ctx: &Ctx,
        store: &mut S,
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
        let verified = self.verified(store).await?;
        let user = &self.account.person.id;
        let challenge = Challenge { user, verified, pending: pending.as_ref() };
        prove(ctx, store, &self.verifiers, &challenge, name, &answer).await.map_err(failed)
    }
}
