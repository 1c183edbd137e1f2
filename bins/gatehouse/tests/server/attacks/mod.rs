//! Attacks that succeeded once, written down so that they fail.

mod guarded_administrators;
mod lockout;
mod old_links;
mod surviving_passwords;
mod surviving_tokens;
