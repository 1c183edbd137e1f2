//! `cargo xtask chaos mixed`: everything at once. Directories, sign-ins with passwords, SAML and OpenID Connect, step-ups,
//! shared signals, exports and webhooks use two servers and a worker, while servers, PostgreSQL, its disk, the network, the
//! receiver and the clocks fail.
//!
//! Each client keeps a model of what must be true. After each round the faults end, and all models are compared with what
//! the servers say.

mod client;
mod clock;
mod directory;
mod export;
mod fault;
mod session;
mod single_sign_on;
mod sink;
mod step_up;
mod transmitter;
mod visitor;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use kernel::Random;
use test_providers::{CLIENT, Idp, OpenIdProvider};
use xtask::{
    cluster::{Cluster, Durability},
    server::{CHEAP, MASTER_KEY, Server, gatehouse, lasting_address, member, person, serve},
    sh::{self, Result},
    system,
    wait::until,
};

use self::{
    client::{Caller, Counts},
    clock::Clock,
    directory::Directory,
    export::Exporter,
    fault::Fault,
    single_sign_on::{Connection, Seen, SingleSignOn},
    sink::Sink,
    step_up::StepUpUser,
    transmitter::Transmitter,
    visitor::Visitor,
};
use crate::{proxy::Proxy, records::DatabaseRecords, small_disk::SmallDisk};

/// The password of everybody.
const PASSWORD: &str = "a password that is long enough";
/// How long the clients go on after a fault has begun.
const ROUND: Duration = Duration::from_secs(3);
/// Maximum time from the end of a fault until every server is ready.
const RECOVERY: Duration = Duration::from_secs(20);
/// Maximum time until everything is sealed and delivered at the end. A refused delivery is repeated after minutes.
const SETTLED: Duration = Duration::from_mins(10);
/// Size of PostgreSQL's file system, in MiB.
const DISK: u32 = 512;
/// Rounds between two verifications of the audit log.
const VERIFIED_EVERY: usize = 10;

const DIRECTORIES: usize = 3;
const VISITORS: usize = 8;
const STEP_UPS: usize = 8;
/// Users of each SSO connection.
const SINGLE_SIGN_ONS: usize = 4;
const ADMIN: &str = "admin@example.com";

/// A client with a model of what must be true.
trait Actor: Send {
    /// Sends one request, and changes the model. Fails if the response contradicts the model.
    fn act(&mut self, caller: &mut Caller) -> Result<()>;
    /// Compares the model with the servers, of which none fails now.
    fn check(&mut self, caller: &mut Caller) -> Result<()>;
    /// The pause between two requests.
    fn pause(&self) -> Duration {
        Duration::from_millis(20)
    }
}

/// Runs this many rounds.
pub(crate) fn run(program: PathBuf, rounds: usize, seed: u64) -> Result<()> {
    system::install(&system::TEST)?;
    system::install(&system::FAKETIME)?;
    let folder = std::env::temp_dir().join(format!("gatehouse-chaos-{}-mixed", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let done = Setup::new(program, &folder).and_then(|mut setup| setup.run(rounds, &mut Random::new(seed)));
    done.map_err(|problem| {
        format!("mixed, seed {seed}: {problem}; the servers' log is in {}", folder.display())
    })?;
    println!("mixed: seed {seed}, {:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
    let _removed = (std::fs::remove_dir_all(&folder), std::fs::remove_file(OpenIdProvider::trusted().1));
    Ok(())
}

/// Lets a command send requests to this machine.
fn local_peers(command: &mut Command) -> &mut Command {
    command.env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8");
    command.env("GATEHOUSE_WEBHOOKS_CA_FILE", OpenIdProvider::trusted().1)
}

/// Returns the addresses of users of a kind.
fn emails(kind: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{kind}-{number}@{kind}.example")).collect()
}

/// Two servers with the role `api`, one with the role `worker`, and what they use. Fields are dropped in order.
struct Setup {
    servers: Vec<Option<Server>>,
    worker: Option<Server>,
    addresses: [std::net::SocketAddr; 2],
    clocks: [Clock; 2],
    proxy: Proxy,
    cluster: Cluster,
    /// The file system of PostgreSQL.
    disk: SmallDisk,
    sink: Sink,
    actors: Vec<Box<dyn Actor>>,
    signed_on: Arc<Seen>,
    program: PathBuf,
    folder: PathBuf,
}

impl Setup {
    fn new(program: PathBuf, folder: &Path) -> Result<Self> {
        let disk = SmallDisk::new(&folder.join("disk"), DISK)?;
        // By default the write-ahead log alone may take 1 GB.
        let settings = vec!["max_wal_size=128MB".to_owned()];
        let cluster = Cluster::start_in(disk.folder(), Durability::Full, settings)?;
        let url = cluster.url();
        gatehouse(&program, &url, &["migrate"])?;
        gatehouse(&program, &url, &["tenant", "create", "--slug", "chaos", "--name", "Chaos"])?;
        let minted = gatehouse(&program, &url, &["token", "scim", "--tenant", "chaos", "--name", "chaos"])?;
        let token = member(&minted, "token")?;
        let (visitors, steppers) = (emails("visitor", VISITORS), emails("stepper", STEP_UPS));
        for email in visitors.iter().chain(&steppers).map(String::as_str).chain([ADMIN]) {
            person(&program, &url, CHEAP, "chaos", email, PASSWORD)?;
        }
        let of = ["--tenant", "chaos", "--email", ADMIN];
        gatehouse(&program, &url, &[&["user", "role"][..], &of, &["--role", "ADMIN"]].concat())?;
        let mint = ["token", "pat", "--name", "chaos", "--scopes", "admin:tenant"];
        let pat = member(&gatehouse(&program, &url, &[&mint[..], &of].concat())?, "token")?;

        let addresses = [lasting_address()?, lasting_address()?];
        let clocks = [Clock::new(folder, 0)?, Clock::new(folder, 1)?];
        let proxy = Proxy::start(cluster.port())?;
        let (servers, worker, actors) = (vec![None, None], None, Vec::new());
        let (sink, signed_on, folder) = (Sink::start()?, Arc::default(), folder.to_owned());
        let mut setup = Self {
            servers,
            worker,
            addresses,
            clocks,
            proxy,
            cluster,
            disk,
            sink,
            actors,
            signed_on,
            program,
            folder,
        };
        for number in 0..2 {
            setup.start_server(number)?;
        }
        setup.start_worker()?;
        let counts = Counts::default();
        let mut caller = setup.caller(0, &counts);
        setup.sink.subscribe(&mut caller, &pat)?;
        for number in 0..DIRECTORIES {
            setup.actors.push(Box::new(Directory::new(&token, number, setup.sink.clone())));
        }
        for (number, email) in visitors.iter().enumerate() {
            setup.actors.push(Box::new(Visitor::new(email, number)));
        }
        for (number, email) in steppers.iter().enumerate() {
            setup.actors.push(Box::new(StepUpUser::enrol(&mut caller, email, number)?));
        }
        setup.add_single_sign_on(&mut caller)?;
        let keys = gatehouse(&setup.program, &setup.cluster.url(), &["audit", "key", "--tenant", "chaos"])?;
        setup.actors.push(Box::new(Exporter::new(&setup.program, &setup.folder, &pat, &keys)?));
        Ok(setup)
    }

    /// Adds two SSO connections with their users. The OpenID provider is also a transmitter.
    fn add_single_sign_on(&mut self, caller: &mut Caller) -> Result<()> {
        let (idp, provider) = (Arc::new(Idp::new("idp.example")), OpenIdProvider::start());
        let metadata = self.folder.join("metadata.xml");
        std::fs::write(&metadata, idp.metadata()).map_err(|error| error.to_string())?;
        let metadata = metadata.display().to_string();
        let saml = ["saml", "add", "--metadata", &metadata, "--email-domains", "saml.example"];
        let oidc = ["oidc", "add", "--issuer", &provider.issuer, "--client-id", CLIENT];
        let oidc =
            [&oidc[..], &["--auth-method", "private_key_jwt", "--email-domains", "oidc.example"]].concat();
        let add = |words: &[&str], name| {
            let mut command = Command::new(&self.program);
            command.args(words).args(["--tenant", "chaos", "--name", name, "--json"]);
            command.env("GATEHOUSE_DATABASE_URL", self.cluster.url()).env("GATEHOUSE_MASTER_KEY", MASTER_KEY);
            member(&sh::output(local_peers(&mut command))?, "id")
        };
        let (saml, oidc) = (add(&saml, "SAML")?, add(&oidc, "OpenID Connect")?);
        let mut admin = StepUpUser::enrol(caller, ADMIN, STEP_UPS)?;
        let transmitter = Arc::new(Transmitter::add(&provider, &oidc, &mut admin, caller)?);
        let connections = [
            ("saml", Connection::Saml(saml, idp)),
            ("oidc", Connection::OpenIdConnect(oidc, Box::new(provider), transmitter)),
        ];
        for (kind, connection) in connections {
            for email in emails(kind, SINGLE_SIGN_ONS) {
                person(&self.program, &self.cluster.url(), CHEAP, "chaos", &email, PASSWORD)?;
                let number = self.actors.len();
                let (connection, seen) = (connection.clone(), Arc::clone(&self.signed_on));
                self.actors.push(Box::new(SingleSignOn::new(connection, &email, number, seen)));
            }
        }
        Ok(())
    }

    /// Returns the URL of the database behind the proxy.
    fn database(&self) -> String {
        let (direct, proxied) = (self.cluster.port(), self.proxy.address.port());
        self.cluster.url().replace(&format!(":{direct}"), &format!(":{proxied}"))
    }

    fn server(&self, role: &str) -> Result<Command> {
        let log = std::fs::File::options().create(true).append(true).open(self.folder.join("log"));
        let mut command = serve(&self.program, &self.database(), &self.folder);
        command.env("GATEHOUSE_ROLE", role).env("GATEHOUSE_LOG_LEVEL", "warn");
        command.env("GATEHOUSE_TRUSTED_PROXIES", "127.0.0.1/32").env("GATEHOUSE_PASSWORD_COST", CHEAP);
        local_peers(&mut command).env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
        command.stderr(log.map_err(|error| error.to_string())?);
        Ok(command)
    }

    fn start_server(&mut self, number: usize) -> Result<()> {
        let mut command = self.server("api")?;
        if let (Some(address), Some(clock)) = (self.addresses.get(number), self.clocks.get(number)) {
            command.env("GATEHOUSE_BIND", address.to_string()).envs(clock.variables());
        }
        let server = Server::start(&mut command)?;
        if let Some(place) = self.servers.get_mut(number) {
            *place = Some(server);
        }
        Ok(())
    }

    fn start_worker(&mut self) -> Result<()> {
        self.worker = Some(Server::start(&mut self.server("worker")?)?);
        Ok(())
    }

    fn caller<'c>(&self, first: usize, counts: &'c Counts) -> Caller<'c> {
        let mut addresses = self.addresses;
        addresses.rotate_left(first % 2);
        Caller::new(addresses, counts)
    }

    fn run(&mut self, rounds: usize, random: &mut Random) -> Result<()> {
        println!("| round | fault | answered | refused | unanswered | checked in |");
        println!("|---|---|---|---|---|---|");
        for round in 0..rounds {
            let fault = Fault::draw(random);
            let counts = Counts::default();
            self.under_load(fault, &counts)
                .map_err(|problem| format!("round {round}, {fault}: {problem}"))?;
            let start = Instant::now();
            self.compare(&counts).map_err(|problem| format!("after round {round}, {fault}: {problem}"))?;
            if (round + 1) % VERIFIED_EVERY == 0 {
                self.verify()?;
            }
            println!("| {round} | {fault} | {counts} | {:.1} s |", start.elapsed().as_secs_f64());
        }
        self.verify()?;
        println!("{}", self.signed_on);
        self.sink.await_all(SETTLED)
    }

    /// Lets all clients work while a fault happens and after it.
    fn under_load(&mut self, fault: Fault, counts: &Counts) -> Result<()> {
        let stop = AtomicBool::new(false);
        let mut actors = std::mem::take(&mut self.actors);
        let done = thread::scope(|scope| {
            let mut working = Vec::new();
            for (number, actor) in actors.iter_mut().enumerate() {
                let (mut caller, stop) = (self.caller(number, counts), &stop);
                working.push(scope.spawn(move || {
                    while !stop.load(Ordering::Acquire) {
                        actor.act(&mut caller)?;
                        thread::sleep(actor.pause());
                    }
                    Ok::<_, String>(())
                }));
            }
            thread::sleep(Duration::from_millis(500));
            let injected = fault.inject(self);
            thread::sleep(ROUND);
            stop.store(true, Ordering::Release);
            let worked: Result<Vec<()>> = working
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err("a client panicked".to_owned())))
                .collect();
            injected.and(worked.map(drop))
        });
        self.actors = actors;
        done
    }

    /// Waits until all servers are ready, and compares all models with them.
    fn compare(&mut self, counts: &Counts) -> Result<()> {
        for first in 0..2 {
            let mut caller = self.caller(first, counts);
            until(RECOVERY, "a server is not ready again", || {
                Ok(caller.send_first("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n") == Some(200))
            })?;
        }
        let mut caller = self.caller(0, counts);
        for actor in &mut self.actors {
            actor.check(&mut caller)?;
        }
        Ok(())
    }

    /// Verifies the audit log, and that each user has one entry of its creation.
    fn verify(&self) -> Result<()> {
        let url = self.cluster.url();
        let records = DatabaseRecords::Postgres(url.clone());
        let unsealed = "SELECT count(*) FROM audit_unsealed";
        until(RECOVERY, "entries stay unsealed", || Ok(records.ask(unsealed)? == "0"))?;
        gatehouse(&self.program, &url, &["audit", "verify", "--tenant", "chaos"])?;
        records.check_pairs()
    }
}
