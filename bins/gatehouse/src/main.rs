//! The `gatehouse` program.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    gatehouse::cli::main().await
}
