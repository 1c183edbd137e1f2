//! Attacks on a running server, each of which has to fail.

mod fixed_sessions;
mod guessed_codes;
mod held_bodies;
mod neighbours_invitation;
mod old_sessions;
mod tenant_coupling;
//! What an attacker does to the server, over HTTP: each file one attack, which has to fail.

mod many_connections;
mod slow_bodies;
mod sockets;
//! Attacks that must fail, one file each.

mod bodies;
mod saml_subject;
mod scim_values;
//! Attacks, each written down as it was made: they fail.

mod scim_scans;
mod slow_export;
//! Attacks that once succeeded, one file each: none may succeed again.

mod forged_history;
mod hidden_refusals;
