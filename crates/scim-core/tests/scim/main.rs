//! Integration tests.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking"
)]

mod differences;
mod filter;
mod groups;
mod memory;
mod overlay;
mod params;
mod patch;
mod projection;
mod resources;
mod schemas;
mod sequences;
mod service;
mod users;

use kernel::Ctx;

fn ctx() -> Ctx {
    Ctx::system("acme".parse().unwrap(), "test")
}
