//! Hashing passwords beside everything else: few at a time, on threads that serve nobody.

use std::sync::Arc;

use credentials::{Passwords, Verdict};
use kernel::{Env, Secret};
use tokio::sync::Semaphore;

use crate::http::errors::Problem;

/// Passwords, hashed by so many threads at most that others are served meanwhile.
pub(in crate::http) struct Hashing {
    passwords: Passwords,
    at_once: Arc<Semaphore>,
}

impl Hashing {
    /// At this cost, on half of the processors.
    pub(in crate::http) fn new(passwords: Passwords) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { passwords, at_once: Arc::new(Semaphore::new((processors / 2).max(1))) }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(Passwords) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = Arc::clone(&self.at_once).acquire_owned().await.map_err(|_| Problem::internal())?;
        let passwords = self.passwords;
        let done = tokio::task::spawn_blocking(move || {
            let done = work(passwords);
            drop(permit);
            done
        });
        done.await.map_err(Problem::unforeseen)
    }

    /// Compares with each of these in turn, and at least once: without any it takes as long as with one.
    pub(in crate::http) async fn verify(
        &self,
        password: Secret<String>,
        kept: Vec<Option<String>>,
    ) -> Result<Vec<Verdict>, Problem> {
        self.run(move |passwords| {
            if kept.is_empty() {
                passwords.verify(&password, None);
            }
            kept.iter().map(|kept| passwords.verify(&password, kept.as_deref())).collect()
        })
        .await
    }

    /// A new hash.
    pub(in crate::http) async fn hash(
        &self,
        env: Arc<dyn Env>,
        password: Secret<String>,
    ) -> Result<String, Problem> {
        let hashed = self.run(move |passwords| passwords.hash(&*env, &password)).await?;
        hashed.map_err(Problem::unforeseen)
    }
}
