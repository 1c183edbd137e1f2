//! A step-up asks for the same factors as a sign-in, and remembers with it what was used.

use actix_web::web;
use async_trait::async_trait;
use credentials::{Factor as Enrolled, FactorKind, FactorStore, Passkey, SignInStore};
use kernel::{Ctx, UserId};
use serde_json::Value;
use stepup::{Answer, Ceremonies, Ceremony, Error, Factor};
use store::Tx;

use super::codes::{FactorName, Proof, proved};
use crate::http::{Site, errors::Problem, step_up::ceremony};

/// The second factors of people.
pub(super) struct SecondFactors(pub(super) web::Data<Site>);

#[async_trait]
impl Ceremonies<Tx> for SecondFactors {
    async fn factors(&self, _: &Ctx, tx: &mut Tx, user: &UserId) -> Result<Vec<Factor>, Error> {
        let accepts = tx.sign_in_policy().await?.mfa;
        let factors = tx.factors(user).await?;
        let has = |kind| {
            let counts = |factor: &Enrolled| factor.is_verified() && factor.kind() == kind;
            accepts.accepts(kind) && factors.iter().any(counts)
        };
        let kinds = [(FactorKind::Webauthn, Factor::Webauthn), (FactorKind::Totp, Factor::Totp)];
        Ok(kinds.into_iter().filter(|(kind, _)| has(*kind)).map(|(_, factor)| factor).collect())
    }

    async fn begin(&self, _: &Ctx, tx: &mut Tx, user: &UserId) -> Result<Ceremony, Error> {
        let factors = tx.factors(user).await?;
        let passkeys: Vec<Passkey> = factors.iter().filter_map(Enrolled::passkey).cloned().collect();
        let passkeys_of = self.0.passkeys().map_err(|problem| ceremony(&problem))?;
        let begun = passkeys_of.begin_assertion(&passkeys);
        let (options, pending) = begun.map_err(|error| Error::Ceremony(error.to_string()))?;
        let state = serde_json::to_value(&pending).map_err(|error| Error::Ceremony(error.to_string()))?;
        Ok(Ceremony { options, state })
    }

    async fn verify(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        user: &UserId,
        factor: Factor,
        answer: &Answer,
        state: &Value,
    ) -> Result<bool, Error> {
        let pending = serde_json::from_value(state.clone()).ok();
        let (name, proof) = match (factor, answer) {
            (Factor::Webauthn, Answer::Credential(credential)) => {
                (FactorName::Webauthn, Proof::Credential(credential.clone()))
            }
            (Factor::Totp, Answer::Code(code)) => (FactorName::Totp, Proof::Code(code.clone())),
            _ => return Ok(false),
        };
        let proved = proved(&self.0, ctx, tx, user, name, &proof, pending.as_ref()).await;
        proved.map_err(|problem: Problem| ceremony(&problem))
    }
}
