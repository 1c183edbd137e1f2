//! A unit of work that changes something and answers with the bare value: nothing for the ledger.

use gatehouse::http::{access::Access, permissions::ScimWrite};
use scim_core::{Page, UserStore};

async fn handler(access: Access<ScimWrite>, page: Page) -> Result<u64, scim_core::Error> {
    access
        .write(async move |_, tx| {
            let found = tx.find_users(None, page).await?;
            for user in &found.users {
                tx.update_user(user).await?;
            }
            Ok::<u64, scim_core::Error>(found.total)
        })
        .await
}

fn main() {}
