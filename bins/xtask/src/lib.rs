//! What the programs that start the server share: a throw-away PostgreSQL, the server itself, and other programs.

pub mod cluster;
pub mod python;
pub mod server;
pub mod sh;
pub mod system;
