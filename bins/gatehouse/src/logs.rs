//! The log: one line an event, on standard error; standard output belongs to what a command answers.

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::fmt::{MakeWriter, format::FmtSpan};

use crate::config::LogFormat;

/// Starts the log of a server. Lines are written by a thread of their own; keep the guard until the end.
pub fn serve(format: LogFormat, level: tracing::Level) -> WorkerGuard {
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    start(format, level, writer);
    guard
}

/// Starts the log of a command: warnings and worse.
pub fn command() {
    start(LogFormat::Pretty, tracing::Level::WARN, std::io::stderr);
}

fn start<W: for<'w> MakeWriter<'w> + Send + Sync + 'static>(
    format: LogFormat,
    level: tracing::Level,
    writer: W,
) {
    let log =
        tracing_subscriber::fmt().with_max_level(level).with_span_events(FmtSpan::NONE).with_writer(writer);
    // A second start in one process, as in tests, keeps the first.
    let _started = match format {
        LogFormat::Json => log.json().flatten_event(true).try_init(),
        LogFormat::Pretty => log.with_ansi(false).try_init(),
    };
}
