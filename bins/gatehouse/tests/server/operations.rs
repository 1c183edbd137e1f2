//! The operations of the API description, as requests that tests can send.

mod bodies;
mod list;
mod requests;
mod world;

pub(crate) use self::{
    bodies::body,
    list::{Operation, guarded, operations},
    requests::{call, nobody, request},
    world::World,
};
