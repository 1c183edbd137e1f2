//! A handler that takes the worker's gate and reaches for the store in it.

use actix_web::web::Data;
use gatehouse::http::access::Gate;

async fn handler(gate: Data<Gate>) {
    let _store = &gate.store;
}

fn main() {}
