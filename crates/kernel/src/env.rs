//! The source of time and randomness.

use ring::rand::{SecureRandom, SystemRandom};

use crate::Timestamp;

/// The source of time and randomness. A process has one; tests provide their own.
pub trait Env: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
    /// Fills `bytes` with cryptographically secure random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// The system clock and the system's random number generator.
#[derive(Debug, Default)]
pub struct SystemEnv {
    random: RingRandom,
}

#[derive(Debug)]
struct RingRandom(SystemRandom);

impl Default for RingRandom {
    fn default() -> Self {
        Self(SystemRandom::new())
    }
}

impl Env for SystemEnv {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "the only place that reads the clock")]
        Timestamp::from_unix_millis(chrono::Utc::now().timestamp_millis())
    }

    fn fill(&self, bytes: &mut [u8]) {
        #[expect(clippy::expect_used, reason = "without randomness no request can be served safely")]
        self.random.0.fill(bytes).expect("the system's random number generator works");
    }
}

#[cfg(feature = "testing")]
pub use manual::ManualEnv;

#[cfg(feature = "testing")]
mod manual {
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    use ring::digest;

    use super::Env;
    use crate::Timestamp;

    /// A clock that advances only on request, and bytes that repeat in every run. For tests only.
    #[derive(Debug)]
    pub struct ManualEnv {
        millis: AtomicI64,
        drawn: AtomicU64,
    }

    impl ManualEnv {
        /// Creates an environment whose clock shows `time`.
        pub fn at(time: Timestamp) -> Self {
            Self { millis: AtomicI64::new(time.unix_millis()), drawn: AtomicU64::new(0) }
        }

        /// Advances the clock by `millis`.
        pub fn advance_millis(&self, millis: i64) {
            self.millis.fetch_add(millis, Ordering::SeqCst);
        }
    }

    impl Env for ManualEnv {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_millis(self.millis.load(Ordering::SeqCst))
        }

        fn fill(&self, bytes: &mut [u8]) {
            for chunk in bytes.chunks_mut(digest::SHA256_OUTPUT_LEN) {
                let count = self.drawn.fetch_add(1, Ordering::SeqCst);
                let block = digest::digest(&digest::SHA256, &count.to_be_bytes());
                for (to, from) in chunk.iter_mut().zip(block.as_ref()) {
                    *to = *from;
                }
            }
        }
    }
}
