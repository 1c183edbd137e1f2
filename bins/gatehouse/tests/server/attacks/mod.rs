//! Attacks on a running server, each of which has to fail.

mod bodies;
mod fixed_sessions;
mod forged_history;
mod forged_places;
mod group_changes;
mod guarded_administrators;
mod guessed_codes;
mod hidden_refusals;
mod lockout;
mod many_connections;
mod neighbours_invitation;
mod nul_characters;
mod old_links;
mod old_sessions;
mod paused_bodies;
mod saml_subject;
mod scim_scans;
mod scim_values;
mod slow_bodies;
mod slow_export;
mod sockets;
mod surviving_passwords;
mod surviving_tokens;
mod tenant_coupling;
mod waiting_writes;
