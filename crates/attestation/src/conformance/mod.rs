//! Test support for embedding services: metadata signed by an authority of their own, and the fuzz target.

mod authority;
pub mod fuzz;

pub use authority::Authority;
