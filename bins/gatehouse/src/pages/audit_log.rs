//! `/settings/audit-log`: the audit log and its integrity.

use std::collections::BTreeSet;

use actix_web::{HttpResponse, get};
use askama::Template;
use audit::EventSpec;
use kernel::TenantId;

use super::{frame::Administrator, frame::PageFrame, frame::draw};
use crate::api::{Answer, Call};
use gate::{permissions::AdministerInPerson, shape::AreaProblem};

pub(crate) const PATH: &str = "/settings/audit-log";

#[derive(Template)]
#[template(path = "audit_log.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    /// The tenant of the log.
    tenant: &'a TenantId,
    /// Event types to filter by.
    kinds: &'a [EventSpec],
    /// Resource types to filter by.
    resource_types: BTreeSet<&'static str>,
}

/// Renders the audit log page. The page fetches the entries from the API.
#[get("/settings/audit-log")]
pub(crate) async fn audit_log(call: Call<AdministerInPerson>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<AdministerInPerson>) -> Answer {
    let shell = Administrator::load(call).await?.shell(&call.site, "Audit log", "audit-log.js", PATH);
    let specs = audit::events::catalog().specs();
    draw(&Page {
        shell,
        tenant: call.tenant(),
        kinds: specs,
        resource_types: specs.iter().map(|spec| spec.resource_type).collect(),
    })
}
