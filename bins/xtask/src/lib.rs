//! Shared parts of the programs that start the server: a temporary PostgreSQL, the server, and external programs.

pub mod citus;
pub mod cluster;
pub mod installing;
pub mod python;
pub mod server;
pub mod sh;
pub mod system;
pub mod wait;
