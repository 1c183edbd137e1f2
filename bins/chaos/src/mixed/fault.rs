//! What fails in a round.

use std::{fmt, thread, time::Duration};

use kernel::Random;
use xtask::{cluster::psql, sh::Result};

use super::{Setup, sink::Manner};
use crate::{
    proxy::{GOOD, Network},
    small_disk::Filler,
};

/// How long a lasting fault lasts.
const BAD: Duration = Duration::from_secs(3);

/// A fault.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// `kill -9` of a server, which is started again at once.
    KillServer(usize),
    /// `kill -9` of the worker.
    KillWorker,
    /// `kill -9` of both servers and the worker.
    KillAll,
    /// `kill -9` of PostgreSQL, down for this many milliseconds.
    KillDatabase(u64),
    /// A fast shutdown of PostgreSQL.
    RestartDatabase,
    /// The network to the database is this many milliseconds late.
    LateNetwork(u64),
    /// Nothing reaches the database, and everything does afterwards.
    BlackHole,
    /// Nothing reaches the database, and connections with pending data stay silent.
    LostConnections,
    /// The file system of PostgreSQL is full.
    FullDisk,
    /// A lock on a table holds all connections of the pools.
    DryPool,
    /// The clock of a server jumps by this many seconds.
    Clock(usize, i64),
    /// The webhook receiver answers with 503.
    ReceiverRefuses,
    /// The webhook receiver answers after a second.
    ReceiverIsLate,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Fault {
    /// Draws a fault.
    pub(super) fn draw(random: &mut Random) -> Self {
        let server = random.index(2);
        match random.below(16) {
            0 | 1 => Self::KillServer(server),
            2 => Self::KillWorker,
            3 => Self::KillAll,
            4 | 5 => Self::KillDatabase(random.below(1500)),
            6 => Self::RestartDatabase,
            7 => Self::LateNetwork(50 + random.below(500)),
            8 => Self::BlackHole,
            9 => Self::LostConnections,
            10 => Self::DryPool,
            11 => {
                // A session of a server is invalid on another whose clock is more than a minute behind.
                let jumps = [-45, -20, -2, 2, 20, 45];
                Self::Clock(server, jumps.get(random.index(jumps.len())).copied().unwrap_or_default())
            }
            12 | 13 => Self::FullDisk,
            14 => Self::ReceiverRefuses,
            _ => Self::ReceiverIsLate,
        }
    }

    /// Causes the fault, and ends it.
    pub(super) fn inject(self, setup: &mut Setup) -> Result<()> {
        match self {
            Self::KillServer(number) => {
                setup.kill_server(number);
                setup.start_server(number)?;
            }
            Self::KillWorker => {
                setup.kill_worker();
                setup.start_worker()?;
            }
            Self::KillAll => {
                setup.kill_worker();
                for number in 0..2 {
                    setup.kill_server(number);
                }
                setup.start_worker()?;
                (0..2).try_for_each(|number| setup.start_server(number))?;
            }
            Self::KillDatabase(millis) => {
                setup.cluster.kill();
                thread::sleep(Duration::from_millis(millis));
                setup.cluster.start_again()?;
            }
            Self::RestartDatabase => {
                setup.cluster.stop()?;
                setup.cluster.start_again()?;
            }
            Self::LateNetwork(millis) => setup.network(Network::Late(Duration::from_millis(millis))),
            Self::BlackHole => setup.network(Network::Buffered),
            Self::LostConnections => setup.network(Network::Lost),
            Self::FullDisk => {
                let filler = Filler::new(setup.disk.folder())?;
                thread::sleep(BAD);
                drop(filler);
                // PostgreSQL exits if the disk is full while it recovers from a crash.
                setup.cluster.recover()?;
            }
            Self::DryPool => hold_audit_logs(&setup.cluster.url())?,
            Self::Clock(number, seconds) => {
                let Some(clock) = setup.clocks.get(number) else { return Ok(()) };
                clock.set(seconds)?;
                thread::sleep(BAD);
                clock.set(0)?;
            }
            Self::ReceiverRefuses => setup.receiver(Manner::Refuses),
            Self::ReceiverIsLate => setup.receiver(Manner::IsLate),
        }
        Ok(())
    }
}

/// Locks a table that every change needs.
fn hold_audit_logs(url: &str) -> Result<()> {
    let held = format!(
        "BEGIN; LOCK TABLE audit_logs IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({}); ROLLBACK",
        BAD.as_secs()
    );
    psql(url, &[&held]).map(drop)
}

impl Setup {
    fn kill_server(&mut self, number: usize) {
        if let Some(server) = self.servers.get_mut(number).and_then(Option::take) {
            server.kill();
        }
    }

    fn kill_worker(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.kill();
        }
    }

    fn network(&self, network: Network) {
        self.proxy.set(network);
        thread::sleep(BAD);
        self.proxy.set(GOOD);
    }

    fn receiver(&self, manner: Manner) {
        self.sink.set(manner);
        thread::sleep(BAD);
        self.sink.set(Manner::Accepts);
    }
}
