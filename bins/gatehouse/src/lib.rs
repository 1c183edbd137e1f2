//! Gatehouse: the gate of a multi-tenant workforce platform, as one binary.
//!
//! The binary is thin: the areas' rules are in crates of their own, [`store`] keeps what they decide,
//! and here they are composed: [`config`] and [`cli`] for the operator, [`http`] for everybody else.

pub mod cli;
pub mod config;
mod dns;
mod events;
pub mod http;
mod key_files;
pub mod logs;
mod mail;
mod makers;
mod metadata;
mod pages;
mod people;
pub mod secrets;
