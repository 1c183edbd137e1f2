//! Redirects a unit of work to another tenant.

use audit::{Audited, Unaudited};
use gate::{
    access::{Access, WorkError},
    permissions::ScimWrite,
};
use kernel::TenantId;

async fn handler(access: Access<ScimWrite>, other: TenantId) -> Result<(), WorkError<scim_core::Error>> {
    access
        .write(async move |_, tx| {
            tx.tenant = other; //~ E0616
            Ok(Audited::without((), Unaudited::NothingChanged))
        })
        .await
}

fn main() {}
