//! Announces queued events within a process.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::Key;

/// Maximum number of streams that are remembered for the worker. It finds further ones when it looks.
const MAX_KEYS: usize = 1_000;
/// Maximum number of polls that wait in a process.
const MAX_WAITING: usize = 64;
/// Maximum number of polls of one tenant that wait in a process.
const MAX_OF_TENANT: usize = 8;

/// Announces streams with queued events to the worker and to polls that wait. Clones share the state.
#[derive(Clone, Default)]
pub struct News(Arc<State>);

#[derive(Default)]
struct State {
    /// Streams for the worker.
    queued: Mutex<HashSet<Key>>,
    worker: Notify,
    /// Polls that wait, the newest of each stream.
    polls: Mutex<HashMap<Key, Arc<Notify>>>,
}

impl std::fmt::Debug for News {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("News").finish_non_exhaustive()
    }
}

impl News {
    /// Announces that events of a stream are queued, or that it has changed.
    pub fn announce(&self, key: Key) {
        if let Some(poll) = self.polls().get(&key) {
            poll.notify_one();
        }
        let mut queued = self.queued();
        if queued.len() < MAX_KEYS {
            queued.insert(key);
        }
        drop(queued);
        self.0.worker.notify_one();
    }

    /// Waits for announcements, and takes them.
    pub(crate) async fn next(&self) -> HashSet<Key> {
        loop {
            let queued = std::mem::take(&mut *self.queued());
            if !queued.is_empty() {
                return queued;
            }
            self.0.worker.notified().await;
        }
    }

    /// Registers a poll that waits for events of a stream, instead of an older one, whose client may be gone. `None` if too
    /// many polls wait.
    pub fn wait_for(&self, key: &Key) -> Option<WaitingPoll> {
        let mut polls = self.polls();
        if let Some(older) = polls.remove(key) {
            // It looks, finds that it is replaced, and answers.
            older.notify_one();
        } else {
            let of_tenant = polls.keys().filter(|other| other.tenant == key.tenant).count();
            if polls.len() >= MAX_WAITING || of_tenant >= MAX_OF_TENANT {
                return None;
            }
        }
        let notify = Arc::new(Notify::new());
        polls.insert(key.clone(), Arc::clone(&notify));
        Some(WaitingPoll { news: self.clone(), key: key.clone(), notify })
    }

    fn queued(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.0.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn polls(&self) -> MutexGuard<'_, HashMap<Key, Arc<Notify>>> {
        self.0.polls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A poll that waits. Its place is free again when this is dropped.
#[derive(Debug)]
pub struct WaitingPoll {
    news: News,
    key: Key,
    notify: Arc<Notify>,
}

impl WaitingPoll {
    /// Waits for an announcement. One since the last call counts.
    pub async fn announced(&self) {
        self.notify.notified().await;
    }
}

impl WaitingPoll {
    /// Whether no newer poll waits for the stream.
    pub fn is_newest(&self) -> bool {
        self.news.polls().get(&self.key).is_some_and(|notify| Arc::ptr_eq(notify, &self.notify))
    }
}

impl Drop for WaitingPoll {
    fn drop(&mut self) {
        let mut polls = self.news.polls();
        if polls.get(&self.key).is_some_and(|notify| Arc::ptr_eq(notify, &self.notify)) {
            polls.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::{SystemEnv, TenantId};

    use super::*;
    use crate::StreamId;

    fn key() -> Key {
        let env = SystemEnv::default();
        Key { tenant: TenantId::new(&env), stream: StreamId::new(&env) }
    }

    #[tokio::test]
    async fn worker_and_poll_learn_of_the_same_event() {
        let (news, one) = (News::default(), key());
        let poll = news.wait_for(&one).unwrap();
        news.announce(one.clone());
        poll.announced().await;
        assert_eq!(news.next().await, HashSet::from([one.clone()]));
        // A newer poll replaces it.
        let newer = news.wait_for(&one).unwrap();
        poll.announced().await;
        assert!(!poll.is_newest() && newer.is_newest());
        drop(poll);
        assert!(newer.is_newest());
    }

    #[test]
    fn waiting_polls_and_remembered_streams_are_limited() {
        let news = News::default();
        let polls: Vec<_> = (0..MAX_WAITING).map(|_| news.wait_for(&key()).unwrap()).collect();
        assert!(news.wait_for(&key()).is_none());
        drop(polls);
        let one = key();
        let of_tenant = || Key { stream: StreamId::new(&SystemEnv::default()), ..one.clone() };
        let polls: Vec<_> = (0..MAX_OF_TENANT).map(|_| news.wait_for(&of_tenant()).unwrap()).collect();
        assert!(news.wait_for(&of_tenant()).is_none() && news.wait_for(&key()).is_some());
        drop(polls);
        (0..MAX_KEYS + 5).for_each(|_| news.announce(key()));
        assert_eq!(news.queued().len(), MAX_KEYS);
    }
}
