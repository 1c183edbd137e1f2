mod service;
mod users;
