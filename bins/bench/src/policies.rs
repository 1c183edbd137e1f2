//! `cargo xtask bench policies`: cost of policy decisions by themselves and within requests.

use std::{path::Path, process::Command, sync::Arc, time::Duration};

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
    site::{administrator, get, request, sql},
    table::{Table, median, ratio, render},
};

const AREA: Area = Area("policies");
const ROUNDS: usize = 9;
const TIME: Duration = Duration::from_secs(2);
const CONNECTIONS: usize = 16;
/// Number of CIDR rules of the tenant that has some.
const RANGES: u16 = 5_000;

/// Runs the benchmark. With another program, such as an older build, measures its requests in the same run.
pub(crate) fn run(other: Option<&str>) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let decision_cost = build::example("netpolicy", "decision_cost")?;
    let program = build::gatehouse()?;
    println!("load average before: {}", cpu::load_average());
    println!("\n| rules | a decision, ns | linear scan, ns | prefix trie, ns |");
    println!("|---|---|---|---|");
    let output = sh::output(&mut Command::new(decision_cost))?;
    for line in output.lines() {
        println!("| {} |", line.split(' ').collect::<Vec<_>>().join(" | "));
    }
    let last: Vec<_> = output.lines().last().unwrap_or_default().split(' ').collect();
    let nanos =
        |column: usize| last.get(column).and_then(|text| text.parse().ok()).ok_or("no cost of a decision");
    AREA.at_most("decision with 5,000 rules", nanos(1)?, "ns", 300.0);
    AREA.shown("linear scan of 5,000 rules", nanos(2)?, "ns");
    AREA.shown("prefix trie of 5,000 rules", nanos(3)?, "ns");

    let folder = Folder::new("policies")?;
    let measured = on_postgres(&program, other.map(Path::new), &folder)
        .and_then(|()| on_sqlite(&program, other.map(Path::new), &folder));
    measured?;
    println!("load average after: {}", cpu::load_average());
    Ok(())
}

fn on_postgres(program: &Path, other: Option<&Path>, folder: &Path) -> Result<()> {
    let cluster = Cluster::start(Durability::Steady)?;
    let url = cluster.url();
    let beside = other.map(|_| {
        sql(&cluster, "CREATE DATABASE beside")?;
        Ok::<_, String>(url.replace("/postgres", "/beside"))
    });
    let beside = beside.transpose()?;
    let sites = sites(program, &url, other.zip(beside.as_deref()), folder)?;
    sql(&cluster, "ANALYZE")?;
    measure("PostgreSQL", &sites)
}

fn on_sqlite(program: &Path, other: Option<&Path>, folder: &Path) -> Result<()> {
    let url = |name: &str| format!("sqlite:{}", folder.join(name).display());
    let beside = url("beside.db");
    let sites = sites(program, &url("policies.db"), other.map(|other| (other, beside.as_str())), folder)?;
    measure("SQLite", &sites)
}

/// A tenant, and the requests for one of its users.
struct Site {
    server: Arc<Server>,
    name: &'static str,
    ask: Vec<u8>,
}

fn sites(program: &Path, url: &str, other: Option<(&Path, &str)>, folder: &Path) -> Result<Vec<Site>> {
    let mut sites = Vec::new();
    if let Some((other, url)) = other {
        gatehouse(other, url, &["migrate"])?;
        let (token, _) = tenant(other, url, "before")?;
        let server = Arc::new(Server::start(&mut serve(other, url, folder))?);
        sites.push(Site { ask: create_user_request(&server, &token)?, server, name: "0 the other program" });
    }
    gatehouse(program, url, &["migrate"])?;
    let never = tenant(program, url, "never")?;
    let off = tenant(program, url, "off")?;
    let on = tenant(program, url, "on")?;
    let server = Arc::new(Server::start(&mut serve(program, url, folder))?);
    let settings = |mode: &str| {
        format!(
            r#"{{"mode":"{mode}","enforcement":{{"SIGN_IN":true,"DASHBOARD":true,"API":true}},"adminBypass":false}}"#
        )
    };
    let send = |method: &str, path: &str, pat: &str, body: &str| {
        let path = format!("/api/settings/network-policy{path}");
        let text = request(method, &path, pat, body);
        let text = String::from_utf8_lossy(&text).replace("application/scim+json", "application/json");
        match load::once(server.address, text.as_bytes())? {
            (200, _) => Ok(()),
            (status, body) => Err(format!("{method} {path} answers {status}: {body}")),
        }
    };
    for range in (0..RANGES).map(|number| format!("10.{}.{}.0/24", number >> 8, number & 255)) {
        // One of the rules contains this machine.
        let cidr = if range == "10.0.0.0/24" { "127.0.0.0/8".to_owned() } else { range };
        send("POST", "/rules", &on.1, &format!(r#"{{"cidr":"{cidr}","label":"Branch"}}"#))?;
    }
    send("PUT", "", &on.1, &settings("ALLOWLIST"))?;
    send("POST", "/rules", &off.1, r#"{"cidr":"127.0.0.0/8","label":"Here"}"#)?;
    send("PUT", "", &off.1, &settings("ALLOWLIST"))?;
    send("PUT", "", &off.1, &settings("OFF"))?;
    for (name, (token, _)) in [("1 never set", never), ("2 off", off), ("3 on, 5,000 ranges", on)] {
        sites.push(Site { ask: create_user_request(&server, &token)?, server: Arc::clone(&server), name });
    }
    Ok(sites)
}

/// Creates a tenant. Returns its SCIM token and the token of its administrator.
fn tenant(program: &Path, url: &str, slug: &str) -> Result<(String, String)> {
    gatehouse(program, url, &["tenant", "create", "--slug", slug, "--name", slug])?;
    let email = format!("ada@{slug}.example");
    let pat = administrator(program, url, (slug, &email, "four tall blue towers"))?;
    let scim = gatehouse(program, url, &["token", "scim", "--tenant", slug, "--name", "bench"])?;
    Ok((member(&scim, "token")?, pat))
}

/// Creates a user of the tenant, and returns the request for it.
fn create_user_request(server: &Server, token: &str) -> Result<Vec<u8>> {
    let body = r#"{"userName":"ada","emails":[{"value":"ada@example.com","type":"work","primary":true}]}"#;
    let (status, body) = load::once(server.address, &request("POST", "/api/scim/v2/Users", token, body))?;
    if status != 201 {
        return Err(format!("creating a user answers {status}: {body}"));
    }
    Ok(get(&format!("/api/scim/v2/Users/{}", member(&body, "id")?), token))
}

fn measure(database: &str, sites: &[Site]) -> Result<()> {
    let mut table = Table::new();
    for round in 1..=ROUNDS {
        eprintln!("{database}: round {round} of {ROUNDS}");
        for site in sites {
            let run = || load::run(site.server.address, CONNECTIONS, TIME, 200, &|_| site.ask.clone());
            table.entry(site.name.to_owned()).or_default().measure(site.server.pid(), None, run)?;
        }
    }
    println!("\nOne user, asked for by id, on {database}:\n\n{}", render(&table));
    let names: Vec<_> = table.keys().cloned().collect();
    for name in names.iter().skip(1) {
        let Some(first) = names.first() else { continue };
        let each = |name: &str| table.get(name).map_or(&[][..], |row| &row.server_micros);
        let pairs = each(name).iter().zip(each(first));
        let cost = median(&pairs.map(|(over, under)| over / under).collect::<Vec<_>>());
        AREA.shown(format!("rate, {name} / {first}, {database}"), ratio(&table, name, first), "");
        AREA.shown(format!("server CPU, {name} / {first}, {database}"), cost, "");
    }
    Ok(())
}
