//! `cargo xtask bench auth`: cost of sessions and sign-ins, timing differences of refusals, and a burst of sign-ins.

use std::{net::SocketAddr, path::Path, process::Command, time::Duration};

use xtask::{
    cluster::{Cluster, Durability},
    server::{Server, USUAL, member, person, serve},
    sh::{self, Result},
    system,
};

use crate::{
    build, cpu,
    figures::{Area, Target},
    folder::Folder,
    load::{self, Run},
    site::{Site, get, request, sql},
    table::{Table, column_median, median, render},
};

const AREA: Area = Area("auth");
const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_secs(3);
/// Users who sign in at the same moment.
const BURST: usize = 200;
/// The users after them, up to this number, are disabled.
const DISABLED: usize = 268;
/// Total number of users; the remaining ones have one session each.
const PEOPLE: usize = 300;
/// Sign-ins of each kind whose times are compared.
const SAMPLES: usize = 500;
/// Background requests per second.
const OTHERS: f64 = 400.0;
pub(crate) const PASSWORD: &str = "a password that is long enough";
/// Hashes to compute for measuring the cost of one.
const HASHES: usize = 100;

pub(crate) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let program = build::gatehouse()?;
    let (handlers, hash_cost) = (build::example("store", "floor")?, build::example("credentials", "cost")?);
    let cluster = Cluster::start(Durability::Steady)?;
    let folder = Folder::new("auth")?;
    let sqlite = folder.join("bench.db");
    println!("load average before: {}", cpu::load_average());
    let databases = [("PostgreSQL", cluster.url()), ("SQLite", format!("sqlite:{}", sqlite.display()))];
    for (name, database) in databases {
        let site = AuthSite::start(&program, &database, &folder)?;
        // Do what autovacuum does in the first minute of new tables.
        let housekeeping = || if name == "PostgreSQL" { sql(&cluster, "ANALYZE") } else { Ok(()) };
        housekeeping()?;
        let mut floor = Command::new(&handlers);
        floor.arg(cluster.url()).arg(&sqlite).arg(&site.tenant);
        let floor =
            (name == "PostgreSQL" || sqlite.exists()).then(|| Server::start(&mut floor)).transpose()?;
        let pid = (name == "PostgreSQL").then(|| cluster.pid());
        println!("\n## {name}\n");
        site.times(name)?;
        site.burst(name)?;
        housekeeping()?;
        site.costs(name, pid, floor.as_ref(), &hash_cost)?;
    }
    println!("load average after: {}", cpu::load_average());
    Ok(())
}

/// A server with users.
struct AuthSite {
    server: Server,
    tenant: String,
    token: String,
    users: Vec<String>,
}

/// Builds a sign-in request from a client address of its own, behind a trusted proxy.
pub(crate) fn sign_in(email: &str, password: &str, from: usize) -> Vec<u8> {
    let body = format!(r#"{{"email":"{email}","password":"{password}"}}"#);
    let head = format!(
        "POST /api/auth/sign-in HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n\
         X-Forwarded-For: 10.{}.{}.{}\r\nContent-Length: {}\r\n\r\n",
        from / 65536 % 256,
        from / 256 % 256,
        from % 256,
        body.len()
    );
    format!("{head}{body}").into_bytes()
}

pub(crate) fn email(number: usize) -> String {
    format!("person-{number}@example.com")
}

impl AuthSite {
    fn start(program: &Path, database: &str, folder: &Path) -> Result<Self> {
        // The site's users, and its floor, are requested by ID.
        let Site { server, tenant, users, token, .. } = Site::start(program, database, folder)?;
        for number in 0..PEOPLE {
            person(program, database, USUAL, "bench", &email(number), PASSWORD)?;
        }
        for number in BURST..DISABLED {
            let filter = format!("/api/scim/v2/Users?filter=userName%20eq%20%22{}%22", email(number));
            let (_, found) = load::once(server.address, &get(&filter, &token))?;
            let path = format!("/api/scim/v2/Users/{}", member(&found, "id")?);
            let body = r#"{"Operations":[{"op":"replace","path":"active","value":false}]}"#;
            let (status, answer) = load::once(server.address, &request("PATCH", &path, &token, body))?;
            if status != 200 {
                return Err(answer);
            }
        }
        drop(server);
        let mut command = serve(program, database, folder);
        let server = Server::start(command.env("GATEHOUSE_TRUSTED_PROXIES", "127.0.0.1/32"))?;
        Ok(Self { server, tenant, token, users })
    }

    fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Measures whether the time of a refusal reveals which users exist.
    fn times(&self, name: &str) -> Result<()> {
        let kinds = ["known", "unknown", "disabled"];
        let mut seen = [const { Vec::new() }; 3];
        for sample in 0..SAMPLES {
            for (kind, seen) in seen.iter_mut().enumerate() {
                let whose = match kind {
                    0 => email(sample % BURST),
                    1 => format!("nobody-{sample}@example.com"),
                    _ => email(BURST + sample % (DISABLED - BURST)),
                };
                let answer = load::exchange(
                    self.address(),
                    &sign_in(&whose, "not it at all", 100_000 + sample * 3 + kind),
                )?;
                if answer.status != 401 {
                    return Err(format!("{whose}: {} {}", answer.status, answer.text()));
                }
                seen.push(answer.took.as_secs_f64() * 1e3);
            }
        }
        let medians = seen.map(|seen| median(&seen));
        for (kind, ms) in kinds.iter().zip(medians) {
            println!("refused, {kind} address: median of {SAMPLES} {ms:.2} ms");
        }
        let (least, most) =
            medians.iter().fold((f64::MAX, 0_f64), |(least, most), ms| (least.min(*ms), most.max(*ms)));
        let difference = (most / least - 1.0) * 100.0;
        let what = format!("difference between refusals of known, unknown and disabled users, {name}");
        AREA.at_most(what, difference, "%", 5.0);
        Ok(())
    }

    /// Lets many users sign in at once during normal traffic.
    fn burst(&self, name: &str) -> Result<()> {
        let first = load::exchange(self.address(), &sign_in(&email(0), PASSWORD, 1))?;
        let others = |_| with_cookies("/api/me", &first.cookies);
        let mut ratios = Vec::new();
        for round in 0..3 {
            let idle = load::paced(self.address(), 16, OTHERS, TIME, &others)?;
            let crowd: Vec<_> = (0..BURST)
                .map(|number| sign_in(&email(number), PASSWORD, 1000 + round * BURST + number))
                .collect();
            let (answers, busy) = std::thread::scope(|scope| {
                let crowd = scope.spawn(|| load::at_once(self.address(), &crowd));
                // Background requests continue exactly as long as the burst.
                let busy = load::paced_while(self.address(), 16, OTHERS, &|| !crowd.is_finished(), &others);
                (crowd.join().unwrap_or_else(|_| Err("a thread panicked".into())), busy)
            });
            let (answers, busy) = (answers?, busy?);
            let refused = answers.iter().filter(|answer| answer.status != 200).count();
            let slowest = answers.iter().map(|answer| answer.took).max().unwrap_or_default();
            let (idle, busy) = (idle.admitted.percentile(0.99), busy.admitted.percentile(0.99));
            println!(
                "{BURST} at once: {refused} refused, the last after {:.1} s; p99 of others {busy:.2} ms, idle {idle:.2} ms",
                slowest.as_secs_f64()
            );
            if refused > 0 {
                return Err(format!("{refused} of {BURST} were refused"));
            }
            ratios.push(busy / idle);
        }
        let what = format!("p99 of other requests during {BURST} sign-ins / idle, {name}");
        AREA.at_most(what, median(&ratios), "", 5.0);
        Ok(())
    }

    /// Measures the cost of a list of sessions and of a sign-in.
    fn costs(
        &self,
        name: &str,
        database: Option<u32>,
        floor: Option<&Server>,
        hash_cost: &Path,
    ) -> Result<()> {
        let cookies: Result<Vec<_>> = (DISABLED..PEOPLE)
            .map(|number| {
                Ok(load::exchange(self.address(), &sign_in(&email(number), PASSWORD, number))?.cookies)
            })
            .collect();
        let cookies = cookies?;
        let of = |number: u64| {
            let at = usize::try_from(number).unwrap_or(0) % cookies.len();
            cookies.get(at).map(String::as_str).unwrap_or_default()
        };
        let path = if name == "SQLite" { "sqlite" } else { "postgres" };
        let mut table = Table::new();
        let mut hash = Vec::new();
        for round in 0..ROUNDS {
            if let Some(floor) = floor {
                let row = table.entry("01 actix, one select".to_owned()).or_default();
                let select = |number: u64| {
                    let at = usize::try_from(number).unwrap_or(0) % self.users.len();
                    get(&format!("/{path}/{}", self.users.get(at).map_or("", String::as_str)), "")
                };
                row.measure(floor.pid(), database, || load::run(floor.address, 16, TIME, 200, &select))?;
            }
            let pid = self.server.pid();
            let sessions = |number| with_cookies("/api/me/sessions", of(number));
            table
                .entry("02 GET /api/me/sessions".to_owned())
                .or_default()
                .measure(pid, database, || load::run(self.address(), 16, TIME, 200, &sessions))?;
            let by_id = |number: u64| {
                let at = usize::try_from(number).unwrap_or(0) % self.users.len();
                let user = self.users.get(at).map_or("", String::as_str);
                get(&format!("/api/scim/v2/Users/{user}"), &self.token)
            };
            table
                .entry("04 SCIM get by id".to_owned())
                .or_default()
                .measure(pid, database, || load::run(self.address(), 16, TIME, 200, &by_id))?;
            let own = cpu::seconds(std::process::id());
            sh::run(Command::new(hash_cost).arg(HASHES.to_string()))?;
            hash.push((cpu::seconds(std::process::id()) - own) * 1e6 / HASHES as f64);
            let everybody = |_: u64| -> Result<Run> {
                let mut latencies = Vec::new();
                for number in 0..BURST {
                    let from = 200_000 + round * BURST + number;
                    let answer = load::exchange(self.address(), &sign_in(&email(number), PASSWORD, from))?;
                    if answer.status != 200 {
                        return Err(answer.text());
                    }
                    latencies.push(answer.took.as_secs_f32());
                }
                Ok(Run::of_latencies(latencies))
            };
            let row = table.entry("03 sign-in, one after the other".to_owned()).or_default();
            row.measure(pid, database, || everybody(0))?;
        }
        println!("{}", render(&table));
        let cpu = |row| column_median(&table, row, |row| &row.server_micros);
        let on = |what: &str| format!("{what}, {name}");
        AREA.shown(on("argon2id, CPU"), median(&hash) / 1e3, "ms");
        if database.is_some() {
            let database = column_median(&table, "03", |row| &row.database_micros);
            AREA.shown(on("sign-in, CPU of the database"), database / 1e3, "ms");
        }
        AREA.at_most(
            on("sign-in without argon2id, server CPU"),
            (cpu("03") - median(&hash)) / 1e3,
            "ms",
            2.0,
        );
        let least = if name == "SQLite" { 0.5 } else { 0.45 };
        let sessions = on("GET /api/me/sessions / handler with one select");
        AREA.ratio(&table, sessions, ("02", "01"), Target::AtLeast(least));
        AREA.ratio(&table, on("get by ID / handler with one select"), ("04", "01"), Target::None);
        AREA.at_most(on("GET /api/me/sessions, server CPU"), cpu("02"), "µs", 70.0);
        let p99 = column_median(&table, "02", |row| &row.p99);
        AREA.at_most(on("GET /api/me/sessions, p99"), p99, "ms", 10.0);
        Ok(())
    }
}

pub(crate) fn with_cookies(path: &str, cookies: &str) -> Vec<u8> {
    let mut bytes = request("GET", path, "", "");
    bytes.truncate(bytes.len() - 2);
    bytes.extend_from_slice(format!("Cookie: {cookies}\r\n\r\n").as_bytes());
    bytes
}
