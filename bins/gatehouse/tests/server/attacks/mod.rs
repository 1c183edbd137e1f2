//! Attacks on a running server, each of which has to fail.

mod fixed_sessions;
mod guessed_codes;
mod held_bodies;
mod neighbours_invitation;
mod old_sessions;
mod tenant_coupling;
