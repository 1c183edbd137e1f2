//! The second factors of a service whose users have authenticator apps only.

use async_trait::async_trait;
use kernel::{Ctx, UserId};
use serde_json::Value;

use crate::{Answer, Ceremonies, Factor, MemoryStore, StepUpStore, error::Error};

/// The function that decides whether a user's code is correct.
type IsCorrect = fn(&Ctx, &UserId, &str) -> bool;

/// Verifies the codes of authenticator apps (RFC 6238) with a function, and keeps step-ups in `S`. For passkeys, or for
/// codes in a database, implement [`Ceremonies`].
pub struct Codes<S = MemoryStore> {
    store: S,
    is_correct: IsCorrect,
}

impl Codes {
    /// Keeps step-ups in memory. `is_correct` compares in constant time and accepts each code of a user once
    /// (RFC 6238 §5.2).
    pub fn new(is_correct: IsCorrect) -> Self {
        Self::with_store(MemoryStore::default(), is_correct)
    }
}

impl<S: StepUpStore> Codes<S> {
    /// Keeps step-ups in `store`.
    pub fn with_store(store: S, is_correct: IsCorrect) -> Self {
        Self { store, is_correct }
    }
}

#[async_trait]
impl<S: StepUpStore> Ceremonies for Codes<S> {
    fn store(&mut self) -> &mut dyn StepUpStore {
        &mut self.store
    }

    async fn factors(&mut self, _: &Ctx, _: &UserId) -> Result<Vec<Factor>, Error> {
        Ok(vec![Factor::Totp])
    }

    async fn verify(
        &mut self,
        ctx: &Ctx,
        user: &UserId,
        _: Factor,
        answer: &Answer,
        _: &Value,
    ) -> Result<bool, Error> {
        match answer {
            Answer::Code(code) => Ok((self.is_correct)(ctx, user, code)),
            Answer::Credential(_) => Ok(false),
        }
    }
}
