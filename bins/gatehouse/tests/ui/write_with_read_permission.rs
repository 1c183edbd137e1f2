//! A handler that asked for the permission to read, and writes.

use audit::{Audited, Unaudited};
use gatehouse::http::{access::Access, permissions::ScimRead};

async fn handler(access: Access<ScimRead>) -> Result<(), scim_core::Error> {
    access.write(async |_, _| Ok(Audited::without((), Unaudited::NothingChanged))).await
}

fn main() {}
