mod clients;
mod filters;
mod groups;
mod rates;
mod search;
mod service;
mod users;
