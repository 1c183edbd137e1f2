//! Sends a change directly to the connection, so that the unit of work would not require an audit entry.

use audit::{Audited, Unaudited};
use gate::{
    access::{Access, WorkError},
    permissions::ScimWrite,
};

async fn handler(access: Access<ScimWrite>) -> Result<(), WorkError<scim_core::Error>> {
    access
        .write(async move |_, tx| {
            let _connection = tx.db.changing().await?; //~ E0616
            Ok(Audited::without((), Unaudited::NothingChanged))
        })
        .await
}

fn main() {}
