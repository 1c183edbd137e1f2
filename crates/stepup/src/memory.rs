//! In-memory storage for tests and for services with a single process.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{Challenge, ChallengeId, Consumption, Grant, GrantId, StepUpStore};

/// Keeps everything in memory. The owner's mutex makes it exact under parallel requests.
#[derive(Debug, Default)]
pub struct MemoryStore {
    challenges: Vec<Challenge>,
    grants: Vec<StoredGrant>,
}

#[derive(Debug)]
struct StoredGrant {
    grant: Grant,
    spent: Option<Consumption>,
}

impl MemoryStore {
    /// Deletes expired challenges and grants. Call it from time to time; [`Codes::new`](crate::Codes::new) does.
    pub fn purge_expired(&mut self, now: Timestamp) {
        let minutes = crate::CHALLENGE_MINUTES;
        self.challenges.retain(|challenge| now < challenge.created_at.plus_millis(minutes * 60_000));
        self.grants.retain(|kept| now < kept.grant.expires_at);
    }
}

#[async_trait]
impl StepUpStore for MemoryStore {
    async fn insert_challenge(&mut self, challenge: &Challenge, live: i64) -> StoreResult<()> {
        self.challenges.push(challenge.clone());
        let mut left = usize::try_from(live).unwrap_or_default();
        let of_session: Vec<_> =
            self.challenges.iter().rev().map(|other| other.session == challenge.session).collect();
        let mut stays: Vec<_> = of_session
            .into_iter()
            .map(|of_session| {
                let stays = !of_session || left > 0;
                left = left.saturating_sub(usize::from(of_session));
                stays
            })
            .collect();
        self.challenges.retain(|_| stays.pop().unwrap_or(true));
        Ok(())
    }

    async fn challenge(&mut self, id: &ChallengeId) -> StoreResult<Option<Challenge>> {
        Ok(self.challenges.iter().find(|challenge| challenge.id == *id).cloned())
    }

    async fn count_wrong_answer(&mut self, challenge: &Challenge) -> StoreResult<()> {
        for kept in self.challenges.iter_mut().filter(|kept| kept.id == challenge.id) {
            kept.wrong_answers = challenge.wrong_answers;
        }
        Ok(())
    }

    async fn take_challenge(&mut self, id: &ChallengeId) -> StoreResult<bool> {
        let before = self.challenges.len();
        self.challenges.retain(|challenge| challenge.id != *id);
        Ok(self.challenges.len() < before)
    }

    async fn insert_grant(&mut self, grant: &Grant) -> StoreResult<()> {
        self.grants.push(StoredGrant { grant: grant.clone(), spent: None });
        Ok(())
    }

    async fn consume_grant(&mut self, id: &GrantId, _: Timestamp) -> StoreResult<Consumption> {
        let Some(kept) = self.grants.iter_mut().find(|kept| kept.grant.id == *id) else {
            return Ok(Consumption::Revoked);
        };
        let answer = kept.spent.unwrap_or(Consumption::Now);
        kept.spent.get_or_insert(Consumption::Already);
        Ok(answer)
    }

    async fn freshest_grant(
        &mut self,
        user: &UserId,
        purpose: &str,
        now: Timestamp,
    ) -> StoreResult<Option<Grant>> {
        let usable = |kept: &&StoredGrant| {
            let grant = &kept.grant;
            kept.spent.is_none() && grant.user == *user && grant.purpose == purpose && now < grant.expires_at
        };
        let freshest = self.grants.iter().filter(usable).max_by_key(|kept| kept.grant.issued_at);
        Ok(freshest.map(|kept| kept.grant.clone()))
    }

    async fn revoke_grants(&mut self, user: &UserId, _: Timestamp) -> StoreResult<usize> {
        self.challenges.retain(|challenge| challenge.user != *user);
        let mut count = 0;
        for kept in self.grants.iter_mut().filter(|kept| kept.grant.user == *user && kept.spent.is_none()) {
            kept.spent = Some(Consumption::Revoked);
            count += 1;
        }
        Ok(count)
    }
}
