//! `cargo xtask bench stepup`: cost of issuing and consuming step-up tokens, compared to one insert in a minimal
//! handler.

use std::{
    net::SocketAddr,
    path::Path,
    process::Command,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use data_encoding::BASE32_NOPAD;
use totp_lite::{Sha1, totp_custom};
use xtask::{
    cluster::{Cluster, Durability},
    server::{CHEAP, Server, gatehouse, member, person, serve},
    sh::{self, Result},
    system,
};

use crate::{
    build, cpu,
    figures::{Area, Target},
    folder::Folder,
    load,
    site::{request, sql},
    table::{Table, column_median, median, render},
};

const AREA: Area = Area("stepup");
/// The first round prepares statements on every connection and is not counted.
const ROUNDS: usize = 3;
/// Each user gets one token per round, because a code can be used once.
const PEOPLE: usize = 1000;
const CONNECTIONS: usize = 16;
const TIME: Duration = Duration::from_secs(3);
const PASSWORD: &str = "a password that is long enough";
const CHECKS: &str = "500000";

pub(crate) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let program = build::gatehouse()?;
    let (handlers, check_cost) = (build::example("store", "floor")?, build::example("stepup", "check_cost")?);
    let cluster = Cluster::start(Durability::Steady)?;
    let folder = Folder::new("stepup")?;
    println!("load average before: {}", cpu::load_average());
    let checks: Result<Vec<f64>> = (0..5)
        .map(|_| {
            let output = sh::output(Command::new(&check_cost).arg(CHECKS))?;
            output.trim().parse::<f64>().map_err(|error| error.to_string())
        })
        .collect();
    AREA.at_most("check a token", median(&checks?), "µs", 2.0);
    sql(&cluster, "CREATE TABLE floor (id TEXT PRIMARY KEY, body TEXT NOT NULL)")?;
    let sqlite = folder.join("bench.db");
    for (name, database) in
        [("PostgreSQL", cluster.url()), ("SQLite", format!("sqlite:{}", sqlite.display()))]
    {
        println!("\n## {name}\n");
        let (server, people) = prepare(&program, &database, &folder, PEOPLE)?;
        let pid = (name == "PostgreSQL").then(|| cluster.pid());
        let mut table = Table::new();
        let mut floor = None;
        if pid.is_some() {
            // Do what autovacuum does in the first minute of new tables.
            sql(&cluster, "ANALYZE")?;
            let mut command = Command::new(&handlers);
            floor = Some(Server::start(command.arg(cluster.url()).arg(&sqlite).arg("-"))?);
        }
        let mut unused = Table::new();
        for number in 0..ROUNDS {
            let table = if number == 0 { &mut unused } else { &mut table };
            if let Some(floor) = &floor {
                let row = table.entry("01 actix, one insert".to_owned()).or_default();
                let insert = |_| request("POST", "/postgres", "", "{}");
                row.measure(floor.pid(), pid, || load::run(floor.address, CONNECTIONS, TIME, 201, &insert))?;
            }
            await_codes();
            round(&server, pid, &people, table)?;
            if number == 0 && pid.is_some() {
                // Otherwise plans made while the table was empty would stay.
                sql(&cluster, "ANALYZE")?;
            }
        }
        println!("{}", render(&table));
        if floor.is_some() {
            let rate = |name| column_median(&table, name, |row| &row.rates);
            let pair = 1.0 / (1.0 / rate("03") + 1.0 / rate("04"));
            AREA.at_least("issue and consume / two inserts", pair / (rate("01") / 2.0), "", 0.4);
            AREA.ratio(&table, "consume / one insert", ("04", "01"), Target::None);
        }
    }
    println!("load average after: {}", cpu::load_average());
    Ok(())
}

/// A user with a session and an authenticator app.
pub(crate) struct Somebody {
    /// A client address of its own, behind a trusted proxy.
    from: usize,
    pub(crate) cookies: String,
    secret: Vec<u8>,
}

/// Returns the current TOTP time step.
fn step() -> u64 {
    now() / 30
}

#[expect(clippy::disallowed_methods, reason = "an authenticator app uses its own clock")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Returns the TOTP code of this time step.
fn code(secret: &[u8], step: u64) -> String {
    totp_custom::<Sha1>(30, 6, secret, step * 30)
}

impl Somebody {
    fn post(&self, path: &str, more: &str, body: &str) -> Vec<u8> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n\
             X-Forwarded-For: 10.9.{}.{}\r\nCookie: {}\r\n{more}Content-Length: {}\r\n\r\n",
            self.from / 256,
            self.from % 256,
            self.cookies,
            body.len()
        );
        format!("{head}{body}").into_bytes()
    }
}

fn good(answer: &load::Answer) -> Result<String> {
    if answer.status == 200 { Ok(answer.text()) } else { Err(format!("{} {}", answer.status, answer.text())) }
}

/// Starts a server and prepares this many users with a session and an authenticator app.
pub(crate) fn prepare(
    program: &Path,
    database: &str,
    folder: &Path,
    count: usize,
) -> Result<(Server, Vec<Somebody>)> {
    gatehouse(program, database, &["migrate"])?;
    gatehouse(program, database, &["tenant", "create", "--slug", "bench", "--name", "Bench"])?;
    for number in 0..count {
        person(program, database, CHEAP, "bench", &format!("person-{number}@example.com"), PASSWORD)?;
    }
    let mut command = serve(program, database, folder);
    let server = Server::start(
        command.env("GATEHOUSE_TRUSTED_PROXIES", "127.0.0.1/32").env("GATEHOUSE_PASSWORD_COST", CHEAP),
    )?;
    let mut people = Vec::new();
    for from in 0..count {
        let mut somebody = Somebody { from, cookies: String::new(), secret: Vec::new() };
        let ask = |somebody: &Somebody, path: &str, body: &str| {
            load::exchange(server.address, &somebody.post(path, "", body))
        };
        let body = format!(r#"{{"email":"person-{from}@example.com","password":"{PASSWORD}"}}"#);
        let answer = ask(&somebody, "/api/auth/sign-in", &body)?;
        good(&answer)?;
        somebody.cookies = answer.cookies;
        let setup = good(&ask(&somebody, "/api/me/factors/totp", "{}")?)?;
        let secret = BASE32_NOPAD.decode(member(&setup, "secret")?.as_bytes());
        somebody.secret = secret.map_err(|error| error.to_string())?;
        // Use the code of the previous time step, so that the current one remains.
        let body = format!(
            r#"{{"id":"{}","code":"{}"}}"#,
            member(&setup, "id")?,
            code(&somebody.secret, step() - 1)
        );
        let answer = ask(&somebody, "/api/me/factors/totp/verify", &body)?;
        good(&answer)?;
        // Proving a factor has changed the session ID.
        somebody.cookies = answer.cookies;
        people.push(somebody);
    }
    Ok((server, people))
}

/// Waits for unused codes, early in their time step.
pub(crate) fn await_codes() {
    let before = step();
    while step() == before {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Lets all users request a challenge, answer it with an unused code, and consume the token.
pub(crate) fn round(
    server: &Server,
    database: Option<u32>,
    people: &[Somebody],
    table: &mut Table,
) -> Result<()> {
    let mut send = |name: &str, requests: Vec<Vec<u8>>| -> Result<Vec<String>> {
        let address: SocketAddr = server.address;
        let mut texts = Vec::new();
        let row = table.entry(name.to_owned()).or_default();
        row.measure(server.pid(), database, || {
            let (run, answers) = load::each(address, CONNECTIONS, &requests)?;
            texts = answers.iter().map(good).collect::<Result<_>>()?;
            Ok(run)
        })?;
        Ok(texts)
    };
    let purpose = r#"{"purpose":"PAYROLL_SEAL"}"#;
    let ask = |somebody: &Somebody| somebody.post("/api/auth/step-up/challenge-options", "", purpose);
    let asked = send("02 challenge-options", people.iter().map(ask).collect())?;
    let answers: Result<Vec<_>> = people
        .iter()
        .zip(&asked)
        .map(|(somebody, asked)| {
            let body = format!(
                r#"{{"challengeId":"{}","factor":"TOTP","code":"{}"}}"#,
                member(asked, "challengeId")?,
                code(&somebody.secret, step())
            );
            Ok(somebody.post("/api/auth/step-up/verify", "", &body))
        })
        .collect();
    let proofs = send("03 verify: a proof is given", answers?)?;
    let uses: Result<Vec<_>> = people
        .iter()
        .zip(&proofs)
        .map(|(somebody, proof)| {
            let header = format!("X-StepUp-Token: {}\r\n", member(proof, "token")?);
            Ok(somebody.post("/api/auth/step-up/consume", &header, purpose))
        })
        .collect();
    send("04 consume: it is used", uses?)?;
    Ok(())
}
