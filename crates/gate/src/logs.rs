//! Logging to standard error, one line per event. Standard output is reserved for the output of commands.

use std::{
    panic::PanicHookInfo,
    str::FromStr,
    sync::atomic::{AtomicBool, Ordering},
};

use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::{
    filter::{Targets, dynamic_filter_fn},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Coloured text for terminals.
    Pretty,
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "json" => Ok(Self::Json),
            "pretty" => Ok(Self::Pretty),
            _ => Err("write json or pretty"),
        }
    }
}

/// The crates of this server, which use the configured level. Libraries log at `info` at most, because below it some of them log
/// their input, including the values of SQL parameters.
const OURS: [&str; 19] = [
    "gatehouse",
    "gate",
    "store",
    "sign_in",
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
    "log_streams",
    "signals",
    "oidc_rp",
];

/// Starts the log of a server.
///
/// Each line is one `write` on the calling thread: passing it to another thread costs more than writing it, and loses
/// lines when that thread falls behind.
pub fn serve(format: LogFormat, level: Level) {
    start(format, level);
    std::panic::set_hook(Box::new(log_panic));
}

/// Logs a panic like every other error, as one line.
fn log_panic(info: &PanicHookInfo<'_>) {
    let (message, location) = (info.payload_as_str(), info.location().map(ToString::to_string));
    tracing::error!(panic = message, location, "panicked");
}

/// Starts the log of a command: warnings and errors only.
pub fn command() {
    start(LogFormat::Pretty, Level::WARN);
}

/// Part of the HTTP library that reads requests. Its errors are caused by clients, and any client could flood the log
/// with them.
const REQUESTS: &str = "actix_http";
/// Part of the HTTP library that accepts connections.
const ACCEPTING: &str = "actix_server::accept";
static CLOSING: AtomicBool = AtomicBool::new(false);

/// Suppresses errors about accepting connections from now on, because the server is shutting down.
pub fn closing() {
    CLOSING.store(true, Ordering::Relaxed);
}

fn start(format: LogFormat, level: Level) {
    let libraries = level.min(Level::INFO);
    let levels = Targets::new()
        .with_default(LevelFilter::from_level(libraries))
        .with_target(REQUESTS, LevelFilter::OFF)
        .with_targets(OURS.map(|target| (target, LevelFilter::from_level(level))));
    let unfiltered =
        dynamic_filter_fn(|about, _| !(about.target() == ACCEPTING && CLOSING.load(Ordering::Relaxed)));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(levels).with(unfiltered);
    // A second start in the same process, as in tests, keeps the first logger.
    let _started = match format {
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
        LogFormat::Pretty => registry.with(lines.with_ansi(false)).try_init(),
    };
}
