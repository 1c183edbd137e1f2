//! `cargo xtask bench webhooks`: throughput and latency of deliveries, and the effect of bad receivers on others.

use std::{
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use xtask::{
    cluster::{Cluster, Durability},
    server::{Server, gatehouse, member, serve},
    sh::{self, Result},
    system,
};

use crate::{
    build, cpu,
    figures::Area,
    folder::Folder,
    load,
    sink::{Manner, Sink},
    site::{administrator, request, sql},
};

const AREA: Area = Area("webhooks");
const DELIVERIES: u64 = 20_000;
const CONNECTIONS: usize = 16;
const ROUNDS: usize = 3;
/// Changes per second of the paced measurements.
const PACE: f64 = 50.0;
const PACED: Duration = Duration::from_secs(20);

/// Runs the benchmark. `drain`, `paced`, `ordered` or `bad` runs only this part.
pub(crate) fn run(part: Option<&str>) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    println!("load average before: {}", cpu::load_average());
    let folder = Folder::new("webhooks")?;
    let place = Place { program: build::gatehouse()?, folder };
    let measured = place.all(part);
    measured?;
    println!("load average after: {}", cpu::load_average());
    Ok(())
}

struct Place {
    program: PathBuf,
    folder: Folder,
}

/// A tenant with its tokens for provisioning and for settings.
struct Tenant {
    scim: String,
    pat: String,
}

impl Place {
    fn all(&self, part: Option<&str>) -> Result<()> {
        let wanted = |name: &str| part.is_none_or(|part| part == name);
        let cluster = Cluster::start(Durability::Steady)?;
        if wanted("drain") {
            for subscriptions in [1, 10] {
                let mut rates = Vec::new();
                for round in 1..=ROUNDS {
                    eprintln!("{subscriptions} subscriptions, round {round} of {ROUNDS}");
                    rates.push(self.drain(
                        &cluster,
                        &format!("drain_{subscriptions}_{round}"),
                        subscriptions,
                    )?);
                }
                rates.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (rate, ours, theirs) = rates.get(ROUNDS / 2).copied().unwrap_or_default();
                let least = if subscriptions == 1 { 3000.0 } else { 5000.0 };
                let webhooks = if subscriptions == 1 { "1 webhook" } else { "10 webhooks" };
                let to = |what: &str| format!("20,000 deliveries to {webhooks}, {what}");
                AREA.at_least(to("rate"), rate, "per s", least);
                AREA.at_most(to("server CPU"), ours, "µs", 200.0);
                AREA.shown(to("database CPU"), theirs, "µs");
            }
        }
        if wanted("paced") {
            self.paced(&cluster)?;
        }
        if wanted("ordered") {
            self.ordered(&cluster)?;
        }
        if wanted("bad") {
            self.bad(&cluster)?;
        }
        Ok(())
    }

    fn database(&self, cluster: &Cluster, name: &str) -> Result<String> {
        sql(cluster, &format!("CREATE DATABASE {name}"))?;
        let url = cluster.url().replace("/postgres", &format!("/{name}"));
        gatehouse(&self.program, &url, &["migrate"])?;
        Ok(url)
    }

    fn tenant(&self, url: &str, slug: &str) -> Result<Tenant> {
        gatehouse(&self.program, url, &["tenant", "create", "--slug", slug, "--name", slug])?;
        let email = format!("ada@{slug}.example");
        let pat = administrator(&self.program, url, (slug, &email, "four tall blue towers"))?;
        let scim = gatehouse(&self.program, url, &["token", "scim", "--tenant", slug, "--name", "bench"])?;
        Ok(Tenant { scim: member(&scim, "token")?, pat })
    }

    fn serve(&self, url: &str, role: &str) -> Command {
        let mut command = serve(&self.program, url, &self.folder);
        command
            .env("GATEHOUSE_ROLE", role)
            .env("GATEHOUSE_LOG_LEVEL", "warn")
            .env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8")
            .env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
        command
    }

    /// Measures deliveries per second to this many subscriptions from a full queue, and the CPU microseconds per
    /// delivery of the server and of PostgreSQL.
    fn drain(&self, cluster: &Cluster, name: &str, subscriptions: u64) -> Result<(f64, f64, f64)> {
        let url = self.database(cluster, name)?;
        let tenant = self.tenant(&url, "bench")?;
        let sink = Sink::start(Manner::Prompt)?;
        {
            let api = Server::start(&mut self.serve(&url, "api"))?;
            for number in 0..subscriptions {
                subscribe(&api, &tenant.pat, &sink, &format!("s{number}"))?;
            }
            let events = DELIVERIES / subscriptions;
            changes(&api, &tenant, events)?;
        }
        let queued = count(&url, "SELECT count(*) FROM webhook_deliveries WHERE due_at IS NOT NULL")?;
        if sink.count() != 0 {
            return Err("an event was delivered before a worker ran".into());
        }
        let worker = Server::start(&mut self.serve(&url, "worker"))?;
        let (start, cpu_before) = (Instant::now(), (cpu::seconds(worker.pid()), cpu::seconds(cluster.pid())));
        while sink.count() < queued {
            patient(start, 120, "not all events were delivered")?;
            std::thread::sleep(Duration::from_millis(5));
        }
        let took = start.elapsed().as_secs_f64();
        while count(&url, "SELECT count(*) FROM webhook_deliveries WHERE due_at IS NOT NULL")? > 0 {
            patient(start, 120, "not all outcomes were recorded")?;
            std::thread::sleep(Duration::from_millis(50));
        }
        let each = |before: f64, after: f64| (after - before) * 1e6 / queued as f64;
        let ours = each(cpu_before.0, cpu::seconds(worker.pid()));
        let theirs = each(cpu_before.1, cpu::seconds(cluster.pid()));
        if sink.count() != queued {
            return Err(format!("{} requests for {queued} deliveries", sink.count()));
        }
        Ok((queued as f64 / took, ours, theirs))
    }

    /// Measures the delay of deliveries, without and with another tenant whose receiver is slow.
    fn paced(&self, cluster: &Cluster) -> Result<()> {
        let url = self.database(cluster, "paced")?;
        let (one, other) = (self.tenant(&url, "good")?, self.tenant(&url, "bad")?);
        let (sink, slow) = (Sink::start(Manner::Prompt)?, Sink::start(Manner::Slow)?);
        let server = Server::start(&mut self.serve(&url, "all"))?;
        subscribe(&server, &one.pat, &sink, "in")?;
        let alone = delays(&server, &one, &sink, "a")?;
        println!("at {PACE} per s: {}", alone.shown());
        AREA.at_most("delay from the response, p50", alone.at(0.5) * 1000.0, "ms", 2.5);
        AREA.at_most("delay from the response, p99", alone.at(0.99) * 1000.0, "ms", 7.0);
        // The other tenant's 2,000 events wait for a receiver that takes ten seconds.
        subscribe(&server, &other.pat, &slow, "in")?;
        changes(&server, &other, 2_000)?;
        let beside = delays(&server, &one, &sink, "c")?;
        println!("beside a receiver of 10 s with 2,000 queued: {}", beside.shown());
        let shift = (beside.at(0.99) - alone.at(0.99)) * 1000.0;
        AREA.at_most("shift of p99 by a slow receiver of another tenant", shift, "ms", 10.0);
        Ok(())
    }

    /// Measures the delay of deliveries by an ordered webhook, without and with events of a subject that wait for a retry.
    fn ordered(&self, cluster: &Cluster) -> Result<()> {
        let url = self.database(cluster, "ordered")?;
        let tenant = self.tenant(&url, "good")?;
        let sink = Sink::start(Manner::RefusesGroups)?;
        let server = Server::start(&mut self.serve(&url, "all"))?;
        let settings = r#""eventFilters":["ACCOUNT_USER_*","ACCOUNT_GROUP_*"],"ordered":true"#;
        subscribe_with(&server, &tenant.pat, &sink, "in", settings)?;
        let alone = delays(&server, &tenant, &sink, "a")?;
        let groups = |name: &str, method: &str, path: &str, status: u16| {
            let body = format!(r#"{{"displayName":"{name}"}}"#);
            expect(
                &server,
                &request(method, &format!("/api/scim/v2/Groups{path}"), &tenant.scim, &body),
                status,
            )
        };
        let group = member(&groups("g", "POST", "", 201)?, "id")?;
        for number in 0..1_000 {
            groups(&format!("g{number}"), "PUT", &format!("/{group}"), 200)?;
        }
        let beside = delays(&server, &tenant, &sink, "b")?;
        let waiting = count(&url, "SELECT count(*) FROM webhook_deliveries WHERE due_at IS NOT NULL")?;
        if waiting < 1_000 {
            return Err(format!("only {waiting} deliveries wait"));
        }
        println!("ordered, at {PACE} per s: {}", alone.shown());
        println!("beside a subject with {waiting} events that wait: {}", beside.shown());
        AREA.shown("delay by an ordered webhook, p99", alone.at(0.99) * 1000.0, "ms");
        let shift = (beside.at(0.99) - alone.at(0.99)) * 1000.0;
        AREA.at_most("shift of p99 by a subject whose events wait", shift, "ms", 10.0);
        Ok(())
    }

    /// Measures the cost of receivers that send bytes forever or respond with two gigabytes.
    fn bad(&self, cluster: &Cluster) -> Result<()> {
        // The prompt receiver shows the base cost of a hundred deliveries.
        for (name, manner, database) in [
            ("responds at once", Manner::Prompt, "prompt"),
            ("sends bytes forever", Manner::Dripping, "dripping"),
            ("responds with 2 GB", Manner::Huge, "huge"),
        ] {
            let url = self.database(cluster, database)?;
            let (good, bad) = (self.tenant(&url, "good")?, self.tenant(&url, "bad")?);
            let (sink, other) = (Sink::start(Manner::Prompt)?, Sink::start(manner)?);
            let server = Server::start(&mut self.serve(&url, "all"))?;
            subscribe(&server, &good.pat, &sink, "in")?;
            // Warm up: the memory that any delivery needs must not count as a cost of the bad receiver.
            delays(&server, &good, &sink, "w")?;
            let before = (cpu::resident_bytes(server.pid()), cpu::anonymous_bytes(server.pid()));
            subscribe(&server, &bad.pat, &other, "in")?;
            for number in 0..100 {
                expect(&server, &create(&bad, &format!("b{number}")), 201)?;
            }
            let beside = delays(&server, &good, &sink, "c")?;
            let megabytes = |before: u64, after: u64| (after as f64 - before as f64) / 1e6;
            let all = megabytes(before.0, cpu::resident_bytes(server.pid()));
            let own = megabytes(before.1, cpu::anonymous_bytes(server.pid()));
            println!(
                "a receiver that {name}: {} attempts; another tenant's: {}",
                other.count(),
                beside.shown()
            );
            AREA.at_most(format!("memory of 100 deliveries to a receiver that {name}"), all, "MB", 1.0);
            let what = format!("memory of 100 deliveries to a receiver that {name}, without file pages");
            AREA.shown(what, own, "MB");
        }
        Ok(())
    }
}

/// Delays in seconds, ascending: from sending the change, and from its response.
struct Delays {
    from_request: Vec<f64>,
    from_answer: Vec<f64>,
}

impl Delays {
    fn at(&self, share: f64) -> f64 {
        quantile(&self.from_answer, share)
    }

    fn shown(&self) -> String {
        let millis = |values: &[f64], share| quantile(values, share) * 1000.0;
        format!(
            "p50 {:.2} ms, p99 {:.2} ms after the response to the change; p50 {:.2} ms, p99 {:.2} ms after its request",
            millis(&self.from_answer, 0.5),
            millis(&self.from_answer, 0.99),
            millis(&self.from_request, 0.5),
            millis(&self.from_request, 0.99)
        )
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 - 1.0) * share).round();
    sorted.get(at as usize).copied().unwrap_or_default()
}

/// Makes changes at a fixed pace, and measures when each is delivered.
fn delays(server: &Server, tenant: &Tenant, sink: &Sink, prefix: &str) -> Result<Delays> {
    let (start, each) = (Instant::now(), Duration::from_secs_f64(1.0 / PACE));
    let mut made = Vec::new();
    let mut due = start;
    while start.elapsed() < PACED {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let asked = Instant::now();
        let body = expect(server, &create(tenant, &format!("{prefix}{}", made.len())), 201)?;
        made.push((member(&body, "id")?, asked, Instant::now()));
        due += each;
    }
    let (mut from_request, mut from_answer) = (Vec::new(), Vec::new());
    for (id, asked, answered) in made {
        let came = loop {
            if let Some(came) = sink.came(&id) {
                break came;
            }
            patient(start, 60, "an event was not delivered")?;
            std::thread::sleep(Duration::from_millis(5));
        };
        from_request.push(came.saturating_duration_since(asked).as_secs_f64());
        from_answer.push(came.saturating_duration_since(answered).as_secs_f64());
    }
    from_request.sort_by(f64::total_cmp);
    from_answer.sort_by(f64::total_cmp);
    Ok(Delays { from_request, from_answer })
}

fn patient(start: Instant, seconds: u64, problem: &str) -> Result<()> {
    if start.elapsed() > Duration::from_secs(seconds) { Err(problem.into()) } else { Ok(()) }
}

fn create(tenant: &Tenant, name: &str) -> Vec<u8> {
    let body = format!(r#"{{"userName":"{name}@example.com","active":true}}"#);
    request("POST", "/api/scim/v2/Users", &tenant.scim, &body)
}

/// Makes this many changes as fast as possible.
fn changes(server: &Server, tenant: &Tenant, count: u64) -> Result<()> {
    let requests: Vec<_> = (0..count).map(|number| create(tenant, &format!("n{number}"))).collect();
    let (_, answers) = load::each(server.address, CONNECTIONS, &requests)?;
    match answers.iter().find(|answer| answer.status != 201) {
        Some(answer) => Err(format!("{}: {}", answer.status, answer.text())),
        None => Ok(()),
    }
}

fn expect(server: &Server, request: &[u8], wanted: u16) -> Result<String> {
    let (status, body) = load::once(server.address, request)?;
    if status == wanted { Ok(body) } else { Err(format!("{status}: {body}")) }
}

pub(crate) fn subscribe(server: &Server, pat: &str, sink: &Sink, path: &str) -> Result<String> {
    subscribe_with(server, pat, sink, path, r#""eventFilters":["ACCOUNT_USER_*"]"#)
}

/// Adds a webhook with these members besides name and URL.
fn subscribe_with(server: &Server, pat: &str, sink: &Sink, path: &str, members: &str) -> Result<String> {
    let body = format!(r#"{{"name":"{path}","url":"http://{}/{path}",{members}}}"#, sink.address);
    let request = request("POST", "/api/settings/webhooks", pat, &body);
    let request = String::from_utf8_lossy(&request).replace("application/scim+json", "application/json");
    member(&expect(server, request.as_bytes(), 200)?, "id")
}

pub(crate) fn count(url: &str, query: &str) -> Result<u64> {
    let psql = system::postgres_bin()?.join("psql");
    let text = sh::output(Command::new(psql).args(["-qtA", "-c", query]).arg(url))?;
    text.trim().parse().map_err(|error| format!("{text}: {error}"))
}
