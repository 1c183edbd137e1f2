//! In-memory storage of credentials for tests and examples.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{
    AttemptStore, Factor, FactorData, FactorId, FactorStore, OriginHistory, Salt, SignInPolicy, SignInStore,
    Ticket, TicketStore, attempts::AttemptKey,
};

/// The credentials of one user.
#[derive(Debug, Clone, Default)]
struct UserCredentials {
    password: Option<String>,
    factors: Vec<Factor>,
    /// Hashes of recovery codes, and whether each was used.
    codes: BTreeMap<[u8; 32], bool>,
    wrong_codes: i64,
    origins: Vec<String>,
    /// Oldest first.
    notices: Vec<String>,
}

/// The credentials, tickets and sign-in policy of one tenant in memory.
#[derive(Clone, Default)]
pub struct MemoryCredentials {
    users: BTreeMap<UserId, UserCredentials>,
    tickets: Vec<Ticket>,
    salts: BTreeMap<String, Salt>,
    spent_challenges: Vec<[u8; 32]>,
    policy: SignInPolicy,
}

/// The attempts of all tenants in memory. They are not forgotten.
#[derive(Debug, Clone, Default)]
pub struct MemoryAttempts(BTreeMap<AttemptKey, Vec<i64>>);

#[async_trait]
impl AttemptStore for MemoryAttempts {
    async fn attempts(&mut self, keys: &[AttemptKey]) -> StoreResult<Vec<Vec<i64>>> {
        Ok(keys.iter().map(|key| self.0.get(key).cloned().unwrap_or_default()).collect())
    }

    async fn record_attempts(&mut self, kept: &[(AttemptKey, Vec<i64>, Timestamp)]) -> StoreResult<()> {
        self.0.extend(kept.iter().map(|(key, times, _)| (*key, times.clone())));
        Ok(())
    }
}

impl MemoryCredentials {
    fn of(&mut self, user: &UserId) -> &mut UserCredentials {
        self.users.entry(user.clone()).or_default()
    }

    fn factor(&mut self, factor: &Factor) -> Option<&mut Factor> {
        self.of(&factor.user).factors.iter_mut().find(|kept| kept.id == factor.id)
    }
}

#[async_trait]
impl SignInStore for MemoryCredentials {
    async fn password(&mut self, user: &UserId) -> StoreResult<Option<String>> {
        Ok(self.of(user).password.clone())
    }

    async fn set_password(&mut self, user: &UserId, hash: &str, _: Timestamp) -> StoreResult<()> {
        self.of(user).password = Some(hash.to_owned());
        Ok(())
    }

    async fn renew_password_hash(&mut self, user: &UserId, hash: &str) -> StoreResult<()> {
        if let Some(stored) = &mut self.of(user).password {
            hash.clone_into(stored);
        }
        Ok(())
    }

    async fn password_salt(&mut self, email_key: &str, new: Salt) -> StoreResult<Salt> {
        Ok(*self.salts.entry(email_key.to_owned()).or_insert(new))
    }

    async fn knows_origin(&mut self, user: &UserId, origin: &str) -> StoreResult<bool> {
        Ok(self.of(user).origins.iter().any(|known| known == origin))
    }

    async fn note_origin(&mut self, user: &UserId, origin: &str, _: Timestamp) -> StoreResult<OriginHistory> {
        let origins = &mut self.of(user).origins;
        if origins.iter().any(|known| known == origin) {
            return Ok(OriginHistory::Known);
        }
        origins.push(origin.to_owned());
        Ok(if origins.len() == 1 { OriginHistory::First } else { OriginHistory::New })
    }

    async fn consume_challenge(&mut self, hash: &[u8; 32], _: Timestamp) -> StoreResult<bool> {
        let is_new = !self.spent_challenges.contains(hash);
        if is_new {
            self.spent_challenges.push(*hash);
        }
        Ok(is_new)
    }

    async fn sign_in_policy(&mut self) -> StoreResult<SignInPolicy> {
        Ok(self.policy.clone())
    }

    async fn sign_in_policy_to_change(&mut self) -> StoreResult<SignInPolicy> {
        Ok(self.policy.clone())
    }

    async fn set_sign_in_policy(&mut self, policy: &SignInPolicy) -> StoreResult<()> {
        self.policy = policy.clone();
        Ok(())
    }

    async fn delete_password(&mut self, user: &UserId) -> StoreResult<bool> {
        Ok(self.of(user).password.take().is_some())
    }

    async fn notices(&mut self, user: &UserId) -> StoreResult<Vec<String>> {
        Ok(self.of(user).notices.iter().rev().cloned().collect())
    }

    async fn consume_notice(&mut self, user: &UserId) -> StoreResult<Option<String>> {
        Ok(self.of(user).notices.pop())
    }

    async fn add_notice(&mut self, user: &UserId, notice: &str) -> StoreResult<()> {
        let notices = &mut self.of(user).notices;
        notices.retain(|kept| kept != notice);
        notices.push(notice.to_owned());
        Ok(())
    }
}

#[async_trait]
impl TicketStore for MemoryCredentials {
    async fn insert_ticket(&mut self, ticket: &Ticket) -> StoreResult<()> {
        self.tickets.push(ticket.clone());
        Ok(())
    }

    async fn ticket(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Ticket>> {
        Ok(self.tickets.iter().find(|ticket| ticket.hash == *hash).cloned())
    }

    async fn take_ticket(&mut self, hash: &[u8; 32]) -> StoreResult<bool> {
        let before = self.tickets.len();
        self.tickets.retain(|ticket| ticket.hash != *hash);
        Ok(self.tickets.len() < before)
    }

    async fn update_ticket(&mut self, ticket: &Ticket) -> StoreResult<()> {
        for kept in self.tickets.iter_mut().filter(|kept| kept.hash == ticket.hash) {
            kept.state.clone_from(&ticket.state);
            kept.wrong_answers = ticket.wrong_answers;
        }
        Ok(())
    }

    async fn drop_tickets(&mut self, user: &UserId) -> StoreResult<()> {
        self.tickets.retain(|ticket| ticket.user != *user);
        Ok(())
    }
}

#[async_trait]
impl FactorStore for MemoryCredentials {
    async fn factors(&mut self, user: &UserId) -> StoreResult<Vec<Factor>> {
        let mut factors = self.of(user).factors.clone();
        factors.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        Ok(factors)
    }

    async fn factor_of_credential(&mut self, credential: &[u8]) -> StoreResult<Option<Factor>> {
        let all = self.users.values().flat_map(|kept| &kept.factors);
        let is_it = |factor: &&Factor| factor.passkey().is_some_and(|own| own.credential_id() == credential);
        Ok(all.into_iter().find(is_it).cloned())
    }

    async fn insert_factor(&mut self, factor: &Factor) -> StoreResult<bool> {
        let credential = factor.passkey().map(|passkey| passkey.credential_id().to_vec());
        if let Some(credential) = credential
            && self.factor_of_credential(&credential).await?.is_some()
        {
            return Ok(false);
        }
        self.of(&factor.user).factors.push(factor.clone());
        Ok(true)
    }

    async fn update_factor(&mut self, factor: &Factor) -> StoreResult<()> {
        if let Some(kept) = self.factor(factor) {
            kept.name.clone_from(&factor.name);
            kept.verified_at = factor.verified_at;
        }
        self.record_use(factor).await
    }

    async fn use_step(&mut self, factor: &Factor, step: i64, at: Timestamp) -> StoreResult<bool> {
        let Some(kept) = self.factor(factor) else { return Ok(false) };
        let FactorData::Totp { last_step, .. } = &mut kept.data else { return Ok(false) };
        let is_new = *last_step < step;
        if is_new {
            *last_step = step;
            kept.last_used_at = Some(at);
        }
        Ok(is_new)
    }

    async fn record_use(&mut self, factor: &Factor) -> StoreResult<()> {
        if let Some(kept) = self.factor(factor) {
            kept.last_used_at = factor.last_used_at;
            if factor.passkey().is_some() {
                kept.data = factor.data.clone();
            }
        }
        Ok(())
    }

    async fn drop_pending(&mut self, user: &UserId) -> StoreResult<()> {
        self.of(user).factors.retain(Factor::is_verified);
        Ok(())
    }

    async fn delete_factor(&mut self, user: &UserId, id: &FactorId) -> StoreResult<bool> {
        let factors = &mut self.of(user).factors;
        let before = factors.len();
        factors.retain(|factor| factor.id != *id);
        Ok(factors.len() < before)
    }

    async fn unused_codes(&mut self, user: &UserId) -> StoreResult<usize> {
        Ok(self.of(user).codes.values().filter(|is_used| !**is_used).count())
    }

    async fn replace_codes(&mut self, user: &UserId, hashes: &[[u8; 32]]) -> StoreResult<()> {
        self.of(user).codes = hashes.iter().map(|hash| (*hash, false)).collect();
        Ok(())
    }

    async fn use_code(&mut self, user: &UserId, hash: &[u8; 32], _: Timestamp) -> StoreResult<bool> {
        let code = self.of(user).codes.get_mut(hash);
        Ok(code.is_some_and(|is_used| !std::mem::replace(is_used, true)))
    }

    async fn wrong_codes(&mut self, user: &UserId) -> StoreResult<i64> {
        Ok(self.of(user).wrong_codes)
    }

    async fn count_wrong_code(&mut self, user: &UserId) -> StoreResult<()> {
        self.of(user).wrong_codes += 1;
        Ok(())
    }

    async fn clear_wrong_codes(&mut self, user: &UserId) -> StoreResult<()> {
        self.of(user).wrong_codes = 0;
        Ok(())
    }
}
