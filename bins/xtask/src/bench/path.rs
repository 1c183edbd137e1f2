//! `cargo xtask bench path`: one request, once through, beside its floors.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    cpu, load,
    server::{Server, gatehouse},
};
use crate::{
    cluster::{Cluster, Durability},
    sh::{self, Result, cargo},
    system,
};

const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_secs(3);
const USERS: usize = 1000;

/// One thing that is measured: a row of the table.
#[derive(Default)]
struct Row {
    rates: Vec<f64>,
    server_micros: Vec<f64>,
    database_micros: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    p999: Vec<f64>,
    max: Vec<f64>,
}

impl Row {
    fn latencies(&mut self, run: &load::Run) {
        self.p50.push(run.percentile(0.5));
        self.p99.push(run.percentile(0.99));
        self.p999.push(run.percentile(0.999));
        self.max.push(run.percentile(1.0));
    }
}

type Table = BTreeMap<&'static str, Row>;

pub(crate) fn run(rows: &[&str]) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    sh::run(cargo().args(["build", "--locked", "--release", "--package", "gatehouse"]))?;
    sh::run(cargo().args(["build", "--locked", "--release", "--package", "store", "--example", "floor"]))?;
    let release = sh::root().join("target/release");
    let program = release.join("gatehouse");

    let cluster = Cluster::start(Durability::Full)?;
    let folder = std::env::temp_dir().join(format!("gatehouse-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let sqlite = format!("sqlite:{}", folder.join("bench.db").display());
    let postgres = cluster.url();
    let on_postgres = Site::start(&program, &postgres, &folder)?;
    let on_sqlite = Site::start(&program, &sqlite, &folder)?;
    sql(&cluster, "CREATE TABLE floor (id TEXT PRIMARY KEY, body TEXT NOT NULL)")?;
    let bin = system::postgres_bin()?;
    let pgbench = Pgbench { program: bin.join("pgbench"), url: cluster.url(), folder: folder.clone() };
    pgbench.prepare()?;
    // What PostgreSQL's housekeeping does in the first minute of a new table: without it, plans made when the
    // table was empty stay, and some of them read all rows of the tenant.
    sql(&cluster, "ANALYZE")?;
    let mut floor = Command::new(release.join("examples/floor"));
    floor.arg(&postgres).arg(folder.join("bench.db")).arg(&on_postgres.tenant);
    let floor_postgres = Server::start(&mut floor)?;
    let mut floor = Command::new(release.join("examples/floor"));
    floor.arg(&postgres).arg(folder.join("bench.db")).arg(&on_sqlite.tenant);
    let floor_sqlite = Server::start(&mut floor)?;

    println!("fsyncs of 4 KiB a second: {:.0}", fsyncs(&folder)?);
    println!("load average before: {}", cpu::load_average());
    println!(
        "idle memory: {:.0} MB on PostgreSQL, {:.0} MB on SQLite; ready after {:.2} s and {:.2} s on a new, {:.2} s on an existing database",
        on_postgres.idle_bytes as f64 / 1e6,
        on_sqlite.idle_bytes as f64 / 1e6,
        on_postgres.server.started_in.as_secs_f64(),
        on_sqlite.server.started_in.as_secs_f64(),
        Site::restart_time(&program, &sqlite, &folder)?.as_secs_f64(),
    );

    let mut table = Table::new();
    let probe = |name: &'static str,
                 table: &mut Table,
                 server: &Server,
                 database: Option<u32>,
                 connections,
                 expected,
                 request: &load::Request<'_>| {
        if !wanted(rows, name) {
            return Ok(());
        }
        let before = (cpu::seconds(server.pid()), database.map(cpu::seconds));
        let run = load::run(server.address, connections, TIME, expected, request)?;
        if run.unexpected > 0 {
            return Err(format!("{name}: {} of {} answers were not {expected}", run.unexpected, run.answers));
        }
        let each = |seconds: f64| seconds * 1e6 / run.answers as f64;
        let row = table.entry(name).or_default();
        row.rates.push(run.rate);
        row.server_micros.push(each(cpu::seconds(server.pid()) - before.0));
        row.database_micros
            .push(database.zip(before.1).map_or(0.0, |(pid, before)| each(cpu::seconds(pid) - before)));
        row.latencies(&run);
        Ok(())
    };
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        let database = Some(cluster.pid());
        probe("01 actix, nothing", &mut table, &floor_postgres, None, 16, 200, &|_| get("/empty", ""))?;
        probe("02 actix, one select (PostgreSQL)", &mut table, &floor_postgres, database, 16, 200, &|n| {
            get(&format!("/postgres/{}", on_postgres.user(n)), "")
        })?;
        probe("03 get by id (PostgreSQL)", &mut table, &on_postgres.server, database, 16, 200, &|n| {
            on_postgres.get(n)
        })?;
        pgbench.run(rows, "04 pgbench -S", &mut table, cluster.pid(), None)?;
        probe("05 actix, one insert (PostgreSQL)", &mut table, &floor_postgres, database, 16, 201, &|_| {
            request("POST", "/postgres", "", "")
        })?;
        pgbench.run(rows, "06 pgbench, one insert", &mut table, cluster.pid(), Some("insert.sql"))?;
        pgbench.run(
            rows,
            "07 pgbench, the create's statements",
            &mut table,
            cluster.pid(),
            Some("create.sql"),
        )?;
        probe("08 create (PostgreSQL)", &mut table, &on_postgres.server, database, 16, 201, &|n| {
            on_postgres.create(n)
        })?;
        probe("09 actix, one select (SQLite)", &mut table, &floor_sqlite, None, 16, 200, &|n| {
            get(&format!("/sqlite/{}", on_sqlite.user(n)), "")
        })?;
        probe("10 get by id (SQLite)", &mut table, &on_sqlite.server, None, 16, 200, &|n| on_sqlite.get(n))?;
        probe("11 create (SQLite)", &mut table, &on_sqlite.server, None, 32, 201, &|n| on_sqlite.create(n))?;
    }
    println!("load average after: {}", cpu::load_average());
    println!("fsyncs of 4 KiB a second: {:.0}", fsyncs(&folder)?);
    println!("{}", render(&table));
    println!("{}", bars(&table));
    let _removed = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// Whether the row of this name is asked for; without a list all are.
fn wanted(rows: &[&str], name: &str) -> bool {
    rows.is_empty() || rows.iter().any(|row| name.starts_with(row))
}

/// A server of ours with a tenant, a token and users.
struct Site {
    server: Server,
    tenant: String,
    token: String,
    users: Vec<String>,
    idle_bytes: u64,
}

impl Site {
    fn start(program: &Path, database: &str, folder: &Path) -> Result<Self> {
        gatehouse(program, database, &["migrate"])?;
        let made = gatehouse(program, database, &["tenant", "create", "--slug", "bench", "--name", "Bench"])?;
        let tenant = member(&made, "id")?;
        let minted =
            gatehouse(program, database, &["token", "scim", "--tenant", "bench", "--name", "bench"])?;
        let token = member(&minted, "token")?;
        let server = Server::start(&mut serve(program, database, folder))?;
        let idle_bytes = cpu::resident_bytes(server.pid());
        let mut site = Self { server, tenant, token, users: Vec::new(), idle_bytes };
        for number in 0..USERS {
            let (status, body) =
                load::once(site.server.address, &site.create_named(&format!("user-{number}")))?;
            if status != 201 {
                return Err(format!("creating a user answers {status}: {body}"));
            }
            site.users.push(member(&body, "id")?);
        }
        Ok(site)
    }

    /// How long a start on the existing database takes.
    fn restart_time(program: &Path, database: &str, folder: &Path) -> Result<Duration> {
        Ok(Server::start(&mut serve(program, database, folder))?.started_in)
    }

    fn user(&self, number: u64) -> &str {
        // Spread over all users, in no order.
        let at = usize::try_from(number.wrapping_mul(2_654_435_761) % USERS as u64).unwrap_or(0);
        self.users.get(at).map_or("", String::as_str)
    }

    fn get(&self, number: u64) -> Vec<u8> {
        get(&format!("/api/scim/v2/Users/{}", self.user(number)), &self.token)
    }

    fn create(&self, number: u64) -> Vec<u8> {
        self.create_named(&format!("bench-{}-{number}", std::process::id()))
    }

    fn create_named(&self, name: &str) -> Vec<u8> {
        let body = format!(
            r#"{{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"{name}@example.com","externalId":"{name}","name":{{"givenName":"Ada","familyName":"Lovelace"}},"emails":[{{"value":"{name}@example.com","type":"work","primary": true}},{{"value":"{name}@home.example","type":"home"}}],"active":true}}"#
        );
        request("POST", "/api/scim/v2/Users", &self.token, &body)
    }
}

fn serve(program: &Path, database: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg("serve")
        .env("GATEHOUSE_DATABASE_URL", database)
        .env("GATEHOUSE_DATA_DIR", folder)
        .env("GATEHOUSE_BIND", "127.0.0.1:0")
        .env("GATEHOUSE_WORKERS", "2")
        .env("GATEHOUSE_AUTH_SECRET", "q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi")
        .env("GATEHOUSE_MASTER_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        .stderr(Stdio::null());
    command
}

fn get(path: &str, token: &str) -> Vec<u8> {
    request("GET", path, token, "")
}

fn request(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: bench\r\n");
    if !token.is_empty() {
        let _infallible = write!(head, "Authorization: Bearer {token}\r\nAccept: application/scim+json\r\n");
    }
    if method == "POST" {
        let _infallible =
            write!(head, "Content-Type: application/scim+json\r\nContent-Length: {}\r\n", body.len());
    }
    format!("{head}\r\n{body}").into_bytes()
}

/// The text of a member of a flat JSON object.
fn member(json: &str, name: &str) -> Result<String> {
    let start = format!("\"{name}\":\"");
    let rest = json.split_once(&start).map(|(_, rest)| rest).ok_or(format!("no {name} in {json}"))?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

fn sql(cluster: &Cluster, statement: &str) -> Result<()> {
    let psql = system::postgres_bin()?.join("psql");
    sh::run(Command::new(psql).args(["-q", "-v", "ON_ERROR_STOP=1", "-c", statement]).arg(cluster.url()))
}

/// PostgreSQL's own load generator.
struct Pgbench {
    program: std::path::PathBuf,
    url: String,
    folder: std::path::PathBuf,
}

impl Pgbench {
    fn prepare(&self) -> Result<()> {
        sh::run(
            Command::new(&self.program).args(["-i", "-q", "-s", "10"]).arg(&self.url).stderr(Stdio::null()),
        )?;
        let scripts = [
            (
                "insert.sql",
                "\\set n random(1, 9000000000000000000)\nINSERT INTO floor (id, body) VALUES ('p' || :n, 'a row of a floor');\n",
            ),
            ("create.sql", CREATE),
        ];
        for (name, text) in scripts {
            std::fs::write(self.folder.join(name), text).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn run(
        &self,
        rows: &[&str],
        name: &'static str,
        table: &mut Table,
        database: u32,
        script: Option<&str>,
    ) -> Result<()> {
        if !wanted(rows, name) {
            return Ok(());
        }
        let mut command = Command::new(&self.program);
        command.args(["-n", "-M", "prepared", "-c", "16", "-j", "2", "-T", &TIME.as_secs().to_string()]);
        match script {
            Some(script) => command.arg("-f").arg(self.folder.join(script)),
            None => command.arg("-S"),
        };
        // One transaction in four is logged with its latency: enough for percentiles, and hardly a cost.
        let log = self.folder.join("pgbench");
        command.args(["--log", "--sampling-rate=0.25"]).arg(format!("--log-prefix={}", log.display()));
        let before = cpu::seconds(database);
        let said = sh::output(command.arg(&self.url))?;
        let after = cpu::seconds(database);
        let tps = said.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate =
            tps.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse::<f64>().ok());
        let rate = rate.ok_or_else(|| format!("pgbench said: {said}"))?;
        let row = table.entry(name).or_default();
        row.rates.push(rate);
        row.server_micros.push(0.0);
        row.database_micros.push((after - before) * 1e6 / (rate * TIME.as_secs_f64()));
        row.latencies(&load::Run::of_latencies(self.logged()?));
        Ok(())
    }

    /// The latencies in pgbench's logs, in seconds; the logs are removed.
    fn logged(&self) -> Result<Vec<f32>> {
        let mut latencies = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(|error| error.to_string())?.flatten() {
            if !entry.file_name().to_string_lossy().starts_with("pgbench.") {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).map_err(|error| error.to_string())?;
            let micros = text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<f32>().ok());
            latencies.extend(micros.map(|micros| micros / 1e6));
            std::fs::remove_file(entry.path()).map_err(|error| error.to_string())?;
        }
        Ok(latencies)
    }
}

/// The statements of an audited create, with values of the same sizes.
const CREATE: &str = r#"\set n random(1, 9000000000000000000)
BEGIN;
INSERT INTO users (tenant_id, id, role, created_at, user_name, user_name_key, external_id, active, sign_in_email_key, attributes, updated_at) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'usr_0000000' || :n, 'MEMBER', '20260101T000000.123', 'u' || :n || '@example.com', 'u' || :n || '@example.com', 'u' || :n, true, 'u' || :n || '@example.com', '{"name":{"familyName":"Lovelace","givenName":"Ada"},"emails":[{"value":"bench-12345-123456@example.com","type":"work","primary": true},{"value":"bench-12345-123456@home.example","type":"home"}]}', '20260101T000000.123') ON CONFLICT DO NOTHING;
INSERT INTO user_emails (tenant_id, user_id, position, value_key) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'usr_0000000' || :n, 0, 'u' || :n || '@example.com');
INSERT INTO user_emails (tenant_id, user_id, position, value_key) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'usr_0000000' || :n, 1, 'u' || :n || '@home.example');
INSERT INTO audit_entries (tenant_id, id, created_at, actor_type, actor_id, action, resource_type, resource_id, ip, metadata, salt, leaf) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'aud_0000000' || :n, '20260101T000000.123', 'SCIM', 'sct_06gzkadrxpvjjn28ctswmdg190', 'ACCOUNT_USER_CREATED', 'user', 'usr_0000000' || :n, '127.0.0.1', '{"active": true,"role":"MEMBER","fields":["userName","externalId","name","emails"]}', '\x000102030405060708090a0b0c0d0e0f', '\x000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f');
COMMIT;
"#;

/// How many small writes a second the disk makes durable, one after the other.
fn fsyncs(folder: &Path) -> Result<f64> {
    let failed = |error: std::io::Error| error.to_string();
    let mut file = std::fs::File::create(folder.join("fsync")).map_err(failed)?;
    let start = Instant::now();
    let mut count = 0.0;
    while start.elapsed() < Duration::from_secs(2) {
        file.write_all(&[0; 4096]).and_then(|()| file.sync_data()).map_err(failed)?;
        count += 1.0;
    }
    Ok(count / start.elapsed().as_secs_f64())
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn render(table: &Table) -> String {
    let mut text = String::from(
        "| | per s | server µs of CPU | database µs of CPU | p50 ms | p99 ms | p99.9 ms | max ms |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (name, row) in table {
        let max = row.max.iter().copied().fold(0.0, f64::max);
        let _infallible = writeln!(
            text,
            "| {} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {max:.1} |",
            name.get(3..).unwrap_or(name),
            median(&row.rates),
            median(&row.server_micros),
            median(&row.database_micros),
            median(&row.p50),
            median(&row.p99),
            median(&row.p999),
        );
    }
    text
}

/// The bars, each as the median of the ratios of the same round.
fn bars(table: &Table) -> String {
    let rates = |name: &str| table.iter().find(|(key, _)| key.starts_with(name)).map(|(_, row)| &row.rates);
    let ratio = |over: &str, under: &str| {
        let pairs = rates(over).into_iter().flatten().zip(rates(under).into_iter().flatten());
        median(&pairs.map(|(over, under)| over / under).collect::<Vec<_>>())
    };
    let of = |name: &str, get: fn(&Row) -> &Vec<f64>| {
        table.iter().find(|(key, _)| key.starts_with(name)).map_or(0.0, |(_, row)| median(get(row)))
    };
    let lines = [
        format!("get by id / one select (PostgreSQL): {:.2} (bar 0.45)", ratio("03", "02")),
        format!("get by id, our CPU: {:.0} µs (bar 70)", of("03", |row| &row.server_micros)),
        format!("get by id, p99: {:.1} ms (bar 10)", of("03", |row| &row.p99)),
        format!("create / pgbench of the same statements: {:.2} (bar 0.65)", ratio("08", "07")),
        format!("create, our CPU: {:.0} µs (bar 200)", of("08", |row| &row.server_micros)),
        format!(
            "create, p99: {:.1} ms (bar 10); pgbench of the same statements: {:.1} ms",
            of("08", |row| &row.p99),
            of("07", |row| &row.p99)
        ),
        format!(
            "create (SQLite): {:.0}/s (bar 3000 where the disk gives 250 fsyncs/s)",
            of("11", |row| &row.rates)
        ),
        format!("create (SQLite), p99: {:.1} ms (bar 25)", of("11", |row| &row.p99)),
        format!("get by id / one select (SQLite): {:.2} (bar 0.5)", ratio("10", "09")),
    ];
    lines.join("\n")
}
