//! Which users a filter names, in the dialect of `super::Backend`.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::TenantId;
use scim_core::Lookup;

use super::{Backend, Connection};
use crate::{
    schema::{user_emails, users},
    users::UserRow,
};

/// The users of the tenant that match.
fn matching(tenant: &TenantId, lookup: Option<&Lookup>) -> users::BoxedQuery<'static, Backend> {
    let all = users::table.filter(users::tenant_id.eq(tenant.to_string())).into_boxed();
    match lookup.cloned() {
        None => all,
        Some(Lookup::UserName(key)) => all.filter(users::user_name_key.eq(key)),
        Some(Lookup::ExternalId(id)) => all.filter(users::external_id.eq(id)),
        Some(Lookup::Email(key)) => {
            let owners = user_emails::table
                .filter(user_emails::tenant_id.eq(tenant.to_string()))
                .filter(user_emails::value_key.eq(key))
                .select(user_emails::user_id);
            all.filter(users::id.eq_any(owners))
        }
    }
}

/// How many match, and those of one page, oldest first.
pub(in crate::users) async fn page(
    tenant: &TenantId,
    lookup: Option<&Lookup>,
    limit: i64,
    offset: i64,
    conn: &mut Connection,
) -> QueryResult<(i64, Vec<UserRow>)> {
    let total = matching(tenant, lookup).count().get_result(conn).await?;
    if limit == 0 || offset >= total {
        return Ok((total, Vec::new()));
    }
    let page = matching(tenant, lookup).order(users::id).limit(limit).offset(offset);
    Ok((total, page.select(UserRow::as_select()).load(conn).await?))
}
