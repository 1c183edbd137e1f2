//! `cargo xtask bench audit`: cost of writing, sealing, reading and exporting the audit log.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use xtask::{
    cluster::{Cluster, Durability},
    server::{MASTER_KEY, Server, gatehouse, member, serve},
    sh::{self, Result},
    system,
};

use crate::{
    audit_reads, build, cpu,
    figures::{Area, Target},
    folder::Folder,
    load,
    site::{Site, administrator, sql},
    table::{Table, render},
};

pub(crate) const AREA: Area = Area("audit");
const ROUNDS: usize = 7;
const TIME: Duration = Duration::from_secs(3);
const CONNECTIONS: usize = 16;
/// Entries of the large audit log.
const ON_POSTGRES: u32 = 5_000_000;
const ON_SQLITE: u32 = 1_000_000;

/// A server with a large audit log.
pub(crate) struct Large<'c> {
    pub(crate) server: Server,
    pub(crate) database: Option<&'c Cluster>,
    pub(crate) url: String,
    pub(crate) tenant: String,
    /// Personal access token of its administrator.
    pub(crate) pat: String,
    pub(crate) entries: u32,
}

impl Large<'_> {
    /// Names a value of this database.
    pub(crate) fn of(&self, value: &str) -> String {
        format!("{value}, {}", if self.database.is_some() { "PostgreSQL" } else { "SQLite" })
    }
}

/// Runs the benchmark, or one part: `creates`, or the reads of a large audit log on `postgresql` or `sqlite`.
pub(crate) fn run(part: Option<&str>) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let program = build::gatehouse()?;
    println!("load average before: {}", cpu::load_average());
    let folder = Folder::new("audit")?;
    let has_part = |name| part.is_none_or(|part| part == name);
    if has_part("creates") {
        creates(&program, &folder)?;
    }
    if has_part("postgresql") {
        on_postgres(&program, &folder)?;
    }
    if has_part("sqlite") {
        on_sqlite(&program, &folder)?;
    }
    println!("load average after: {}", cpu::load_average());
    Ok(())
}

/// Compares creates with audit entries to the same creates without, where a trigger discards the entries.
fn creates(program: &Path, folder: &Path) -> Result<()> {
    let cluster = Cluster::start(Durability::Steady)?;
    for name in ["entered", "bare"] {
        sql(&cluster, &format!("CREATE DATABASE {name}"))?;
    }
    let url = |name: &str| cluster.url().replace("/postgres", &format!("/{name}"));
    let with = Site::start(program, &url("entered"), folder)?;
    let without = Site::start(program, &url("bare"), folder)?;
    for table in ["audit_entries", "audit_unsealed"] {
        psql(&url("bare"), &format!("CREATE RULE nothing AS ON INSERT TO {table} DO INSTEAD NOTHING"))?;
    }
    beside("PostgreSQL", &with, &without, Some(cluster.pid()))?;
    drop((with, without));
    let file = |name: &str| folder.join(format!("{name}.db"));
    let url = |name: &str| format!("sqlite:{}", file(name).display());
    let with = Site::start(program, &url("entered"), folder)?;
    let without = Site::start(program, &url("bare"), folder)?;
    for table in ["audit_entries", "audit_unsealed"] {
        let ignore = format!(
            "CREATE TRIGGER nothing_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(IGNORE); END"
        );
        sqlite(&file("bare"), &ignore)?;
    }
    beside("SQLite", &with, &without, None)
}

fn beside(database: &str, with: &Site, without: &Site, pid: Option<u32>) -> Result<()> {
    let mut table = Table::new();
    for round in 1..=ROUNDS {
        eprintln!("{database}: creates, round {round} of {ROUNDS}");
        for (name, site) in [("1 create with its entry", with), ("2 create without", without)] {
            let number = std::sync::atomic::AtomicU64::new(0);
            let next = |_: u64| {
                let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                site.create_named(&format!("r{round}-{number}"))
            };
            let run = || load::run(site.server.address, CONNECTIONS, TIME, 201, &next);
            table.entry(name.to_owned()).or_default().measure(site.server.pid(), pid, run)?;
        }
    }
    println!("\nCreates on {database}:\n\n{}", render(&table));
    let name = format!("create with audit entry / create without, {database}");
    AREA.ratio(&table, name, ("1", "2"), Target::AtLeast(0.6));
    Ok(())
}

/// Creates a tenant with an administrator, and a token of the administrator.
pub(crate) fn prepared(program: &Path, url: &str) -> Result<(String, String)> {
    gatehouse(program, url, &["migrate"])?;
    let made = gatehouse(program, url, &["tenant", "create", "--slug", "large", "--name", "Large"])?;
    let pat = administrator(program, url, ("large", "ada@large.example", "four tall blue towers"))?;
    Ok((member(&made, "id")?, pat))
}

fn on_postgres(program: &Path, folder: &Path) -> Result<()> {
    let cluster = Cluster::start(Durability::Steady)?;
    let url = cluster.url();
    let (tenant, pat) = prepared(program, &url)?;
    eprintln!("PostgreSQL: {ON_POSTGRES} entries are made");
    sql(&cluster, &entries_on_postgres(&tenant, ON_POSTGRES))?;
    sql(&cluster, "VACUUM ANALYZE")?;
    let server = Server::start(accepting(&mut serve(program, &url, folder)))?;
    let large =
        Large { server, database: Some(&cluster), url: url.clone(), tenant, pat, entries: ON_POSTGRES };
    sealing(&large)?;
    sql(&cluster, "VACUUM ANALYZE")?;
    delay(program, &cluster, folder)?;
    // Otherwise the entries are still being written to disk while others are read.
    sql(&cluster, "CHECKPOINT")?;
    audit_reads::pages(&large)?;
    audit_reads::export(&large, folder)?;
    audit_reads::proofs(&large)?;
    let start = Instant::now();
    let mut verify = Command::new(program);
    verify.args(["audit", "verify", "--tenant", "large", "--json"]);
    verify.env("GATEHOUSE_DATABASE_URL", &url).env("GATEHOUSE_MASTER_KEY", MASTER_KEY);
    let verified = sh::output(&mut verify)?;
    println!("\n`gatehouse audit verify` of the whole: {:.1} s: {verified}", start.elapsed().as_secs_f64());
    Ok(())
}

/// Lets the server seal entries without a MAC, because this benchmark inserts entries by SQL.
pub(crate) fn accepting(serve: &mut Command) -> &mut Command {
    serve.env("GATEHOUSE_AUDIT_ACCEPT_MISSING_MACS_UNTIL", "2100-01-01T00:00:00.000Z")
}

fn on_sqlite(program: &Path, folder: &Path) -> Result<()> {
    let file = folder.join("large.db");
    let url = format!("sqlite:{}", file.display());
    let (tenant, pat) = prepared(program, &url)?;
    eprintln!("SQLite: {ON_SQLITE} entries are made");
    sqlite(&file, &entries_on_sqlite(&tenant, ON_SQLITE))?;
    let server = Server::start(accepting(&mut serve(program, &url, folder)))?;
    let large = Large { server, database: None, url, tenant, pat, entries: ON_SQLITE };
    sealing(&large)?;
    audit_reads::pages(&large)?;
    audit_reads::export(&large, folder)?;
    audit_reads::proofs(&large)
}

/// Measures the throughput of sealing a backlog.
fn sealing(large: &Large<'_>) -> Result<()> {
    let size = || {
        let path = "/api/settings/audit-log/checkpoint";
        let (status, body) = load::once(large.server.address, &crate::site::get(path, &large.pat))?;
        // Nothing is sealed yet.
        if status == 404 {
            return Ok(0);
        }
        let size =
            body.split("\"size\":").nth(1).and_then(|rest| rest.split(',').next()?.parse::<u32>().ok());
        size.ok_or_else(|| format!("the checkpoint answers {status}: {body}"))
    };
    let database = || large.database.map_or(0.0, |cluster| cpu::seconds(cluster.pid()));
    let first = size()?;
    let (start, before) = (Instant::now(), (cpu::seconds(large.server.pid()), database()));
    let mut sealed = first;
    while sealed < large.entries {
        std::thread::sleep(Duration::from_millis(200));
        sealed = size()?;
    }
    let (took, count) = (start.elapsed().as_secs_f64(), f64::from(sealed - first));
    let server = cpu::seconds(large.server.pid()) - before.0;
    let database = database() - before.1;
    println!(
        "\nSealing: {count:.0} entries in {took:.1} s, {:.0} per s; server CPU {:.1} µs, database CPU {:.1} µs each",
        count / took,
        server * 1e6 / count,
        database * 1e6 / count,
    );
    AREA.at_least(large.of("sealing on one core"), count / (server + database), "per s", 20_000.0);
    Ok(())
}

/// Measures how long entries wait for sealing while others are written.
fn delay(program: &Path, cluster: &Cluster, folder: &Path) -> Result<()> {
    sql(cluster, "CREATE DATABASE delay")?;
    let url = cluster.url().replace("/postgres", "/delay");
    let site = Site::start(program, &url, folder)?;
    let run = load::run(site.server.address, CONNECTIONS, Duration::from_secs(20), 201, &|number| {
        site.create_named(&format!("d-{number}-{}", std::process::id()))
    })?;
    let waits = "SELECT count(*) FROM audit_unsealed";
    while psql_one(&url, waits)? != "0" {
        std::thread::sleep(Duration::from_millis(100));
    }
    let waited = "SELECT string_agg(round(p::numeric, 2)::text, ' ') FROM unnest((SELECT \
        percentile_cont(array[0.5, 0.99, 1]) WITHIN GROUP (ORDER BY extract(epoch FROM checkpoint.created_at - entry.created_at)) \
        FROM audit_entries entry JOIN audit_sealed sealed ON sealed.tenant_id = entry.tenant_id AND sealed.entry_id = entry.id \
        JOIN LATERAL (SELECT created_at FROM audit_checkpoints c WHERE c.tenant_id = entry.tenant_id AND c.size > sealed.sequence \
        ORDER BY c.size LIMIT 1) checkpoint ON true)) AS p";
    let waits = psql_one(&url, waited)?;
    println!("\nWait until sealed at {:.0} creates per second, in s: p50, p99, maximum: {waits}", run.rate);
    let p99 = waits.split(' ').nth(1).and_then(|text| text.parse().ok());
    AREA.at_most("wait until sealed, p99", p99.ok_or(waits)?, "s", 3.0);
    Ok(())
}

/// Returns SQL that inserts entries of half a year, with correct hashes.
pub(crate) fn entries_on_postgres(tenant: &str, count: u32) -> String {
    let field = |value: &str| format!("int8send(octet_length({value})) || convert_to({value}, 'UTF8')");
    let fields = [
        "tenant_id",
        "id",
        "to_char(created_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
        "actor_type",
        "actor_id",
        "action",
        "resource_type",
        "resource_id",
        "''",
        "metadata",
    ];
    let leaf = fields.map(field).join(" || ");
    format!(
        "WITH made AS (SELECT '{tenant}' AS tenant_id, 'aud_05' || lpad(n::text, 24, '0') AS id, \
         date_trunc('milliseconds', timestamp '2026-01-01' + n * interval '15552 seconds' / {count} * 1000) AS created_at, \
         'USER' AS actor_type, 'usr_06gzkadrwwt5d9z93ens68' || lpad((n % 500)::text, 4, '0') AS actor_id, \
         (array['ACCOUNT_USER_UPDATED', 'ACCOUNT_SIGN_IN_SUCCEEDED', 'ACCOUNT_SESSION_STARTED', 'ACCOUNT_USER_CREATED', \
         'ACCOUNT_GROUP_UPDATED', 'ACCOUNT_STEPUP_ISSUED', 'ACCOUNT_PAT_CREATED'])[1 + n % 7] AS action, \
         'user' AS resource_type, 'usr_06gzkadrwwt5d9z93ens' || lpad((n * 7919 % 200000)::text, 6, '0') AS resource_id, \
         '{{\"changed\":[\"displayName\",\"title\",\"emails\"],\"number\":' || n || '}}' AS metadata \
         FROM generate_series(1, {count}::bigint) AS n) \
         INSERT INTO audit_entries (tenant_id, id, created_at, actor_type, actor_id, action, resource_type, resource_id, metadata, leaf) \
         SELECT tenant_id, id, created_at, actor_type, actor_id, action, resource_type, resource_id, metadata::json, \
         sha256('\\x00'::bytea || {leaf}) FROM made; \
         INSERT INTO audit_unsealed SELECT tenant_id, id FROM audit_entries WHERE id LIKE 'aud_05%'"
    )
}

/// Returns SQL that inserts entries without correct hashes, which the SQLite client cannot compute.
pub(crate) fn entries_on_sqlite(tenant: &str, count: u32) -> String {
    // Milliseconds between two entries. Computed in whole numbers: `%f` would round some seconds up to 60. Only the server's own
    // format is accepted, which has no fraction of whole seconds.
    let each = 15_552_000_000 / u64::from(count);
    format!(
        "BEGIN; WITH RECURSIVE made (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < {count}) \
         INSERT INTO audit_entries (tenant_id, id, created_at, actor_type, actor_id, action, resource_type, resource_id, metadata, leaf) \
         SELECT '{tenant}', 'aud_05' || printf('%024d', n), \
         strftime('%Y-%m-%d %H:%M:%S', '2026-01-01', (n * {each} / 1000) || ' seconds') || \
         CASE n * {each} % 1000 WHEN 0 THEN '' ELSE printf('.%03d', n * {each} % 1000) END, 'USER', \
         'usr_06gzkadrwwt5d9z93ens68' || printf('%04d', n % 500), \
         CASE n % 7 WHEN 0 THEN 'ACCOUNT_USER_UPDATED' WHEN 1 THEN 'ACCOUNT_SIGN_IN_SUCCEEDED' WHEN 2 THEN 'ACCOUNT_SESSION_STARTED' \
         WHEN 3 THEN 'ACCOUNT_USER_CREATED' WHEN 4 THEN 'ACCOUNT_GROUP_UPDATED' WHEN 5 THEN 'ACCOUNT_STEPUP_ISSUED' \
         ELSE 'ACCOUNT_PAT_CREATED' END, 'user', 'usr_06gzkadrwwt5d9z93ens' || printf('%06d', n * 7919 % 200000), \
         '{{\"changed\":[\"displayName\",\"title\",\"emails\"],\"number\":' || n || '}}', randomblob(32) FROM made; \
         INSERT INTO audit_unsealed SELECT tenant_id, id FROM audit_entries WHERE id LIKE 'aud_05%'; COMMIT"
    )
}

pub(crate) fn psql(url: &str, statement: &str) -> Result<()> {
    psql_one(url, statement).map(|_| ())
}

fn psql_one(url: &str, statement: &str) -> Result<String> {
    let psql = system::postgres_bin()?.join("psql");
    let output =
        sh::output(Command::new(psql).args(["-qAt", "-v", "ON_ERROR_STOP=1", "-c", statement]).arg(url))?;
    Ok(output.trim().to_owned())
}

pub(crate) fn sqlite(file: &Path, statement: &str) -> Result<()> {
    sh::run(Command::new("sqlite3").arg("-bail").arg(file).args([".timeout 60000", statement]))
}
