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

/// Announces streams with queued events to the worker and to polls that wait. Clones share the state.
#[derive(Clone, Default)]
pub struct News(Arc<State>);

#[derive(Default)]
struct State {
    /// Streams for the worker.
    queued: Mutex<HashSet<Key>>,
    worker: Notify,
    /// Polls that wait, one for each stream.
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

    /// Registers a poll that waits for events of a stream. `None` if another one waits for them, or too many polls wait.
    pub fn wait_for(&self, key: &Key) -> Option<WaitingPoll> {
        let mut polls = self.polls();
        if polls.len() >= MAX_WAITING || polls.contains_key(key) {
            return None;
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

impl Drop for WaitingPoll {
    fn drop(&mut self) {
        self.news.polls().remove(&self.key);
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
        assert!(news.wait_for(&one).is_none(), "one poll waits for a stream");
        news.announce(one.clone());
        poll.announced().await;
        assert_eq!(news.next().await, HashSet::from([one.clone()]));
        drop(poll);
        assert!(news.wait_for(&one).is_some());
    }

    #[test]
    fn waiting_polls_and_remembered_streams_are_limited() {
        let news = News::default();
        let polls: Vec<_> = (0..MAX_WAITING).map(|_| news.wait_for(&key()).unwrap()).collect();
        assert!(news.wait_for(&key()).is_none());
        drop(polls);
        (0..MAX_KEYS + 5).for_each(|_| news.announce(key()));
        assert_eq!(news.queued().len(), MAX_KEYS);
    }
}
