//! `cargo xtask chaos nodes`: kills a node of a distributed database and moves shards while users are created.

use std::{
    path::{Path, PathBuf},
    sync::{PoisonError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use xtask::{
    citus::{Nodes, placement},
    cluster::{Cluster, Durability, psql},
    server::{Server, gatehouse, member, serve},
    sh::{self, Result},
    wait::until,
};

use crate::{
    clients::{Client, Seen, Stop},
    records::DatabaseRecords,
};

/// Number of kills of the second worker node.
const KILLS: usize = 5;
/// How long the node stays dead.
const DEAD: Duration = Duration::from_secs(8);
/// Maximum time from the restart of the node until its tenant is served.
const RECOVERY: Duration = Duration::from_secs(10);
/// The event of a new checkpoint.
const CHECKPOINT: &str = "ACCOUNT_AUDIT_CHECKPOINT_PUBLISHED";
/// Connections that create users, per tenant and server.
const WRITERS: usize = 2;

/// A tenant, and what its clients have seen.
struct Tenant {
    id: String,
    slug: String,
    token: String,
    seen: Seen,
}

/// Runs all rounds.
pub(crate) fn run() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("gatehouse-chaos-{}-nodes", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let done = Setup::new(&folder).and_then(|mut setup| setup.run());
    done.map_err(|problem| format!("nodes: {problem}; the servers' log is in {}", folder.display()))?;
    println!("nodes: {:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
    let _removed = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// Two servers on a coordinator and two workers. Fields are dropped in order, so the servers end first.
struct Setup {
    servers: Vec<Server>,
    program: PathBuf,
    folder: PathBuf,
    url: String,
    nodes: Nodes,
    /// A tenant on each worker.
    tenants: Vec<Tenant>,
}

impl Setup {
    fn new(folder: &Path) -> Result<Self> {
        let program = sh::built("gatehouse");
        let nodes = Nodes::start(2, Durability::Full)?;
        let url = nodes.database("chaos")?;
        gatehouse(&program, &url, &["migrate", "--distribute"])?;
        let mut tenants = Vec::new();
        for worker in &nodes.workers {
            tenants.push(tenant_on(&program, &url, worker.port(), tenants.len())?);
        }
        let folder = folder.to_owned();
        let mut setup = Self { servers: Vec::new(), program, folder, url, nodes, tenants };
        for _ in 0..2 {
            let server = setup.server()?;
            setup.servers.push(server);
        }
        Ok(setup)
    }

    fn server(&self) -> Result<Server> {
        let log = std::fs::File::options().create(true).append(true).open(self.folder.join("log"));
        let mut command = serve(&self.program, &self.url, &self.folder);
        command.env("GATEHOUSE_LOG_LEVEL", "warn").stderr(log.map_err(|error| error.to_string())?);
        Server::start(&mut command)
    }

    fn run(&mut self) -> Result<()> {
        let tenants = std::mem::take(&mut self.tenants);
        let addresses: Vec<_> = self.servers.iter().map(|server| server.address).collect();
        println!("| round | created there | created elsewhere | refused there (503) | back within |");
        println!("|---|---|---|---|---|");
        thread::scope(|scope| {
            let _stops: Vec<_> = tenants.iter().map(|tenant| Stop(&tenant.seen)).collect();
            for tenant in &tenants {
                for (number, address) in addresses.iter().copied().enumerate() {
                    for writer in 0..WRITERS {
                        let name = format!("{}-{number}-{writer}", tenant.slug);
                        scope.spawn(move || tenant.seen.write(address, &tenant.token, &name));
                    }
                }
            }
            for round in 0..KILLS {
                self.kill(round, &tenants).map_err(|problem| format!("round {}: {problem}", round + 1))?;
            }
            self.moves(&tenants)
        })?;
        let created = |tenant: &Tenant| {
            let created = tenant.seen.created.lock().unwrap_or_else(PoisonError::into_inner);
            created.clone()
        };
        let all: Vec<_> = tenants.iter().flat_map(created).collect();
        DatabaseRecords::Postgres(self.url.clone()).check(&all)?;
        for tenant in &tenants {
            self.await_sealed(tenant)?;
            gatehouse(&self.program, &self.url, &["audit", "verify", "--tenant", &tenant.slug])?;
        }
        println!("{} users were created, none is lost, and both audit logs verify", all.len());
        Ok(())
    }

    /// Returns the node that is killed.
    fn victim(&mut self) -> Result<&mut Cluster> {
        self.nodes.workers.last_mut().ok_or_else(|| "no worker".into())
    }

    /// Kills the second node under load. Its tenant gets 503, and the other one notices nothing.
    fn kill(&mut self, round: usize, tenants: &[Tenant]) -> Result<()> {
        let [healthy, dead] = tenants else { return Err("two tenants are needed".into()) };
        healthy.seen.progress(20)?;
        dead.seen.progress(20)?;
        let before = (healthy.seen.count(), dead.seen.count(), dead.seen.refused.load(Ordering::Relaxed));
        let sealed = self.sealed(healthy)?;
        if round == 0 {
            for tenant in [healthy, dead] {
                self.store_used_assertion(tenant)?;
            }
        }
        let killed = Instant::now();
        self.victim()?.kill();
        if round == 0 {
            self.subscribe_to_checkpoints(healthy)?;
            let server = self.server().map_err(|problem| format!("a server does not start: {problem}"))?;
            self.await_purged(healthy)?;
            self.await_published(healthy)?;
            drop(server);
        }
        let address = self.servers.first().ok_or("no server")?.address;
        until(DEAD, "/readyz does not say that the database is degraded", || {
            let answer = Client::new(address).send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
            Ok(answer.is_ok_and(|(status, body)| status == 200 && body.contains("degraded")))
        })?;
        thread::sleep(DEAD.saturating_sub(killed.elapsed()));
        if self.sealed(healthy)? <= sealed {
            return Err("the audit log of the other tenant was not sealed".into());
        }
        let refused = healthy.seen.refused.load(Ordering::Relaxed);
        if refused > 0 {
            return Err(format!("{refused} requests of the other tenant were refused"));
        }
        let restarted = Instant::now();
        self.victim()?.start_again()?;
        dead.seen.progress(5)?;
        let back = restarted.elapsed();
        if back > RECOVERY {
            return Err(format!("the tenant was served again after {back:?}"));
        }
        check_answers(tenants)?;
        if round == 0 {
            drop(self.server()?);
            self.await_purged(dead)?;
        }
        println!(
            "| {} | {} | {} | {} | {:.2} s |",
            round + 1,
            dead.seen.count() - before.1,
            healthy.seen.count() - before.0,
            dead.seen.refused.load(Ordering::Relaxed) - before.2,
            back.as_secs_f64()
        );
        Ok(())
    }

    /// Moves the shards of both tenants to the other node and back. No request fails.
    fn moves(&self, tenants: &[Tenant]) -> Result<()> {
        let refused =
            || tenants.iter().map(|tenant| tenant.seen.refused.load(Ordering::Relaxed)).sum::<u64>();
        let (before, start) = (refused(), Instant::now());
        for _ in 0..2 {
            for tenant in tenants {
                let (shard, from) = placement(&self.url, &tenant.id)?;
                let to =
                    self.nodes.workers.iter().map(|worker| worker.port().to_string()).find(|to| *to != from);
                let to = to.ok_or("no other node")?;
                psql(
                    &self.url,
                    &[&format!(
                        "SELECT citus_move_shard_placement({shard}, '127.0.0.1', {from}, '127.0.0.1', {to}, 'force_logical')"
                    )],
                )?;
                tenant.seen.progress(20)?;
            }
        }
        if refused() > before {
            return Err(format!("{} requests were refused while shards moved", refused() - before));
        }
        check_answers(tenants)?;
        println!("4 moves of shards in {:.0} s, no request refused", start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Stores a used assertion that has expired. The next server that starts purges it.
    fn store_used_assertion(&self, tenant: &Tenant) -> Result<()> {
        let insert =
            format!("INSERT INTO saml_assertions VALUES ('{}', 'sso_x', 'x', '2026-01-01')", tenant.id);
        psql(&self.url, &[&insert]).map(drop)
    }

    /// Routes checkpoints to a webhook that does not exist. The servers publish them once a minute, a new one at its start.
    fn subscribe_to_checkpoints(&self, tenant: &Tenant) -> Result<()> {
        let webhook = tenant.id.replace("ten_", "whk_");
        let id = &tenant.id;
        let route = format!("INSERT INTO webhook_routes VALUES ('{id}', '{CHECKPOINT}', '{webhook}')");
        psql(&self.url, &[&route]).map(drop)
    }

    fn await_published(&self, tenant: &Tenant) -> Result<()> {
        let query = format!(
            "SELECT count(*) FROM webhook_deliveries WHERE tenant_id = '{}' AND event_type = '{CHECKPOINT}'",
            tenant.id
        );
        until(DEAD, "a checkpoint is not published", || Ok(psql(&self.url, &[&query])? != "0"))
    }

    fn await_purged(&self, tenant: &Tenant) -> Result<()> {
        let query = format!("SELECT count(*) FROM saml_assertions WHERE tenant_id = '{}'", tenant.id);
        until(DEAD, "an expired assertion is not purged", || Ok(psql(&self.url, &[&query])? == "0"))
    }

    fn sealed(&self, tenant: &Tenant) -> Result<u64> {
        let size =
            psql(&self.url, &[&format!("SELECT size FROM audit_logs WHERE tenant_id = '{}'", tenant.id)])?;
        Ok(size.parse().unwrap_or_default())
    }

    fn await_sealed(&self, tenant: &Tenant) -> Result<()> {
        let query = format!("SELECT count(*) FROM audit_unsealed WHERE tenant_id = '{}'", tenant.id);
        until(Duration::from_mins(1), "entries stay unsealed", || Ok(psql(&self.url, &[&query])? == "0"))
    }
}

/// Creates tenants until one is on this node.
fn tenant_on(program: &Path, url: &str, port: u16, number: usize) -> Result<Tenant> {
    for attempt in 0..64 {
        let slug = format!("chaos-{number}-{attempt}");
        let made = gatehouse(program, url, &["tenant", "create", "--slug", &slug, "--name", "Chaos"])?;
        let id = member(&made, "id")?;
        if placement(url, &id)?.1 == port.to_string() {
            let minted = gatehouse(program, url, &["token", "scim", "--tenant", &slug, "--name", "chaos"])?;
            return Ok(Tenant { id, slug, token: member(&minted, "token")?, seen: Seen::default() });
        }
    }
    Err("no tenant is on this node".into())
}

/// Checks that every request was answered, with 201 or 503.
fn check_answers(tenants: &[Tenant]) -> Result<()> {
    for Tenant { seen, .. } in tenants {
        seen.refuse_wrong()?;
        let unanswered = seen.unanswered.load(Ordering::Relaxed);
        if unanswered > 0 {
            return Err(format!("{unanswered} requests got no response"));
        }
    }
    Ok(())
}
