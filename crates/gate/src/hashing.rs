//! Hashes passwords on a few dedicated threads, so that other requests are not delayed.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use credentials::{Passwords, Salt, StoredPassword, Verdict};
use kernel::{Secret, TenantId};
use metrics::Gauge;
use tokio::sync::oneshot;

use crate::errors::Problem;

/// Lowers the priority of the hashing threads (see `nice(1)`).
const NICENESS: i32 = 10;

type HashJob = Box<dyn FnOnce() + Send>;

/// Queue of password hashing jobs. The number of threads is limited so that other requests are served meanwhile.
pub struct Hashing {
    passwords: Passwords,
    queue: mpsc::Sender<HashJob>,
    waiting: Gauge,
}

impl Hashing {
    /// Starts one thread for every two processors, at the cost of `passwords`. The gauge shows the length of the
    /// queue.
    pub fn new(passwords: Passwords, length: Gauge) -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let (queue, waiting) = mpsc::channel::<HashJob>();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..(processors / 2).max(1) {
            let waiting = Arc::clone(&waiting);
            thread::Builder::new().name("hashing".into()).spawn(move || hash_in_turn(&waiting))?;
        }
        Ok(Self { passwords, queue, waiting: length })
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(Passwords) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (done, waits) = oneshot::channel();
        let (passwords, waiting) = (self.passwords, self.waiting.clone());
        waiting.increment(1.0);
        let work = move || {
            waiting.decrement(1.0);
            // Skip the work if the request was dropped meanwhile.
            if !done.is_closed() {
                let _nobody = done.send(work(passwords));
            }
        };
        self.queue.send(Box::new(work)).map_err(Problem::unexpected)?;
        waits.await.map_err(Problem::unexpected)
    }

    /// Compares a password with the stored passwords of a sign-in address; see [`Passwords::verify`].
    pub async fn verify(
        &self,
        password: Secret<String>,
        salt: Option<Salt>,
        stored: Vec<StoredPassword>,
    ) -> Result<Vec<Verdict>, Problem> {
        self.run(move |passwords| passwords.verify(&password, salt.as_ref(), &stored)).await
    }

    /// Hashes a password for storage in a tenant.
    pub async fn hash(
        &self,
        password: Secret<String>,
        salt: Salt,
        tenant: TenantId,
    ) -> Result<String, Problem> {
        let hashed = self.run(move |passwords| passwords.hash(&password, &salt, &tenant)).await?;
        hashed.map_err(Problem::unexpected)
    }
}

/// Runs hashing jobs until the server stops.
fn hash_in_turn(waiting: &Mutex<mpsc::Receiver<HashJob>>) {
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS) {
        tracing::warn!(%error, "cannot lower the priority of the password hashing threads");
    }
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(work) = next else { return };
        // A panic fails one request; the thread continues.
        let _outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    }
}
