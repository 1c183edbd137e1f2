//! `cargo xtask chaos rolling`: replaces servers behind a load balancer by another version while users are created.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{PoisonError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use xtask::{
    cluster::{Cluster, Durability, psql},
    server::{Server, gatehouse, lasting_address, member, serve},
    sh::{self, Result},
    wait::until,
};

use crate::{
    balancer::Balancer,
    clients::{Client, Seen, Stop, create, get},
    records::DatabaseRecords,
};

/// Connections that create users.
const WRITERS: usize = 6;
/// Requests that one kill may cost: of each connection the one in progress, and one that HAProxy sent before it noticed
/// that its connection to the killed server is closed.
const LOST_AT_MOST: u64 = 2 * WRITERS as u64;
/// Users that must be created by each set of servers.
const BETWEEN: usize = 30;
/// Attempts with a wrong password that are answered. The limit is 10 per address and account.
const ATTEMPTS: usize = 10;

/// Starts servers of the old version, replaces them by the new version and then by the old one again.
pub(crate) fn run(old: Option<&str>) -> Result<()> {
    let new = sh::built("gatehouse");
    let old = old.map_or_else(|| new.clone(), PathBuf::from);
    let folder = std::env::temp_dir().join(format!("gatehouse-chaos-{}-rolling", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let done = Setup::new(&folder, &old).and_then(|mut setup| setup.run(&old, &new));
    done.map_err(|problem| format!("rolling: {problem}; the servers' log is in {}", folder.display()))?;
    let _removed = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// Three servers with the role `api` behind HAProxy, and one with the role `worker`. Fields are dropped in order.
struct Setup {
    servers: Vec<Server>,
    worker: Option<Server>,
    addresses: [SocketAddr; 3],
    balancer: Balancer,
    folder: PathBuf,
    cluster: Cluster,
    token: String,
}

impl Setup {
    fn new(folder: &Path, program: &Path) -> Result<Self> {
        let cluster = Cluster::start(Durability::Full)?;
        let url = cluster.url();
        gatehouse(program, &url, &["migrate"])?;
        gatehouse(program, &url, &["tenant", "create", "--slug", "chaos", "--name", "Chaos"])?;
        let token = member(&mint(program, &url, "chaos")?, "token")?;
        let addresses = [lasting_address()?, lasting_address()?, lasting_address()?];
        let balancer = Balancer::start(folder, addresses)?;
        let folder = folder.to_owned();
        let mut setup =
            Self { servers: Vec::new(), worker: None, addresses, balancer, folder, cluster, token };
        setup.worker = Some(setup.start(program, "worker", None)?);
        for address in addresses {
            setup.servers.push(setup.start(program, "api", Some(address))?);
        }
        setup.balancer.await_ready()?;
        Ok(setup)
    }

    fn start(&self, program: &Path, role: &str, address: Option<SocketAddr>) -> Result<Server> {
        let log = std::fs::File::options().create(true).append(true).open(self.folder.join("log"));
        let mut command = serve(program, &self.cluster.url(), &self.folder);
        command.env("GATEHOUSE_ROLE", role).env("GATEHOUSE_DRAIN_SECONDS", "2");
        command.env("GATEHOUSE_TRUSTED_PROXIES", "127.0.0.1").env("GATEHOUSE_LOG_LEVEL", "warn");
        if let Some(address) = address {
            command.env("GATEHOUSE_BIND", address.to_string());
        }
        Server::start(command.stderr(log.map_err(|error| error.to_string())?))
    }

    fn run(&mut self, old: &Path, new: &Path) -> Result<()> {
        let seen = Seen::default();
        let (address, token) = (self.balancer.address, self.token.clone());
        println!("| servers | users created meanwhile | refused or unanswered | seconds |");
        println!("|---|---|---|---|");
        thread::scope(|scope| {
            let _stop = Stop(&seen);
            for writer in 0..WRITERS {
                let (seen, token) = (&seen, &token);
                scope.spawn(move || seen.write(address, token, &format!("w{writer}")));
            }
            seen.progress(BETWEEN)?;
            gatehouse(new, &self.cluster.url(), &["migrate"])?;
            self.replace(&seen, "old by new", new)?;
            self.replace(&seen, "new by old", old)?;
            self.replace(&seen, "old by new", new)?;
            self.kill_one(&seen, new)
        })?;
        self.hold_together(new)?;
        let created = seen.created.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let url = self.cluster.url();
        DatabaseRecords::Postgres(url.clone()).check(&created)?;
        let unsealed = || Ok(psql(&url, &["SELECT count(*) FROM audit_unsealed"])? == "0");
        until(Duration::from_mins(1), "entries stay unsealed", unsealed)?;
        gatehouse(new, &url, &["audit", "verify", "--tenant", "chaos"])?;
        println!("{} users were created, none is lost, and the audit log verifies", created.len());
        Ok(())
    }

    /// Replaces one server after the other. No request is lost.
    fn replace(&mut self, seen: &Seen, what: &str, by: &Path) -> Result<()> {
        let (start, before) = (Instant::now(), seen.count());
        for (number, address) in self.addresses.into_iter().enumerate() {
            drop(self.servers.remove(number));
            self.servers.insert(number, self.start(by, "api", Some(address))?);
            self.await_share(number)?;
        }
        self.worker = None;
        self.worker = Some(self.start(by, "worker", None)?);
        seen.progress(BETWEEN)?;
        let lost = lost(seen)?;
        if lost > 0 {
            return Err(format!("{what}: {lost} requests were refused or not answered"));
        }
        let (created, took) = (seen.count() - before, start.elapsed().as_secs_f64());
        println!("| {what} | {created} | {lost} | {took:.1} |");
        Ok(())
    }

    /// Waits until HAProxy sends requests to this server.
    fn await_share(&self, number: usize) -> Result<()> {
        let address = self.servers.get(number).ok_or("no such server")?.address;
        until(Duration::from_secs(10), "the server gets no requests", || {
            let answer = Client::new(address).send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            let created = |line: &str| line.contains("status=\"201\"") && !line.ends_with(" 0");
            Ok(answer.is_ok_and(|(status, text)| status == 200 && text.lines().any(created)))
        })
    }

    /// Kills a server. Only requests that were sent to it may fail. Then one more joins in its place.
    fn kill_one(&mut self, seen: &Seen, program: &Path) -> Result<()> {
        let (start, before) = (Instant::now(), seen.count());
        let address = self.addresses[0];
        self.servers.remove(0).kill();
        seen.progress(BETWEEN)?;
        self.servers.insert(0, self.start(program, "api", Some(address))?);
        self.await_share(0)?;
        // HAProxy answers 502 or closes the connection.
        let mut wrong = seen.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = wrong.extract_if(.., |answer| answer.starts_with("502")).count();
        drop(wrong);
        let in_transit = lost(seen)? + cut as u64;
        if in_transit > LOST_AT_MOST {
            let refused = seen.refused.load(Ordering::Relaxed);
            return Err(format!(
                "{in_transit} requests were lost by a kill: {cut} answers were 502, {refused} were 503"
            ));
        }
        let (created, took) = (seen.count() - before, start.elapsed().as_secs_f64());
        println!("| one killed | {created} | {in_transit} (in transit) | {took:.1} |");
        Ok(())
    }

    /// Checks that a limit, the name of a user and a revocation hold on every server at once.
    fn hold_together(&self, program: &Path) -> Result<()> {
        let body = r#"{"email":"nobody@chaos.example","password":"four tall blue towers"}"#;
        let attempt = format!(
            "POST /api/auth/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let statuses = |_| Client::new(self.balancer.address).send(&attempt).map_or(0, |(status, _)| status);
        let statuses: Vec<_> = (0..ATTEMPTS + 3).map(statuses).collect();
        if statuses.iter().take(ATTEMPTS).any(|status| *status != 401)
            || statuses.iter().skip(ATTEMPTS).any(|status| *status != 429)
        {
            return Err(format!("the limit of attempts does not hold over all servers: {statuses:?}"));
        }
        let url = self.cluster.url();
        let made = mint(program, &url, "revoked")?;
        let (id, token) = (member(&made, "id")?, member(&made, "token")?);
        self.expect_everywhere(&get(&token, "/api/scim/v2/Users?count=1"), 200)?;
        let first = Client::new(self.balancer.address).send(&create(&token, "once"));
        if first.as_ref().map_or(0, |(status, _)| *status) != 201 {
            return Err(format!("a user was not created: {first:?}"));
        }
        // An existing user is returned.
        self.expect_everywhere(&create(&token, "once"), 200)?;
        gatehouse(program, &url, &["token", "revoke", "--id", &id])?;
        self.expect_everywhere(&get(&token, "/api/scim/v2/Users?count=1"), 401)
    }

    fn expect_everywhere(&self, request: &str, expected: u16) -> Result<()> {
        for address in self.addresses {
            match Client::new(address).send(request) {
                Ok((status, _)) if status == expected => {}
                answer => return Err(format!("expected {expected} of each server, not {answer:?}")),
            }
        }
        Ok(())
    }
}

/// Creates a SCIM token and returns it as JSON.
fn mint(program: &Path, url: &str, name: &str) -> Result<String> {
    gatehouse(program, url, &["token", "scim", "--tenant", "chaos", "--name", name])
}

/// Returns how many requests were refused or not answered. Any other wrong answer is an error.
fn lost(seen: &Seen) -> Result<u64> {
    seen.refuse_wrong()?;
    Ok(seen.refused.load(Ordering::Relaxed) + seen.unanswered.load(Ordering::Relaxed))
}
