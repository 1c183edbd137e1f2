//! A step-up asks for the same factors as a sign-in, and remembers with it what was used.

use actix_web::web;
use async_trait::async_trait;
use credentials::{Factor as Enrolled, FactorKind, FactorStore, Passkey};
use kernel::{Ctx, StoreError, UserId};
use serde_json::Value;
use stepup::{Answer, Ceremonies, Ceremony, Error, Factor};
use store::Tx;
use tokio::sync::OnceCell;

use super::codes::{FactorName, Proof, proved};
use crate::api::Site;
use gate::{errors::Problem, signing_in::Held, step_up::ceremony};

/// The second factors of a person who is held, as they are in this unit of work: read once, and after the challenge,
/// as everybody holds rows in one order.
pub(crate) struct SecondFactors<'a> {
    site: &'a web::Data<Site>,
    held: &'a Held,
    verified: OnceCell<Vec<Enrolled>>,
}

impl<'a> SecondFactors<'a> {
    pub(crate) fn of(site: &'a web::Data<Site>, held: &'a Held) -> Self {
        Self { site, held, verified: OnceCell::new() }
    }

    async fn verified(&self, tx: &mut Tx) -> Result<&[Enrolled], StoreError> {
        let read = async || {
            let mut factors = tx.factors(&self.held.person.id).await?;
            factors.retain(Enrolled::is_verified);
            Ok(factors)
        };
        self.verified.get_or_try_init(read).await.map(Vec::as_slice)
    }
}

#[async_trait]
impl Ceremonies<Tx> for SecondFactors<'_> {
    async fn factors(&self, _: &Ctx, tx: &mut Tx, _: &UserId) -> Result<Vec<Factor>, Error> {
        let verified = self.verified(tx).await?;
        let has =
            |kind| self.held.policy.mfa.accepts(kind) && verified.iter().any(|factor| factor.kind() == kind);
        let kinds = [(FactorKind::Webauthn, Factor::Webauthn), (FactorKind::Totp, Factor::Totp)];
        Ok(kinds.into_iter().filter(|(kind, _)| has(*kind)).map(|(_, factor)| factor).collect())
    }

    async fn begin(&self, _: &Ctx, tx: &mut Tx, _: &UserId) -> Result<Ceremony, Error> {
        let verified = self.verified(tx).await?;
        let passkeys: Vec<Passkey> = verified.iter().filter_map(Enrolled::passkey).cloned().collect();
        let begun = self.site.auth.passkeys().map_err(ceremony)?.begin_assertion(&passkeys);
        let (options, pending) = begun.map_err(|error| ceremony(Problem::unforeseen(error)))?;
        let state = serde_json::to_value(&pending).map_err(|error| Error::Ceremony(error.into()))?;
        Ok(Ceremony { options, state })
    }

    async fn verify(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        _: &UserId,
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
        let user = &self.held.person.id;
        let verified = self.verified(tx).await?;
        let proved = proved(self.site, ctx, tx, user, verified, name, &proof, pending.as_ref()).await;
        proved.map_err(ceremony)
    }
}
