mod create;
mod delete;
mod get;
mod list;
mod patch;
mod projection;
mod replace;

const USERS: &str = "/api/scim/v2/Users";
