//! What an attacker does to the server, over HTTP: each file one attack, which has to fail.

mod many_connections;
mod slow_bodies;
mod sockets;
