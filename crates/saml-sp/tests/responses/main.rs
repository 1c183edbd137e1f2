//! Tests of response validation with genuine and hostile responses.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::format_collect,
    reason = "tests speak by panicking, and are read rather than run"
)]

mod costs;
mod cpu;
mod differential;
mod factory;
mod hostile;
mod hostile_addressing;
mod hostile_assertions;
mod hostile_bounds;
mod hostile_emails;
mod hostile_encoding;
mod hostile_encrypted;
mod hostile_markup;
mod hostile_namespaces;
mod hostile_references;
mod hostile_signatures;
mod hostile_subjects;
mod hostile_values;
mod hostile_wrapping;
mod keys;
mod lessons;
mod logout;
mod mutated;
mod mutator;
mod quiet;
mod seal;
mod second;
mod sign;
mod steps;
mod valid;
mod valid_encrypted;
mod valid_forms;
mod valid_keys;
mod valid_statements;
mod values;
mod world;
