//! Gatehouse: identity service of a multi-tenant workforce platform, as one binary.
//!
//! The binary is thin. The rules of the areas are in crates of their own, and [`store`] persists their data. This
//! crate composes them: [`config`] and [`cli`] for the operator, [`api`] for everybody else.

pub mod api;
mod area_metrics;
mod breached;
pub mod cli;
pub mod config;
pub mod counters;
mod key_files;
mod mail;
mod metadata;
mod oidc_client;
mod pages;
mod people;
pub mod secrets;
pub mod server;
mod ssf_client;
mod trust_anchors;
mod workers;
