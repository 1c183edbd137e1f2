//! Gatehouse: the gate of a multi-tenant workforce platform, as one binary.
//!
//! The binary is thin: the areas' rules are in crates of their own, [`store`] keeps what they decide,
//! and here they are composed: [`config`] and [`cli`] for the operator, [`api`] for everybody else.

pub mod api;
mod area_metrics;
pub mod cli;
pub mod config;
pub mod counters;
mod dns;
mod events;
mod key_files;
pub mod logs;
mod mail;
mod metadata;
mod pages;
mod people;
pub mod secrets;
pub mod server;
mod trust_anchors;
mod workers;
