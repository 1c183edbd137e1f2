//! `/api/settings/audit-log`: searches the audit log.

pub(crate) mod activity;
pub(crate) mod area;
pub(crate) mod export;
pub(crate) mod proofs;
pub(crate) mod tiles;

use actix_web::{HttpRequest, get};
use audit::{AuditPage, Filter, FilterParameters, Order, Search, ocsf::Source};
use kernel::{Ctx, TenantId};
use store::{Cost, Tx};
use utoipa::IntoParams;

use crate::api::{Answer, Call, openapi::values, query::query};
use gate::{
    body::answer,
    errors::Problem,
    paging::{Page, PageQuery},
    permissions::{Permission, ReadAudit},
};

/// Reads the filter and its parameters' names from the query.
pub(crate) fn filter(request: &HttpRequest) -> Result<(Filter, Vec<String>), Problem> {
    let parameters = FilterParameters::read(|name| query(request, name));
    let names = parameters.names();
    Ok((parameters.filter(audit::events::catalog())?, names))
}

/// Reads the order from the query.
pub(crate) fn order(request: &HttpRequest) -> Result<Order, Problem> {
    Ok(Order::read(query(request, "order").as_deref())?)
}

/// Returns what OCSF events of a tenant name as their source.
pub(crate) fn event_source(tenant: &TenantId) -> Source {
    Source { product: "Gatehouse", version: env!("CARGO_PKG_VERSION"), tenant: tenant.to_string() }
}

/// In which order entries are listed.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what `order` reads")]
struct OrderQuery {
    /// `sequence`: sealed entries in the order of the log, with a cursor that never ends. Default: newest first.
    #[param(value_type = Option<values::AuditOrder>, inline)]
    order: Option<String>,
}

/// List audit entries
///
/// Newest first. Pages neither repeat nor skip entries that existed when the first page was read. With
/// `order=sequence`: sealed entries in the order of the log, with a `nextCursor` that never ends, so a client that
/// follows it misses nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(FilterParameters, OrderQuery, PageQuery),
    responses(
        (status = 200, description = "A page of audit entries.", body = AuditPage),
        (status = 400, description = "INVALID_CURSOR, or a parameter is malformed."),
    )
)]
#[get("/api/settings/audit-log")]
pub(crate) async fn get_audit_log(call: Call<ReadAudit>, page: Page) -> Answer {
    let (filter, _) = filter(&call.request)?;
    let cursor = page.opened(&call.site.pipeline.keys, call.tenant())?;
    let search = Search::new(filter, order(&call.request)?, cursor)?;
    Ok(answer(&audit_page(&call, search, page.limit()).await?))
}

/// Returns a page of audit entries.
pub(crate) async fn audit_page<P: Permission>(
    call: &Call<P>,
    search: Search,
    limit: i64,
) -> Result<AuditPage, Problem> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let cost = if search.is_indexed() { Cost::Indexed } else { Cost::Scan };
    let find = async move |_: &Ctx, tx: &mut Tx| search.page(tx, limit).await;
    let found = call.search(cost, find).await?;
    let keys = &call.site.pipeline.keys;
    Ok(found.seal_cursor(|cursor| keys.seal_cursor(call.tenant(), cursor)))
}
