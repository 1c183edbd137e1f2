//! Takes the store out of the worker's gate in a handler.

use actix_web::web::Data;
use gate::access::Gate;

async fn handler(gate: Data<Gate>) {
    let _store = &gate.store; //~ E0616
}

fn main() {}
