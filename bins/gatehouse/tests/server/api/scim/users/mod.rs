mod create;
mod get;
mod list;
mod replace;

const USERS: &str = "/api/scim/v2/Users";
