//! Everything a newcomer runs. `cargo xtask up` serves; `cargo xtask test` proves.

mod browser;
mod clients;
mod fuzz;
mod node;
mod outside;
mod programs;
mod saml;
mod test;
mod up;
mod webhooks;

use std::process::ExitCode;

use xtask::cluster;

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
cargo xtask chaos [NAME]       kills, slow networks, full disks on both databases; `cargo xtask chaos help` says more
cargo xtask bench              measurements of the server beside its floors; `cargo xtask bench help` lists them";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["up"] => up::run(),
        ["test"] => test::run(),
        ["db"] => cluster::serve(),
        ["chaos", words @ ..] => programs::exec("chaos", words),
        ["bench", words @ ..] => programs::exec("bench", words),
        ["browser"] => browser::run(),
        ["outside"] => outside::all(),
        ["outside", "clients"] => outside::clients(),
        ["outside", "administrator"] => outside::administrator(),
        ["outside", "saml"] => outside::saml(),
        ["fuzz", target, seconds @ ..] => fuzz::run(target, seconds.first().copied()),
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
