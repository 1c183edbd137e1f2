//! A step-up for a service that keeps its keys, purposes and factors in one value.

use kernel::{Ctx, MasterKeys, SigningKeys};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    Attempt, BegunChallenge, Caller, Ceremonies, Codes, Consumed, Purpose, Verified, begin, check,
    error::Error, find, verify,
};

/// The keys, purposes and second factors of a service. If your factors belong to a transaction, create it with each
/// transaction, or call the functions of this crate.
pub struct Service<F = Codes> {
    keys: SigningKeys,
    purposes: &'static [Purpose],
    factors: F,
}

/// The body of a request for a challenge.
#[derive(Deserialize)]
struct Asked {
    purpose: String,
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Malformed(error.to_string()))
}

impl<F: Ceremonies> Service<F> {
    /// Creates a service that signs tokens with a key derived from `masters`.
    pub fn new(masters: &MasterKeys, purposes: &'static [Purpose], factors: F) -> Self {
        Self { keys: SigningKeys::derive(masters, "step-up"), purposes, factors }
    }

    /// Returns the factors and their storage.
    pub fn factors(&mut self) -> &mut F {
        &mut self.factors
    }

    /// Starts a challenge. See [`begin`].
    ///
    /// # Errors
    ///
    /// [`Error::NoFactorAvailable`] if the user has no factor that the purpose accepts.
    pub async fn begin(
        &mut self,
        ctx: &Ctx,
        caller: &Caller,
        purpose: &Purpose,
    ) -> Result<BegunChallenge, Error> {
        begin(ctx, &mut self.factors, caller, purpose).await
    }

    /// Verifies an answer. See [`verify`].
    ///
    /// # Errors
    ///
    /// [`Error::ChallengeInvalid`] unless the challenge is pending and belongs to `caller`. A wrong answer is a value.
    pub async fn verify(&mut self, ctx: &Ctx, caller: &Caller, attempt: &Attempt) -> Result<Verified, Error> {
        verify(ctx, &mut self.factors, &self.keys, self.purposes, caller, attempt).await
    }

    /// Answers a request to `challenge-options` with `{"purpose"}`, or to `verify` with an [`Attempt`], and returns the body of the
    /// response. Commit the unit of work also if the answer is wrong, because it is counted.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for another operation, [`Error::FactorInvalid`] for a wrong answer, and those of
    /// [`Service::begin`] and [`Service::verify`].
    pub async fn answer(
        &mut self,
        ctx: &Ctx,
        caller: &Caller,
        operation: &str,
        body: &[u8],
    ) -> Result<Value, Error> {
        match operation {
            "challenge-options" => {
                let Asked { purpose } = read(body)?;
                let names = || self.purposes.iter().map(|purpose| purpose.name).collect();
                let purpose = find(self.purposes, &purpose).ok_or_else(|| Error::UnknownPurpose(names()))?;
                Ok(json!(self.begin(ctx, caller, purpose).await?))
            }
            "verify" => Ok(self.verify(ctx, caller, &read(body)?).await?.into_token()?.response()),
            _ => Err(Error::NotFound),
        }
    }

    /// Checks the token of a request and consumes it. Perform the act only with the value that this returns.
    ///
    /// # Errors
    ///
    /// [`Error::Required`] if `token` is `None`, [`Error::Invalid`] if it does not authorize this act of this caller.
    pub async fn consume(
        &mut self,
        ctx: &Ctx,
        caller: &Caller,
        purpose: &Purpose,
        token: Option<&str>,
    ) -> Result<Consumed, Error> {
        let proof = check(ctx, &self.keys, purpose, caller, token.ok_or(Error::Required(*purpose))?)?;
        proof.consume(ctx, self.factors.store()).await
    }
}
