//! The correct version of the other files, which compiles.

use audit::{Audited, Event, events::users::UserDeactivated};
use gate::{
    access::{Access, WorkError},
    permissions::ScimWrite,
};
use scim_core::UserStore;

async fn handler(access: Access<ScimWrite>) -> Result<u64, WorkError<scim_core::Error>> {
    let query = scim_core::Query::default();
    let found = access.read(async move |_, tx| scim_core::users::list(tx, &query, false).await).await?;
    access
        .write(async move |_, tx| {
            for user in &found.resources {
                tx.update_user(user, user).await?;
            }
            let event = Event::new("usr_1", &UserDeactivated {});
            Ok::<_, scim_core::Error>(Audited::new(found.total, event))
        })
        .await
}

fn main() {
    let _ = handler;
}
