//! `/settings/audit-log`: what has happened, and that it is still what was written.

use std::collections::BTreeSet;

use actix_web::{HttpRequest, HttpResponse, get, web};
use askama::Template;
use kernel::TenantId;

use super::{frame::Administrator, frame::PageFrame, frame::draw};
use crate::api::Site;
use gate::{access::Access, errors::Problem, permissions::AdministerInPerson, shape::AreaProblem};

pub(crate) const PATH: &str = "/settings/audit-log";

#[derive(Template)]
#[template(path = "audit_log.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    /// Whose log it is.
    tenant: &'a TenantId,
    /// What can have happened.
    kinds: Vec<Kind>,
    /// What it can have been about.
    resource_types: BTreeSet<&'static str>,
}

struct Kind {
    code: &'static str,
    description: &'static str,
}

/// The page of the audit log. Its entries are looked up by the page itself, as they are searched.
#[get("/settings/audit-log")]
pub(crate) async fn audit_log(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    request: HttpRequest,
) -> Result<HttpResponse, AreaProblem> {
    drawn(&site, &access).await.map_err(|problem| AreaProblem::of(&request, problem))
}

async fn drawn(site: &Site, access: &Access<AdministerInPerson>) -> Result<HttpResponse, Problem> {
    let shell = Administrator::load(access).await?.shell(site, "Audit log", "audit-log.js", PATH);
    let catalog = audit::events::catalog();
    let specs = catalog.specs();
    draw(&Page {
        shell,
        tenant: access.tenant(),
        kinds: specs.iter().map(|spec| Kind { code: spec.code, description: spec.description }).collect(),
        resource_types: specs.iter().map(|spec| spec.resource_type).collect(),
    })
}
