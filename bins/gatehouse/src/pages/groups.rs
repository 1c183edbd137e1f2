//! `/settings/groups`: the groups that the directory of the tenant created over SCIM.

use actix_web::{HttpResponse, get};
use askama::Template;
use directory::Permission;
use kernel::Ctx;
use scim_core::{
    Cursor, Filter, Group, GroupStore, Page as Slice, Query, ResourcePage, Start, schema::GROUPS,
};
use serde_json::Value;
use store::{Cost, Tx};

use super::{
    frame::{Administrator, PageFrame, draw},
    people, roles,
};
use crate::api::{Answer, Call, query::query};
use gate::{
    errors::Problem,
    paging::Page as Paging,
    permissions::{InPerson, ReadUsers},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/groups";

#[derive(Template)]
#[template(path = "groups.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    rows: Vec<Row>,
    /// The text that was searched for.
    text: String,
    /// URL of the next page.
    next: Option<String>,
    /// Whether the user may give roles to groups.
    gives_roles: bool,
}

struct Row {
    id: String,
    name: String,
    members: i64,
}

/// Renders the list of groups. A group links to the people in it.
#[get("/settings/groups")]
pub(crate) async fn groups(
    call: Call<InPerson<ReadUsers>>,
    paging: Paging,
) -> Result<HttpResponse, AreaProblem> {
    drawn(&call, &paging).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ReadUsers>>, paging: &Paging) -> Answer {
    let text = query(&call.request, "q").unwrap_or_default().trim().to_owned();
    let last = paging.opened(&call.site.pipeline.keys, call.tenant())?;
    let wanted = wanted(&text, last, paging.limit())?;
    let cost = Cost::of_groups(&wanted, true);
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let found = tx.find_groups(&wanted).await?;
        let ids: Vec<_> = found.resources.iter().map(|group| group.id.clone()).collect();
        let members = tx.member_counts(&ids).await?;
        Ok::<_, Problem>((found, members))
    };
    let (found, members) = call.search(cost, find).await?;
    let administrator = Administrator::load(call).await?;
    let row = |group: &Group| Row {
        id: group.id.to_string(),
        name: group.display_name.clone(),
        members: members.get(group.id.as_str()).copied().unwrap_or_default(),
    };
    draw(&Page {
        shell: administrator.shell(&call.site, "Groups", "people.js", PATH),
        rows: found.resources.iter().map(row).collect(),
        text,
        next: next(call, &found),
        gives_roles: call.caller().holder.roles.permissions.contains(Permission::ManageRoles),
    })
}

/// Returns the query for the groups whose names contain this text, after the last group of the previous page.
fn wanted(text: &str, last: Option<&str>, limit: i64) -> Result<Query, Problem> {
    let filter = format!("displayName co {}", Value::from(text));
    let filter = (!text.is_empty()).then(|| Filter::parse(&GROUPS, &filter)).transpose();
    let filter = filter.map_err(|_| Problem::invalid_request("q: this text cannot be searched for"))?;
    let start = last.map_or(Start::First, |last| Start::After(Cursor { last: last.to_owned(), total: 0 }));
    let count = u32::try_from(limit).unwrap_or(u32::MAX);
    Ok(Query { filter, page: Slice { start, count }, ..Query::default() })
}

/// Returns the URL of the next page.
fn next(call: &Call<InPerson<ReadUsers>>, found: &ResourcePage<Group>) -> Option<String> {
    let last = found.resources.last().filter(|_| found.more)?;
    let cursor = call.site.pipeline.keys.seal_cursor(call.tenant(), last.id.as_str())?;
    Some(people::next_page(&call.request, &cursor))
}
