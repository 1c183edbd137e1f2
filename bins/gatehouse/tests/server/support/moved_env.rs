//! A clock that tests move.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

use kernel::{Env, SystemEnv, Timestamp};

/// The system clock with an offset.
#[derive(Default)]
pub(crate) struct MovedEnv {
    system: SystemEnv,
    millis: AtomicI64,
    reads: AtomicU64,
}

impl MovedEnv {
    /// Moves the clock forward.
    pub(crate) fn advance(&self, time: Duration) {
        self.millis.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Returns how often the server has read the clock.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }
}

impl Env for MovedEnv {
    fn now(&self) -> Timestamp {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.system.now().plus_millis(self.millis.load(Ordering::SeqCst))
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.system.fill(bytes);
    }
}
