//! The second factors of a service whose users have authenticator apps only.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kernel::{Ctx, TenantId, Timestamp, UserId};
use serde_json::Value;

use crate::{Answer, Ceremonies, Factor, MemoryStore, StepUpStore, error::Error};

/// The function that decides whether a user's code is correct.
type IsCorrect = Box<dyn FnMut(&Ctx, &UserId, &str) -> bool + Send>;

/// Maximum number of codes of a user within [`Codes::WINDOW`].
const MAX_CODES: usize = 10;

/// Verifies the codes of authenticator apps (RFC 6238) with a function, and keeps step-ups in `S`. A user may send ten codes
/// in five minutes, so that nobody with a session can try them all. For passkeys, or for codes in a database, implement
/// [`Ceremonies`], and limit the attempts of a user yourself.
pub struct Codes<S = MemoryStore> {
    store: S,
    /// Deletes what has expired.
    purge: fn(&mut S, Timestamp),
    is_correct: IsCorrect,
    /// When each user sent codes.
    sent: BTreeMap<(TenantId, UserId), Vec<Timestamp>>,
}

impl Codes {
    /// Keeps step-ups in memory until they expire. `is_correct` gets the context, the user and the code. It compares in constant time and
    /// accepts each code of a user once (RFC 6238 §5.2); it may own what it remembers.
    pub fn new(is_correct: impl FnMut(&Ctx, &UserId, &str) -> bool + Send + 'static) -> Self {
        let codes = Self::with_store(MemoryStore::default(), is_correct);
        Self { purge: MemoryStore::purge_expired, ..codes }
    }
}

impl<S: StepUpStore> Codes<S> {
    /// Keeps step-ups in `store`, which has to delete expired ones.
    pub fn with_store(
        store: S,
        is_correct: impl FnMut(&Ctx, &UserId, &str) -> bool + Send + 'static,
    ) -> Self {
        Self { store, purge: |_, _| {}, is_correct: Box::new(is_correct), sent: BTreeMap::new() }
    }

    /// The time in milliseconds within which a user may send ten codes.
    pub const WINDOW: i64 = 5 * 60_000;

    /// Returns the storage of step-ups.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Counts a code, unless the user has sent too many.
    fn count(&mut self, ctx: &Ctx, user: &UserId) -> Result<(), Error> {
        let now = ctx.now;
        let since = now.plus_millis(-Self::WINDOW);
        self.sent.retain(|_, times| times.last().is_some_and(|last| *last > since));
        let times = self.sent.entry((ctx.tenant.clone(), user.clone())).or_default();
        times.retain(|time| *time > since);
        if times.len() >= MAX_CODES {
            return Err(Error::TooManyCodes);
        }
        times.push(now);
        Ok(())
    }
}

#[async_trait]
impl<S: StepUpStore> Ceremonies for Codes<S> {
    fn store(&mut self) -> &mut dyn StepUpStore {
        &mut self.store
    }

    async fn factors(&mut self, ctx: &Ctx, _: &UserId) -> Result<Vec<Factor>, Error> {
        (self.purge)(&mut self.store, ctx.now);
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
            Answer::Code(code) => {
                self.count(ctx, user)?;
                Ok((self.is_correct)(ctx, user, code))
            }
            Answer::Credential(_) => Ok(false),
        }
    }
}
