//! Compares generated sessions with a reference model, step by step.

use std::{collections::BTreeMap, sync::Arc};

use kernel::{Actor, Ctx, Env, ManualEnv, Random, TenantId, Timestamp, UserId};

use super::new;
use crate::{
    Error, Lifetime, Session as Row, SessionId, SessionStore, list, open, renew, revoke, revoke_all,
};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// A session ends after an hour without use, or after a day.
const LIFETIME: Lifetime = Lifetime { idle_minutes: 60, absolute_days: 1 };

/// A session as the model knows it.
struct Session {
    id: SessionId,
    user: usize,
    made: i64,
    seen: i64,
    not_after: Option<i64>,
    revoked: bool,
}

/// Counts each observed result, so that a suite can assert that it has covered them all.
pub type ActionCounts = BTreeMap<String, usize>;

struct Rig {
    env: Arc<ManualEnv>,
    tenant: TenantId,
    users: [UserId; 2],
    sessions: Vec<Session>,
    /// The tokens of another service that started a session.
    foreign: Vec<u8>,
    refused_until: [Option<i64>; 2],
}

/// Runs `steps` random steps, drawn from `seed`. The two users exist and have no sessions.
///
/// # Panics
/// If the storage or this crate behaves differently from the model.
pub async fn sequence(
    store: &mut dyn SessionStore,
    tenant: &TenantId,
    users: [UserId; 2],
    env: &Arc<ManualEnv>,
    seed: u64,
    steps: usize,
) -> ActionCounts {
    let mut rig = Rig {
        env: Arc::clone(env),
        tenant: tenant.clone(),
        users,
        sessions: Vec::new(),
        foreign: Vec::new(),
        refused_until: [None, None],
    };
    let mut random = Random::new(seed);
    let mut seen = ActionCounts::new();
    for step in 0..steps {
        // No two sessions were used at the same time.
        rig.env.advance_millis(1);
        let (act, observed, expected) = rig.step(store, &mut random).await;
        let step = format!("seed {seed}, step {step}: {act}");
        assert_eq!(observed, expected, "{step}");
        rig.compare(store, &step).await;
        *seen.entry(format!("{act} {observed}")).or_default() += 1;
    }
    seen
}

impl Rig {
    fn ctx(&self) -> Ctx {
        Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("test"))
    }

    fn now(&self) -> i64 {
        self.env.now().unix_millis()
    }

    /// Carries out one action. Returns its name, the observed and the expected result.
    async fn step(
        &mut self,
        store: &mut dyn SessionStore,
        random: &mut Random,
    ) -> (&'static str, String, String) {
        let user = random.index(self.users.len());
        let at = self.sessions.len().checked_sub(random.back() + 1);
        match (random.below(100), at) {
            (0..25, _) | (_, None) => {
                let token = random.chance(40).then(|| u8::try_from(random.below(6)).unwrap());
                let not_after = random.chance(20).then(|| self.now() + 10 * MINUTE);
                self.open(store, user, token, not_after).await
            }
            (25..40, Some(at)) => self.use_again(store, at).await,
            (40..52, Some(at)) => self.renew(store, at).await,
            (52..72, Some(at)) => {
                let by = if random.chance(20) { user } else { self.sessions[at].user };
                self.revoke(store, at, by).await
            }
            (72..80, Some(at)) => self.revoke_all(store, user, random.chance(50).then_some(at)).await,
            (80..86, _) => self.refuse(store, user, random.below(3)).await,
            _ => {
                let waits = [5 * MINUTE, 11 * MINUTE, 59 * MINUTE, 61 * MINUTE, 23 * 60 * MINUTE];
                self.env.advance_millis(waits[random.index(waits.len())]);
                ("wait", String::new(), String::new())
            }
        }
    }

    async fn open(
        &mut self,
        store: &mut dyn SessionStore,
        user: usize,
        token: Option<u8>,
        not_after: Option<i64>,
    ) -> (&'static str, String, String) {
        let mut new = new(&self.users[user], token.map(|token| self.token(token)));
        new.not_after = not_after.map(Timestamp::from_unix_millis);
        let opened = open(&self.ctx(), store, new).await.unwrap();
        let is_new = token.is_none_or(|token| !self.foreign.contains(&token));
        let observed = opened.is_some();
        if let Some(session) = opened {
            let now = self.now();
            self.foreign.extend(token);
            self.sessions.push(Session {
                id: session.id,
                user,
                made: now,
                seen: now,
                not_after,
                revoked: false,
            });
        }
        ("open", observed.to_string(), is_new.to_string())
    }

    /// Returns the hash of a token of another service. Each tenant has its own.
    fn token(&self, number: u8) -> [u8; 32] {
        let mut hash = [number; 32];
        hash.iter_mut().skip(1).zip(self.users[0].key().bytes()).for_each(|(to, from)| *to = from);
        hash
    }

    async fn row(&self, store: &mut dyn SessionStore, at: usize) -> Row {
        store.session(&self.sessions[at].id).await.unwrap().unwrap()
    }

    async fn use_again(&mut self, store: &mut dyn SessionStore, at: usize) -> (&'static str, String, String) {
        let mut row = self.row(store, at).await;
        row.record_use(self.env.now(), None, "Chrome".to_owned(), None);
        store.update_session(&row).await.unwrap();
        self.sessions[at].seen = self.now();
        ("use", String::new(), String::new())
    }

    async fn renew(&mut self, store: &mut dyn SessionStore, at: usize) -> (&'static str, String, String) {
        let mut row = self.row(store, at).await;
        let old = renew(&self.ctx(), store, &mut row).await.unwrap();
        assert_eq!(store.session(&old).await.unwrap(), None, "the old ID is unknown");
        self.sessions[at].id = row.id;
        ("renew", String::new(), String::new())
    }

    async fn revoke(
        &mut self,
        store: &mut dyn SessionStore,
        at: usize,
        by: usize,
    ) -> (&'static str, String, String) {
        let revoked = revoke(&self.ctx(), store, &self.users[by], &self.sessions[at].id).await;
        let observed = match revoked {
            Ok(revoked) => revoked.to_string(),
            Err(Error::NotFound) => "unknown".to_owned(),
            Err(error) => error.to_string(),
        };
        let session = &mut self.sessions[at];
        let expected = if session.user == by {
            (!std::mem::replace(&mut session.revoked, true)).to_string()
        } else {
            "unknown".to_owned()
        };
        ("revoke", observed, expected)
    }

    async fn revoke_all(
        &mut self,
        store: &mut dyn SessionStore,
        user: usize,
        except: Option<usize>,
    ) -> (&'static str, String, String) {
        let kept = except.map(|at| self.sessions[at].id.clone());
        let count = revoke_all(&self.ctx(), store, &self.users[user], kept.as_ref()).await.unwrap();
        let mut expected = 0;
        for (at, session) in self.sessions.iter_mut().enumerate() {
            if session.user == user && Some(at) != except && !session.revoked {
                session.revoked = true;
                expected += 1;
            }
        }
        self.refused_until[user] = Some(self.now());
        ("revoke all", count.min(1).to_string(), u64::min(expected, 1).to_string())
    }

    async fn refuse(
        &mut self,
        store: &mut dyn SessionStore,
        user: usize,
        minutes: u64,
    ) -> (&'static str, String, String) {
        let until = self.now() - MINUTE + i64::try_from(minutes).unwrap() * MINUTE;
        let time = Timestamp::from_unix_millis(until);
        store.refuse_tokens_until(&self.users[user], time).await.unwrap();
        let known = &mut self.refused_until[user];
        *known = Some(known.map_or(until, |known| known.max(until)));
        ("refuse", String::new(), String::new())
    }

    /// Asserts that the stored sessions match the model.
    async fn compare(&self, store: &mut dyn SessionStore, step: &str) {
        let now = self.now();
        for (user, id) in self.users.iter().enumerate() {
            let of_user = |session: &&Session| session.user == user && !session.revoked;
            let mut kept: Vec<_> = self.sessions.iter().filter(of_user).collect();
            kept.sort_by_key(|session| std::cmp::Reverse(session.seen));
            let ids =
                |sessions: &[&Session]| sessions.iter().map(|session| session.id.clone()).collect::<Vec<_>>();
            let stored: Vec<_> = store.sessions_of(id).await.unwrap().into_iter().map(|row| row.id).collect();
            assert_eq!(stored, ids(&kept), "{step}: sessions that are not revoked, last used first");
            // The time of last use has a resolution of a minute, by which a session may last longer.
            kept.retain(|session| {
                let ends = session.not_after.map_or(i64::MAX, |end| end).min(session.made + DAY);
                now < session.seen + 61 * MINUTE && now < ends
            });
            let live = list(&self.ctx(), store, id, LIFETIME).await.unwrap();
            let live: Vec<_> = live.into_iter().map(|row| row.id).collect();
            assert_eq!(live, ids(&kept), "{step}: sessions that have not ended");
            let refused = store.refused_until(id).await.unwrap().map(Timestamp::unix_millis);
            assert_eq!(refused, self.refused_until[user], "{step}");
        }
    }
}
