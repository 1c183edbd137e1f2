//! What tests of whoever embeds this need: metadata signed by an authority of their own. And the target of the fuzzers.

mod authority;
pub mod fuzz;

pub use authority::Authority;
