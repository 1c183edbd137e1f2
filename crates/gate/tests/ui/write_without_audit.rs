//! Writes without returning an audit event.

use gate::{
    access::{Access, WorkError},
    permissions::ScimWrite,
};
use scim_core::{Query, UserStore};

async fn handler(access: Access<ScimWrite>, query: Query) -> Result<u64, WorkError<scim_core::Error>> {
    access
        .write(async move |_, tx| { //~ E0308
            let found = tx.find_users(&query, false).await?;
            for user in &found.resources {
                tx.update_user(user, user).await?;
            }
            Ok::<u64, scim_core::Error>(found.total)
        })
        .await
}

fn main() {}
