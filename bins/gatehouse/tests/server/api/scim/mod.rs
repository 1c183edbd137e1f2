mod clients;
mod filters;
mod groups;
mod rates;
mod removals;
mod search;
mod service;
mod users;
