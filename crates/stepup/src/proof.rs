//! The way from a token to the act.

use kernel::Ctx;

use crate::{Claims, Consumption, Invalid, StepUpStore, error::Error};

/// A token that [`check`](crate::check) accepted. It authorizes nothing before it is [consumed](Proof::consume).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "consume the proof in the transaction of the act, or the token can be used again"]
pub struct Proof(Claims);

impl Proof {
    pub(crate) fn new(claims: Claims) -> Self {
        Self(claims)
    }

    /// Returns the claims of the token.
    pub fn claims(&self) -> &Claims {
        &self.0
    }

    /// Consumes the token in the unit of work of the act. If that is rolled back, the token stays valid.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the token has expired since it was checked, was consumed before, or was revoked.
    pub async fn consume(&self, ctx: &Ctx, store: &mut dyn StepUpStore) -> Result<Consumed, Error> {
        let now = ctx.env.now();
        if now >= self.0.expires_at() {
            return Err(Invalid::Expired.into());
        }
        match store.consume_grant(&self.0.id, ctx.now).await? {
            Consumption::Now => Ok(Consumed(self.0.clone())),
            Consumption::Already => Err(Invalid::AlreadyUsed.into()),
            Consumption::Revoked => Err(Invalid::Revoked.into()),
        }
    }
}

/// The evidence that a token was consumed. Only [`Proof::consume`] creates it. Let the function that performs the act
/// take it as a parameter: then no path leads to the act without a consumed token.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the act that this token was consumed for has not happened"]
pub struct Consumed(Claims);

impl Consumed {
    /// Returns the claims of the token.
    pub fn claims(&self) -> &Claims {
        &self.0
    }

    /// Returns the claims of the token.
    pub fn into_claims(self) -> Claims {
        self.0
    }
}
