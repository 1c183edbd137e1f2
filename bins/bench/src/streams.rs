//! `cargo xtask bench streams`: throughput of log streams from a full audit log, and what a stream costs the changes that it
//! sends.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use xtask::{
    cluster::{Cluster, Durability},
    server::{Server, member, serve},
    sh::Result,
    system,
};

use crate::{
    audit::{accepting, entries_on_postgres, entries_on_sqlite, prepared, sqlite},
    build, cpu,
    figures::{Area, Target},
    folder::Folder,
    load,
    site::{Site, administrator, get, request, sql},
    table::{Table, render},
};

const AREA: Area = Area("streams");
/// Entries of the audit log that is sent.
const ENTRIES: u32 = 300_000;
const ROUNDS: usize = 7;
const TIME: Duration = Duration::from_secs(3);
const CONNECTIONS: usize = 16;
const STREAMS: &str = "/api/settings/log-streams";

/// Runs the benchmark, or one part: `drain` or `creates`. With another program, such as an older build, measures its
/// creates in the same run.
pub(crate) fn run(part: Option<&str>, other: Option<&Path>) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let program = build::gatehouse()?;
    println!("load average before: {}", cpu::load_average());
    let folder = Folder::new("streams")?;
    if part.is_none_or(|part| part == "drain") {
        let cluster = Cluster::start(Durability::Steady)?;
        let (tenant, pat) = prepared(&program, &cluster.url())?;
        sql(&cluster, &entries_on_postgres(&tenant, ENTRIES))?;
        sql(&cluster, "VACUUM ANALYZE")?;
        drain(&program, &cluster.url(), &folder, &pat, Some(&cluster))?;
        let file = folder.join("streamed.db");
        let url = format!("sqlite:{}", file.display());
        let (tenant, pat) = prepared(&program, &url)?;
        sqlite(&file, &entries_on_sqlite(&tenant, ENTRIES))?;
        drain(&program, &url, &folder, &pat, None)?;
    }
    if part.is_none_or(|part| part == "creates") {
        creates(&program, other, &folder)?;
    }
    println!("load average after: {}", cpu::load_average());
    Ok(())
}

/// A receiver that discards what it reads and accepts it. It ends with the process.
struct Receiver {
    address: SocketAddr,
    bytes: Arc<AtomicU64>,
}

impl Receiver {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let bytes = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&bytes);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || accept_all(&stream, &seen));
            }
        });
        Ok(Self { address, bytes })
    }
}

/// Answers requests until the connection ends.
fn accept_all(stream: &TcpStream, bytes: &AtomicU64) -> Option<()> {
    let mut reader = BufReader::with_capacity(256 * 1024, stream);
    let _quick = stream.set_nodelay(true);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                if line.trim_end().is_empty() {
                    break;
                }
                continue;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).ok()?;
        bytes.fetch_add(length, Ordering::Relaxed);
        let mut out = stream;
        out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    }
}

/// Sends a request about log streams as an administrator.
fn ask(server: &Server, pat: &str, method: &str, path: &str, body: &str) -> Result<String> {
    let sent = if body.is_empty() { get(path, pat) } else { request(method, path, pat, body) };
    let sent = String::from_utf8_lossy(&sent).replace("application/scim+json", "application/json");
    let (status, answer) = load::once(server.address, sent.as_bytes())?;
    if status == 200 || status == 201 {
        Ok(answer)
    } else {
        Err(format!("{method} {path} answers {status}: {answer}"))
    }
}

/// Adds a receiver of signals with a stream that it polls, so that every create queues an event.
fn signals(server: &Server, pat: &str) -> Result<()> {
    let receiver = r#"{"name":"bench","audience":"https://bench.example/"}"#;
    let made = ask(server, pat, "POST", "/api/settings/signals/receivers", receiver)?;
    ask(server, &member(&made, "token")?, "POST", "/api/ssf/stream", "{}").map(drop)
}

/// Adds a stream with these members besides its name, and returns its path.
fn stream(server: &Server, pat: &str, members: &str) -> Result<String> {
    let made = ask(server, pat, "POST", STREAMS, &format!(r#"{{"name":"bench",{members}}}"#))?;
    Ok(format!("{STREAMS}/{}", member(&made, "id")?))
}

fn number(answer: &str, name: &str) -> Result<u64> {
    let digits = answer.split(&format!("\"{name}\":")).nth(1).unwrap_or_default();
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| format!("no {name}: {answer}"))
}

/// Measures entries per second of one stream of each type from a full audit log, and the CPU per entry.
fn drain(program: &Path, url: &str, folder: &Path, pat: &str, cluster: Option<&Cluster>) -> Result<()> {
    let mut command = serve(program, url, folder);
    command.env("GATEHOUSE_LOG_LEVEL", "warn").env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
    let server = Server::start(accepting(command.env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8")))?;
    let receiver = Receiver::start()?;
    let to = format!(r#""url":"http://{}""#, receiver.address);
    let waits = stream(&server, pat, &format!(r#""type":"HTTPS",{to},"eventFilters":["NONE"],"from":0"#))?;
    // Sealed first, by a stream that sends nothing.
    while number(&ask(&server, pat, "GET", &waits, "")?, "position")? < u64::from(ENTRIES) {
        std::thread::sleep(Duration::from_millis(200));
    }
    ask(&server, pat, "PATCH", &waits, r#"{"enabled":false}"#)?;
    let name = if cluster.is_some() { "PostgreSQL" } else { "SQLite" };
    for (kind, members) in [
        ("HTTPS", r#""type":"HTTPS""#),
        ("Splunk HEC", r#""type":"SPLUNK_HEC","secret":"token""#),
        ("OTLP", r#""type":"OTLP""#),
    ] {
        let database = || cluster.map_or(0.0, |cluster| cpu::seconds(cluster.pid()));
        let mut rounds = Vec::new();
        for _ in 0..3 {
            let before = (cpu::seconds(server.pid()), database(), receiver.bytes.load(Ordering::Relaxed));
            let start = Instant::now();
            let path = stream(&server, pat, &format!(r#"{members},{to},"from":0"#))?;
            while number(&ask(&server, pat, "GET", &path, "")?, "waiting")? > 0 {
                if start.elapsed() > Duration::from_mins(2) {
                    return Err(format!("{kind}: not all entries were sent"));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let took = start.elapsed().as_secs_f64();
            let (each, bytes) = (1e6 / f64::from(ENTRIES), receiver.bytes.load(Ordering::Relaxed) - before.2);
            let ours = (cpu::seconds(server.pid()) - before.0) * each;
            rounds.push((f64::from(ENTRIES) / took, ours, (database() - before.1) * each, bytes));
            ask(&server, pat, "PATCH", &path, r#"{"enabled":false}"#)?;
        }
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (rate, ours, theirs, bytes) = rounds.get(1).copied().unwrap_or_default();
        println!(
            "{name}, {kind}: {rate:.0} per s, {:.1} MB/s",
            rate * bytes as f64 / f64::from(ENTRIES) / 1e6
        );
        AREA.at_least(format!("entries sent by {kind}, {name}"), rate, "per s", 20_000.0);
        AREA.shown(format!("server CPU of an entry by {kind}, {name}"), ours, "µs");
        AREA.shown(format!("database CPU of an entry by {kind}, {name}"), theirs, "µs");
    }
    Ok(())
}

/// Compares creates while a log stream sends their entries, and each queues a signal, to creates without either.
fn creates(program: &Path, other: Option<&Path>, folder: &Path) -> Result<()> {
    let cluster = Cluster::start(Durability::Steady)?;
    let receiver = Receiver::start()?;
    let site = |name: &str, program: &Path| {
        sql(&cluster, &format!("CREATE DATABASE {name}"))?;
        let url = cluster.url().replace("/postgres", &format!("/{name}"));
        let mut command = serve(program, &url, folder);
        command.env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
        Ok::<_, String>((
            Site::start_with(program, &url, command.env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8"))?,
            url,
        ))
    };
    let ((without, _), (with, url)) = (site("plain", program)?, site("streamed", program)?);
    let older = other.map(|other| site("older", other)).transpose()?;
    let pat = administrator(program, &url, ("bench", "ada@bench.example", "four tall blue towers"))?;
    let members = format!(r#""type":"HTTPS","url":"http://{}""#, receiver.address);
    stream(&with.server, &pat, &members)?;
    signals(&with.server, &pat)?;
    let mut sites = vec![("1 create with a stream and signals", &with), ("2 create without", &without)];
    sites.extend(older.as_ref().map(|(site, _)| ("0 create by the other program", site)));
    let mut table = Table::new();
    for round in 1..=ROUNDS {
        eprintln!("creates, round {round} of {ROUNDS}");
        for (name, site) in &sites {
            let count = AtomicU64::new(0);
            let next = |_: u64| {
                let number = count.fetch_add(1, Ordering::Relaxed);
                site.create_named(&format!("r{round}-{number}"))
            };
            let run = || load::run(site.server.address, CONNECTIONS, TIME, 201, &next);
            table.entry((*name).to_owned()).or_default().measure(
                site.server.pid(),
                Some(cluster.pid()),
                run,
            )?;
        }
    }
    println!("\nCreates on PostgreSQL:\n\n{}", render(&table));
    let name = "create with a log stream and signals / create without";
    AREA.ratio(&table, name.to_owned(), ("1", "2"), Target::AtLeast(0.85));
    if other.is_some() {
        let name = "create without / create by the other program";
        AREA.ratio(&table, name.to_owned(), ("2", "0"), Target::AtLeast(0.95));
    }
    Ok(())
}
