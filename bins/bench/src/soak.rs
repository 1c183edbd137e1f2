//! `cargo xtask bench soak`: mixed requests for a long time. Memory and open files must not grow.

use std::{
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use xtask::{
    cluster::{Cluster, Durability},
    server::{CHEAP, Server, serve},
    sh::Result,
    system,
    wait::until,
};

use crate::{
    auth::{PASSWORD, email, sign_in, with_cookies},
    build, cpu,
    figures::Area,
    folder::Folder,
    load,
    sink::{Manner, Sink},
    site::{Site, administrator, get, request},
    table::median,
    webhooks::{count, subscribe},
};

const AREA: Area = Area("soak");
/// Requests per second.
const RATE: f64 = 1500.0;
const CONNECTIONS: usize = 32;
const EACH: Duration = Duration::from_secs(5);

/// The memory and descriptors of the server at one moment.
struct Sample {
    minute: f64,
    resident: f64,
    anonymous: f64,
    descriptors: f64,
}

impl Sample {
    fn take(server: &Server, start: Instant) -> Self {
        Self {
            minute: start.elapsed().as_secs_f64() / 60.0,
            resident: cpu::resident_bytes(server.pid()) as f64 / 1e6,
            anonymous: cpu::anonymous_bytes(server.pid()) as f64 / 1e6,
            descriptors: cpu::descriptors(server.pid()) as f64,
        }
    }
}

pub(crate) fn run(minutes: u64) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let program = build::gatehouse()?;
    let cluster = Cluster::start(Durability::Full)?;
    let folder = Folder::new("soak")?;
    println!("{}", cpu::machine());
    soak(&program, &cluster.url(), &folder, Duration::from_mins(minutes))
}

fn soak(program: &Path, url: &str, folder: &Path, time: Duration) -> Result<()> {
    let mut command = serve(program, url, folder);
    command
        .env("GATEHOUSE_LOG_LEVEL", "warn")
        .env("GATEHOUSE_TRUSTED_PROXIES", "127.0.0.1/32")
        .env("GATEHOUSE_PASSWORD_COST", CHEAP)
        .env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8")
        .env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
    let site = Site::start_with(program, url, &mut command)?;
    let sink = Sink::start(Manner::Prompt)?;
    let mix = Mix::prepare(program, url, &site, &sink)?;
    let pid = site.server.pid();
    let samples = Mutex::new(vec![Sample::take(&site.server, Instant::now())]);
    let (start, before) = (Instant::now(), cpu::seconds(pid));
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while start.elapsed() < time {
                std::thread::sleep(EACH.min(time.saturating_sub(start.elapsed())));
                if let Ok(mut samples) = samples.lock() {
                    samples.push(Sample::take(&site.server, start));
                }
            }
        });
        load::paced(site.server.address, CONNECTIONS, RATE, time, &|number| mix.request(number))
    });
    let used = (cpu::seconds(pid) - before) / start.elapsed().as_secs_f64();
    let samples = samples.into_inner().map_err(|error| error.to_string())?;
    println!("\n| minute | memory, MB | without file pages, MB | open files |\n|---|---|---|---|");
    let every = (samples.len() / 20).max(1);
    for sample in samples.iter().step_by(every) {
        println!(
            "| {:.1} | {:.1} | {:.1} | {:.0} |",
            sample.minute, sample.resident, sample.anonymous, sample.descriptors
        );
    }
    let paced = ended?;
    // The first quarter fills pools and caches.
    let quarter = |number: usize, value: fn(&Sample) -> f64| {
        let share = samples.len() / 4;
        median(&samples.iter().skip(number * share).take(share).map(value).collect::<Vec<_>>())
    };
    let growth = |value| quarter(3, value) - quarter(1, value);
    println!();
    AREA.at_least("requests", paced.admitted.rate, "per s", RATE * 0.99);
    AREA.at_most("refused requests", paced.refused, "per s", 0.0);
    AREA.shown("p50", paced.admitted.percentile(0.5), "ms");
    AREA.at_most("p99", paced.admitted.percentile(0.99), "ms", 50.0);
    AREA.shown("server CPU", used * 100.0, "% of one core");
    AREA.at_most("growth of memory from the second to the last quarter", growth(|s| s.resident), "MB", 3.0);
    AREA.at_most(
        "growth of open files from the second to the last quarter",
        growth(|s| s.descriptors),
        "",
        2.0,
    );
    AREA.at_most("memory, median of the last quarter", quarter(3, |s| s.resident), "MB", 100.0);
    let queued = "SELECT count(*) FROM webhook_deliveries WHERE due_at IS NOT NULL";
    until(Duration::from_mins(1), "not all events were delivered", || Ok(count(url, queued)? == 0))?;
    AREA.shown("webhook deliveries", sink.count() as f64, "");
    Ok(())
}

/// The requests that are sent.
struct Mix<'s> {
    site: &'s Site,
    cookies: String,
    pat: String,
}

impl<'s> Mix<'s> {
    /// Creates an administrator with a session, a personal access token and a webhook.
    fn prepare(program: &Path, url: &str, site: &'s Site, sink: &Sink) -> Result<Self> {
        let pat = administrator(program, url, ("bench", &email(0), PASSWORD))?;
        let answer = load::exchange(site.server.address, &sign_in(&email(0), PASSWORD, 0))?;
        if answer.status != 200 {
            return Err(answer.text());
        }
        subscribe(&site.server, &pat, sink, "in")?;
        Ok(Self { site, cookies: answer.cookies, pat })
    }

    /// Returns the request with this number: of 100, 65 read a user by ID, 10 search one, 8 list sessions, 5 read
    /// `/api/me`, 3 read the audit log, 4 change a user, 3 create one, and 2 list 100 users.
    fn request(&self, number: u64) -> Vec<u8> {
        // The kind of request and the user must not depend on each other.
        let other = number / 100;
        match number % 100 {
            0..65 => self.site.get(other + number % 100),
            65..75 => {
                let name = other.wrapping_mul(2_654_435_761) % 1000;
                let filter = format!("userName%20eq%20%22user-{name}%40example.com%22");
                get(&format!("/api/scim/v2/Users?filter={filter}"), &self.site.token)
            }
            75..83 => with_cookies("/api/me/sessions", &self.cookies),
            83..88 => with_cookies("/api/me", &self.cookies),
            88..91 => get("/api/settings/audit-log?limit=50", &self.pat),
            91..95 => {
                let change = format!(
                    r#"{{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{{"op":"replace","path":"title","value":"Engineer {number}"}}]}}"#
                );
                let user = self.site.user(other);
                request("PATCH", &format!("/api/scim/v2/Users/{user}"), &self.site.token, &change)
            }
            95..98 => self.site.create(number),
            _ => get("/api/scim/v2/Users?cursor=&count=100", &self.site.token),
        }
    }
}
