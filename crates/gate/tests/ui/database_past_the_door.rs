//! A handler that takes the worker's gate and reaches for the store in it.

use actix_web::web::Data;
use gate::access::Gate;

async fn handler(gate: Data<Gate>) {
    let _store = &gate.store; //~ E0616
}

fn main() {}
