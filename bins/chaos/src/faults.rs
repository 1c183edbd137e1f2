//! Faults in the server and its database, and the checks after each.

use std::{
    io::Write,
    net::TcpStream,
    sync::{PoisonError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use xtask::sh::Result;

use crate::{
    clients::{Client, Seen, Stop, create, get},
    proxy::{GOOD, Network},
    site::Site,
    small_disk::Filler,
};

/// Concurrent identity providers.
const WRITERS: usize = 8;
/// Maximum time from the end of a fault until the server works again.
const RECOVERY: Duration = Duration::from_secs(5);
/// Time to wait for recovery before giving up.
const NEVER: Duration = Duration::from_secs(30);

/// Maximum age of a cached readiness result, plus a margin.
const FRESH: Duration = Duration::from_millis(150);

/// Result of a fault.
pub(crate) struct Outcome {
    pub(crate) rounds: usize,
    pub(crate) created: usize,
    pub(crate) refused: u64,
    pub(crate) unanswered: u64,
    pub(crate) recovery: Duration,
}

/// Runs `inject` while users are created and readiness is probed, then checks the database.
fn under_load(
    site: &mut Site,
    rounds: usize,
    mut inject: impl FnMut(&mut Site, &Seen, usize) -> Result<Duration>,
) -> Result<Outcome> {
    let (seen, address, token) = (Seen::default(), site.address, site.token.clone());
    let mut recovery = Duration::ZERO;
    thread::scope(|scope| {
        let _stop = Stop(&seen);
        for writer in 0..WRITERS {
            let (seen, token) = (&seen, &token);
            scope.spawn(move || seen.write(address, token, &format!("w{writer}-{}", std::process::id())));
        }
        scope.spawn(|| seen.probe(address));
        for round in 0..rounds {
            progress(&seen, 20)?;
            let took =
                inject(site, &seen, round).map_err(|problem| format!("round {}: {problem}", round + 1))?;
            recovery = recovery.max(took);
        }
        progress(&seen, 20)
    })?;
    let wrong = std::mem::take(&mut *seen.wrong.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(first) = wrong.first() {
        return Err(format!("{} wrong answers, the first {first}", wrong.len()));
    }
    let created = std::mem::take(&mut *seen.created.lock().unwrap_or_else(PoisonError::into_inner));
    site.records.check(&created)?;
    if recovery > RECOVERY {
        return Err(format!("recovery took {recovery:?}"));
    }
    Ok(Outcome {
        rounds,
        created: created.len(),
        refused: seen.refused.load(Ordering::Relaxed),
        unanswered: seen.unanswered.load(Ordering::Relaxed),
        recovery,
    })
}

/// Waits until this many more users were created.
fn progress(seen: &Seen, more: usize) -> Result<()> {
    let (before, start) = (seen.count(), Instant::now());
    while seen.count() < before + more {
        if start.elapsed() > NEVER {
            return Err(format!("no user was created for {NEVER:?}"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Returns the time from `healed` until the server was ready and created users.
fn recovered(seen: &Seen, healed: Instant) -> Result<Duration> {
    progress(seen, 5)?;
    let created = Instant::now();
    loop {
        if let Some(ready) = seen.ready_after(healed) {
            return Ok(ready.max(created).saturating_duration_since(healed));
        }
        if healed.elapsed() > NEVER {
            return Err(format!("not ready for {NEVER:?}"));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Checks that no probe reported ready if it started and ended while the database was unreachable.
fn check_not_ready(seen: &Seen, from: Instant, to: Instant, at_least: usize) -> Result<()> {
    let probes = seen.within(from + FRESH, to);
    if probes.iter().any(|probe| probe.ready == Some(true)) {
        return Err("the server reported ready while its database was unreachable".into());
    }
    let no = probes.iter().filter(|probe| probe.ready == Some(false)).count();
    if no < at_least {
        return Err(format!("{no} probes reported not ready, expected at least {at_least}"));
    }
    Ok(())
}

/// Returns a delay that differs between rounds but is the same in every run.
fn moment(round: usize) -> Duration {
    Duration::from_micros(u64::try_from(round * 7919 % 20_000).unwrap_or(0))
}

pub(crate) fn kill_server(site: &mut Site, rounds: usize) -> Result<Outcome> {
    under_load(site, rounds, |site, seen, round| {
        thread::sleep(moment(round));
        site.kill_server();
        let killed = Instant::now();
        site.start_server()?;
        recovered(seen, killed)
    })
}

pub(crate) fn kill_database(site: &mut Site, rounds: usize) -> Result<Outcome> {
    under_load(site, rounds, |site, seen, round| {
        thread::sleep(moment(round));
        site.cluster()?.kill();
        let killed = Instant::now();
        // In one round, long enough for probes; the other rounds continue at once.
        let asked = if round == 0 { Duration::from_secs(3) } else { Duration::ZERO };
        thread::sleep(asked);
        let back = Instant::now();
        site.cluster()?.start_again()?;
        let ready = Instant::now();
        check_not_ready(seen, killed, back, usize::from(round == 0))?;
        recovered(seen, ready)
    })
}

pub(crate) fn restart_database(site: &mut Site, rounds: usize) -> Result<Outcome> {
    under_load(site, rounds, |site, seen, _| {
        site.cluster()?.stop()?;
        let stopped = Instant::now();
        thread::sleep(Duration::from_secs(1));
        let back = Instant::now();
        site.cluster()?.start_again()?;
        let ready = Instant::now();
        check_not_ready(seen, stopped, back, 1)?;
        recovered(seen, ready)
    })
}

/// Degrades the network to the database for some time.
pub(crate) fn bad_network(
    site: &mut Site,
    network: Network,
    time: Duration,
    usable: bool,
) -> Result<Outcome> {
    under_load(site, 1, |site, seen, _| {
        site.proxy()?.set(network);
        let from = Instant::now();
        if usable {
            progress(seen, 10)?;
        }
        thread::sleep(time);
        let to = Instant::now();
        let no = seen.within(from, to).iter().filter(|probe| probe.ready == Some(false)).count();
        site.proxy()?.set(GOOD);
        let healed = Instant::now();
        if usable && no > 0 {
            return Err("the server reported not ready while its database was slow but usable".into());
        }
        if !usable {
            // A probe that started earlier may have been answered by data in transit.
            check_not_ready(seen, from, to, 1)?;
        }
        recovered(seen, healed)
    })
}

/// Fills the file system of an SQLite database for some time.
pub(crate) fn full_disk(site: &mut Site, rounds: usize) -> Result<Outcome> {
    under_load(site, rounds, |site, seen, _| {
        let filler = Filler::new(&site.folder)?;
        let start = Instant::now();
        // SQLite occasionally finds room in its own log. The disk counts as full when no user is created for some
        // time.
        let mut full = (start, seen.count());
        while full.0.elapsed() < Duration::from_millis(500) {
            if start.elapsed() > NEVER {
                return Err("users are created on a full disk".into());
            }
            if seen.count() > full.1 {
                full = (Instant::now(), seen.count());
            }
            thread::sleep(Duration::from_millis(1));
        }
        // The first failed write tells the server.
        let full = full.0 + Duration::from_millis(100);
        let (status, _) = Client::new(site.address)
            .send(&get(&site.token, "/api/scim/v2/Users?count=1"))
            .map_err(|error| format!("reading on a full disk: {error}"))?;
        if status != 200 {
            return Err(format!("reading on a full disk answers {status}"));
        }
        check_not_ready(seen, full, Instant::now(), 1)?;
        drop(filler);
        recovered(seen, Instant::now())
    })
}

/// Lets clients disconnect in the middle of a request.
pub(crate) fn cancelled(site: &mut Site, rounds: usize) -> Result<Outcome> {
    let outcome = under_load(site, rounds, |site, seen, round| {
        for number in 0..100 {
            let name = format!("gone-{}-{round}-{number}", std::process::id());
            hang_up(site, &name, moment(number)).map_err(|error| error.to_string())?;
        }
        recovered(seen, Instant::now())
    })?;
    // Nothing remains locked or reserved for the clients that left.
    let start = Instant::now();
    loop {
        let (_, metrics) =
            Client::new(site.address).send(&get("", "/metrics")).map_err(|error| error.to_string())?;
        let idle =
            ["gatehouse_http_requests_in_flight 1", "gatehouse_database_connections{state=\"busy\"} 0"];
        if idle.iter().all(|line| metrics.contains(line)) {
            return Ok(outcome);
        }
        if start.elapsed() > NEVER {
            return Err(format!("requests or connections are still in use:\n{metrics}"));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a creation after another request whose response is never read, and disconnects, which resets the connection.
fn hang_up(site: &Site, name: &str, after: Duration) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(site.address)?;
    stream.set_read_timeout(Some(NEVER))?;
    stream.write_all(get("", "/healthz").as_bytes())?;
    stream.peek(&mut [0])?;
    stream.write_all(create(&site.token, name).as_bytes())?;
    thread::sleep(after / 4);
    Ok(())
}
