//! Writes with a permission that only allows reading.

use audit::{Audited, Unaudited};
use gate::{access::Access, permissions::ScimRead};

async fn handler(access: Access<ScimRead>) -> Result<(), scim_core::Error> {
    access.write(async |_, _| Ok(Audited::without((), Unaudited::NothingChanged))).await //~ E0599
}

fn main() {}
