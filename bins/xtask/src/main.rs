//! Everything a newcomer runs. `cargo xtask up` serves; `cargo xtask test` proves.

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people: rates, shares and milliseconds"
)]
mod bench;
mod browser;
mod chaos;
mod clients;
mod cluster;
mod fuzz;
mod node;
mod outside;
mod python;
mod saml;
mod server;
mod sh;
mod system;
mod test;
mod up;
mod webhooks;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask up                 build, make a demo tenant, serve on localhost:8080
cargo xtask test               everything CI checks, on both databases
cargo xtask db                 a throw-away PostgreSQL until Ctrl-C; prints its address
cargo xtask browser            the pages in Chromium, after `cargo build`; pictures in target/browser
cargo xtask outside            tools that others made, against the server on both databases, after `cargo build`
cargo xtask outside clients    clients generated from the description by tools that others made, after `cargo build`
cargo xtask outside administrator  requests that schemathesis makes up from the description, after `cargo build`
cargo xtask outside saml       logins through identity providers that others made, after `cargo build`
cargo xtask fuzz TARGET [SECONDS]  libFuzzer on filter, path, patch, token, cidr, response or metadata, for a minute unless told otherwise
cargo xtask chaos [NAME]       kills, slow networks, full disks on both databases; all, or those of this name; `short`: what the test command does
cargo xtask chaos webhooks [SEED [PROGRAM]]  kills of the worker and of PostgreSQL while events are delivered; with the moments of an earlier run
cargo xtask bench path [ROW …]  the request path beside its floors, as a table; rows by their numbers
cargo xtask bench auth         sessions, sign-ins, what their times tell, and a burst of 200
cargo xtask bench stepup       proofs given and used, beside one insert
cargo xtask bench audit [creates|large]  the audit log written, sealed, looked at and exported, on 5 million entries
cargo xtask bench webhooks [drain|paced|bad [PROGRAM]]  deliveries: how fast, how soon, and what a bad receiver costs others
cargo xtask bench policies [PROGRAM]  what a decision costs, beside other ways to find a rule and in a request; to an older build, too
cargo xtask bench overload     three times as much as the server can bear
cargo xtask bench scim [ROW …]  100,000 users: look-ups, lists and changes, as a table; rows by how they begin";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["up"] => up::run(),
        ["test"] => test::run(),
        ["db"] => cluster::serve(),
        ["chaos", "short"] => chaos::short(),
        ["chaos", "webhooks", words @ ..] if words.len() < 3 => {
            chaos::deliveries(words.first().copied(), words.get(1).copied())
        }
        ["chaos", name @ ..] if name.len() < 2 => chaos::run(name.first().copied()),
        ["bench", "path", rows @ ..] => bench::path(rows),
        ["bench", "auth"] => bench::auth(),
        ["bench", "stepup"] => bench::stepup(),
        ["bench", "audit"] => bench::audit(None),
        ["bench", "audit", part @ ("creates" | "large")] => bench::audit(Some(part)),
        ["bench", "webhooks"] => bench::webhooks(None, None),
        ["bench", "webhooks", part @ ("drain" | "paced" | "bad"), program @ ..] if program.len() < 2 => {
            bench::webhooks(Some(part), program.first().copied())
        }
        ["bench", "policies"] => bench::policies(None),
        ["bench", "policies", program] => bench::policies(Some(program)),
        ["bench", "overload"] => bench::overload(),
        ["browser"] => browser::run(),
        ["outside"] => outside::all(),
        ["outside", "clients"] => outside::clients(),
        ["outside", "administrator"] => outside::administrator(),
        ["outside", "saml"] => outside::saml(),
        ["fuzz", target, seconds @ ..] => fuzz::run(target, seconds.first().copied()),
        ["bench", "scim", rows @ ..] => bench::scim(rows),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown: {}\n{HELP}", words.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
