//! The log: one line an event, on standard error; standard output belongs to what a command answers.

use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::{
    filter::{Targets, dynamic_filter_fn},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::config::LogFormat;

/// Our own crates. The level that is asked for is theirs; libraries say `info` at most, because some of
/// them write what they were given, values of statements among it, at the levels below.
const OURS: [&str; 15] = [
    "gatehouse",
    "gate",
    "store",
    "kernel",
    "directory",
    "credentials",
    "sessions",
    "tokens",
    "stepup",
    "scim_core",
    "saml_sp",
    "netpolicy",
    "attestation",
    "audit",
    "webhooks",
];

/// Starts the log of a server.
///
/// A line is one `write`, done where it arises: handing it to a thread costs more than writing it, and
/// loses lines when that thread falls behind.
pub fn serve(format: LogFormat, level: Level) {
    start(format, level);
}

/// Starts the log of a command: warnings and worse.
pub fn command() {
    start(LogFormat::Pretty, Level::WARN);
}

/// The part of the HTTP library that reads requests: what it calls an error is a client's, and any client could fill
/// the log with it.
const REQUESTS: &str = "actix_http";
/// The part of the HTTP library that takes connections.
const ACCEPTING: &str = "actix_server::accept";
static CLOSING: AtomicBool = AtomicBool::new(false);

/// From now on, that no connection can be taken any more is no error worth a line.
pub fn closing() {
    CLOSING.store(true, Ordering::Relaxed);
}

fn start(format: LogFormat, level: Level) {
    let libraries = level.min(Level::INFO);
    let levels = Targets::new()
        .with_default(LevelFilter::from_level(libraries))
        .with_target(REQUESTS, LevelFilter::OFF)
        .with_targets(OURS.map(|target| (target, LevelFilter::from_level(level))));
    let spoken =
        dynamic_filter_fn(|about, _| !(about.target() == ACCEPTING && CLOSING.load(Ordering::Relaxed)));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(levels).with(spoken);
    // A second start in one process, as in tests, keeps the first.
    let _started = match format {
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
        LogFormat::Pretty => registry.with(lines.with_ansi(false)).try_init(),
    };
}
