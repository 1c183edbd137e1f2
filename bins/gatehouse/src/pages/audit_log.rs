//! `/settings/audit-log`: the audit log and its integrity.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, get};
use askama::Template;
use audit::{EventSpec, Filter, Order, Search};
use kernel::TenantId;

use super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use crate::api::{Answer, Call, settings::audit_log::audit_page};
use gate::{
    permissions::{InPerson, ReadAudit},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/audit-log";
/// The API's path of the audit log.
const API: &str = "/api/settings/audit-log";
/// Number of entries on the page, as the API returns by default.
const ENTRIES: i64 = 50;

#[derive(Template)]
#[template(path = "audit_log.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    /// The tenant of the log.
    tenant: &'a TenantId,
    /// Event types to filter by.
    kinds: &'a [EventSpec],
    /// Resource types to filter by, with their names.
    resource_types: BTreeMap<String, &'static str>,
}

/// Renders the audit log page, with the newest entries unless the query of the URL is a search.
#[get("/settings/audit-log")]
pub(crate) async fn audit_log(call: Call<InPerson<ReadAudit>>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ReadAudit>>) -> Answer {
    let administrator = Administrator::load(call).await?;
    let mut answers = Vec::new();
    if call.request.query_string().is_empty() {
        let search = Search::new(Filter::default(), Order::Newest, None)?;
        answers.push(EmbeddedAnswer::new(format!("{API}?"), &audit_page(call, search, ENTRIES).await?)?);
    }
    let shell = administrator.shell(&call.site, "Audit log", "audit-log.js", PATH).embed(answers);
    let specs = audit::events::catalog().specs();
    draw(&Page {
        shell,
        tenant: call.tenant(),
        kinds: specs,
        resource_types: specs.iter().map(|spec| (name_of(spec.resource_type), spec.resource_type)).collect(),
    })
}

/// Returns the name of a resource type: `network_rule` is a "Network rule".
fn name_of(resource_type: &str) -> String {
    let name = match resource_type {
        "pat" => "Personal access token",
        "oidc_provider" => "SSO connection (OpenID Connect)",
        "saml_provider" => "SSO connection",
        "scimToken" => "SCIM token",
        "step_up" => "Step-up",
        other => return capitalized(other),
    };
    name.to_owned()
}

/// Returns the words of a `snake_case` name, with a capital letter.
fn capitalized(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
