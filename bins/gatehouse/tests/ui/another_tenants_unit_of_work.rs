//! A unit of work that is turned to another tenant.

use audit::{Audited, Unaudited};
use gatehouse::http::{
    access::{Access, WorkError},
    permissions::ScimWrite,
};
use kernel::TenantId;

async fn handler(access: Access<ScimWrite>, other: TenantId) -> Result<(), WorkError<scim_core::Error>> {
    access
        .write(async move |_, tx| {
            tx.tenant = other;
            Ok(Audited::without((), Unaudited::NothingChanged))
        })
        .await
}

fn main() {}
