//! Measurements: the server beside its floors, in one run, interleaved.

mod cpu;
mod load;
mod path;
mod server;

pub(crate) use path::run as path;
