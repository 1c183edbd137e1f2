//! The clock of a server, which can be changed while it runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use xtask::sh::Result;

/// A file with the difference to the clock of this machine, which libfaketime reads at each look at the clock.
pub(super) struct Clock(PathBuf);

impl Clock {
    pub(super) fn new(folder: &Path, number: usize) -> Result<Self> {
        let clock = Self(folder.join(format!("clock-{number}")));
        clock.set(0)?;
        Ok(clock)
    }

    /// Sets the difference in seconds.
    pub(super) fn set(&self, seconds: i64) -> Result<()> {
        // Replaced at once, so that the server never reads half of it.
        let new = self.0.with_extension("new");
        fs::write(&new, format!("{seconds:+}s\n")).map_err(|error| error.to_string())?;
        fs::rename(&new, &self.0).map_err(|error| error.to_string())
    }

    /// Returns the environment of a server with this clock. Timeouts use another clock, which does not jump.
    pub(super) fn variables(&self) -> [(&'static str, String); 4] {
        let library = format!("/usr/lib/{}-linux-gnu/faketime/libfaketimeMT.so.1", std::env::consts::ARCH);
        [
            ("LD_PRELOAD", library),
            ("FAKETIME_TIMESTAMP_FILE", self.0.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }
}
