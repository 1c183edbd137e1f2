//! `cargo xtask bench overload`, second part: clients that start bodies and never finish them.

use std::{
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Builder,
    time::{sleep, timeout},
};
use xtask::{
    server::{CHEAP, Server, gatehouse, person, serve},
    sh::Result,
};

use crate::{
    auth::{email, sign_in},
    load::{self, Paced},
    overload::AREA,
};

const ROUNDS: usize = 3;
const TIME: Duration = Duration::from_secs(8);
/// Users who sign in, each from a client address of its own, because an address has ten password attempts per five
/// minutes.
const PEOPLE: u64 = 300;
const RATE: f64 = 25.0;
const CONNECTIONS: usize = 8;
const PASSWORD: &str = "a password that is long enough";
/// Pause before an attacker reopens a socket that the server closed.
const AGAIN: Duration = Duration::from_secs(1);
/// First client address of the attackers, far from those of the users.
const ATTACKERS: usize = 1_000_000;

/// Attacks: name, number of sockets, and number of client addresses.
const ATTACKS: [(&str, usize, usize); 2] =
    [("520 sockets, one address", 520, 1), ("4000 sockets, 200 addresses", 4000, 200)];

pub(crate) fn run(program: &Path, name: &str, database: &str, folder: &Path) -> Result<()> {
    gatehouse(program, database, &["tenant", "create", "--slug", "slow", "--name", "Slow"])?;
    for number in 0..PEOPLE {
        person(program, database, CHEAP, "slow", &email(usize::try_from(number).unwrap_or(0)), PASSWORD)?;
    }
    let honest = |number: u64| {
        let number = usize::try_from(number % PEOPLE).unwrap_or(0);
        sign_in(&email(number), PASSWORD, number)
    };
    for (attack, sockets, addresses) in ATTACKS {
        let (mut ratios, mut refused) = (Vec::new(), 0.0);
        for round in 1..=ROUNDS {
            // Attempts at passwords are counted in the database, so the counts survive the restart.
            let mut command = serve(program, database, folder);
            command.env("GATEHOUSE_TRUSTED_PROXIES", "127.0.0.1/32").env("GATEHOUSE_PASSWORD_COST", CHEAP);
            let server = Server::start(&mut command)?;
            let row = |what: &str, seen: &Paced| {
                println!(
                    "| {name} | {round} | {what} | {:.0} | {:.2} | {:.2} | {:.1} |",
                    seen.admitted.rate,
                    seen.admitted.percentile(0.5),
                    seen.admitted.percentile(0.99),
                    seen.refused,
                );
            };
            let normal = load::paced(server.address, CONNECTIONS, RATE, TIME, &honest)?;
            row("no attack", &normal);
            let attacked = under_attack(server.address, sockets, addresses, || {
                load::paced(server.address, CONNECTIONS, RATE, TIME, &honest)
            })?;
            row(attack, &attacked);
            refused += attacked.refused;
            ratios.push(attacked.admitted.percentile(0.99) / normal.admitted.percentile(0.99));
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ROUNDS / 2).copied().unwrap_or_default();
        AREA.at_most(format!("p99 of sign-ins with {attack} / without, {name}"), median, "", 5.0);
        AREA.at_most(format!("refused sign-ins with {attack}, {name}"), refused, "per s", 0.0);
    }
    Ok(())
}

/// Runs `work` during the attack, once all sockets are open.
fn under_attack<T>(
    address: SocketAddr,
    sockets: usize,
    addresses: usize,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let attack = scope.spawn(|| {
            let runtime = Builder::new_current_thread().enable_all().build();
            let all = (0..sockets).map(|number| begin_bodies(address, number % addresses, &ends));
            runtime.map_err(|error| error.to_string())?.block_on(futures_util::future::join_all(all));
            Ok::<_, String>(())
        });
        std::thread::sleep(AGAIN);
        let done = work();
        ends.store(true, Ordering::Relaxed);
        attack.join().map_err(|_| "the attack panicked")??;
        done
    })
}

/// Repeatedly starts a request and sends one byte of its body.
async fn begin_bodies(to: SocketAddr, from: usize, ends: &AtomicBool) {
    let whole = sign_in("nobody@example.com", PASSWORD, ATTACKERS + from);
    let head = whole.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |at| at + 5);
    while !ends.load(Ordering::Relaxed) {
        if let Ok(mut stream) = TcpStream::connect(to).await
            && stream.write_all(whole.get(..head).unwrap_or_default()).await.is_ok()
        {
            let begun = Instant::now();
            // Until the server closes the connection or the attack ends.
            while !ends.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_mins(1) {
                let read = timeout(Duration::from_millis(500), stream.read(&mut [0; 1024])).await;
                if matches!(read, Ok(Ok(0) | Err(_))) {
                    break;
                }
            }
        }
        sleep(AGAIN).await;
    }
}
