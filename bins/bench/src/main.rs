//! `cargo xtask bench`: the server beside its floors, in one run, interleaved.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people: rates, shares and milliseconds"
)]

mod audit;
mod audit_reads;
mod auth;
mod cpu;
mod load;
mod overload;
mod path;
mod peer;
mod pgbench;
mod policies;
mod scim;
mod sink;
mod site;
mod slow_bodies;
mod stepup;
mod table;
mod webhooks;

use std::process::ExitCode;

const HELP: &str = "\
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
        ["path", rows @ ..] => path::run(rows),
        ["auth"] => auth::run(),
        ["stepup"] => stepup::run(),
        ["audit"] => audit::run(None),
        ["audit", part @ ("creates" | "large")] => audit::run(Some(part)),
        ["webhooks"] => webhooks::run(None, None),
        ["webhooks", part @ ("drain" | "paced" | "bad"), program @ ..] if program.len() < 2 => {
            webhooks::run(Some(part), program.first().copied())
        }
        ["policies"] => policies::run(None),
        ["policies", program] => policies::run(Some(program)),
        ["overload"] => overload::run(),
        ["scim", rows @ ..] => scim::run(rows),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown: bench {}\n{HELP}", words.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}
