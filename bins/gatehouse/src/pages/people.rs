//! `/settings/people`: the users of the tenant, and with `?id=usr_…` one of them.

mod person;
mod refusals;

use actix_web::{HttpRequest, HttpResponse, get};
use askama::Template;
use directory::{OwnRole, PeopleQuery, Permission as Right, Person, Role, RoleStore, Source};
use kernel::{Ctx, GroupId, UserId};
use scim_core::GroupStore;
use store::{PersonSummary, Tx};

use super::{
    frame::{Administrator, PageFrame, draw},
    roles::{RoleChoice, role_choices, title_of},
    times::PageTime,
};
use crate::api::{Answer, Call, page_of_people as page, query::query, user_filter as filter};
use gate::{
    errors::Problem,
    paging::Page as Paging,
    permissions::{InPerson, ReadUsers},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/people";

/// The list of users.
#[derive(Template)]
#[template(path = "people.html")]
struct List<'a> {
    shell: PageFrame<'a>,
    rows: Vec<Row>,
    /// The text that was searched for.
    text: &'a str,
    choices: [Choice; 5],
    group: Option<GroupFilter>,
    is_filtered: bool,
    /// URL of the next page.
    next: Option<String>,
    /// Whether invitations are sent by mail; otherwise the page shows their links.
    sends_mail: bool,
    may_invite: bool,
    /// The roles that the user may assign.
    roles: Vec<RoleChoice>,
}

/// A user in the list.
struct Row {
    id: String,
    name: String,
    account: String,
    /// Title of the assigned role, unless it is MEMBER.
    role: Option<String>,
    active: bool,
    factors: usize,
    uses_sso: bool,
    from_directory: bool,
    last_active: Option<PageTime>,
}

/// A field of the filter.
struct Choice {
    name: &'static str,
    label: &'static str,
    options: Vec<Opt>,
}

/// A value that a field of the filter offers.
struct Opt {
    value: String,
    label: String,
    chosen: bool,
}

impl Opt {
    fn new(value: impl Into<String>, label: impl Into<String>, chosen: &str) -> Self {
        let value = value.into();
        Self { chosen: value == chosen, value, label: label.into() }
    }
}

/// The group to which the list is restricted.
struct GroupFilter {
    id: String,
    name: String,
}

/// Renders the list of users, or with `?id=usr_…` a user.
#[get("/settings/people")]
pub(crate) async fn people(
    call: Call<InPerson<ReadUsers>>,
    paging: Paging,
) -> Result<HttpResponse, AreaProblem> {
    let drawn = match query(&call.request, "id") {
        Some(id) => person::draw_person(&call, &id, PATH).await,
        None => draw_list(&call, &paging).await,
    };
    drawn.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn draw_list(call: &Call<InPerson<ReadUsers>>, paging: &Paging) -> Answer {
    let wanted = filter::read(&call.request)?;
    let (listed, cursor) = page(call, wanted.clone(), filter::cost(&wanted), paging).await?;
    let (ids, group) =
        (listed.iter().map(|person| person.id.clone()).collect::<Vec<UserId>>(), wanted.group.clone());
    let find = async move |_: &Ctx, tx: &mut Tx| {
        Ok::<_, Problem>((tx.summaries(&ids).await?, name_of_group(tx, group).await?, tx.roles().await?))
    };
    let (summaries, group, own_roles) = call.read(find).await?;
    let row = |person: &Person| {
        Row::of(person, &own_roles, summaries.get(person.id.as_str()).copied().unwrap_or_default())
    };
    let by = &call.caller().holder.roles;
    let administrator = Administrator::load(call).await?;
    draw(&List {
        shell: administrator.shell(&call.site, "People", "people.js", PATH),
        rows: listed.iter().map(row).collect(),
        text: wanted.text.as_deref().unwrap_or_default(),
        choices: choices(&wanted, &own_roles),
        group,
        is_filtered: wanted != PeopleQuery::default(),
        next: cursor.map(|cursor| next_page(&call.request, &cursor)),
        sends_mail: call.site.mail.is_some(),
        may_invite: by.permissions.contains(Right::ManageUsers),
        roles: role_choices(by, &own_roles),
    })
}

async fn name_of_group(tx: &mut Tx, id: Option<GroupId>) -> Result<Option<GroupFilter>, Problem> {
    let Some(id) = id else { return Ok(None) };
    let group = tx.group(&id).await?.ok_or_else(Problem::not_found)?;
    Ok(Some(GroupFilter { id: id.to_string(), name: group.display_name }))
}

/// Returns the URL of the next page of the same list.
pub(super) fn next_page(request: &HttpRequest, cursor: &str) -> String {
    let kept = form_urlencoded::parse(request.query_string().as_bytes())
        .filter(|(name, value)| name != "cursor" && !value.is_empty());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(kept).append_pair("cursor", cursor);
    format!("?{}", query.finish())
}

impl Row {
    fn of(person: &Person, own_roles: &[OwnRole], summary: PersonSummary) -> Self {
        Self {
            id: person.id.to_string(),
            name: person.name().to_owned(),
            account: person.account().to_owned(),
            role: (person.role != Role::Member).then(|| title_of(&person.role, own_roles)),
            active: person.active,
            factors: summary.factors,
            uses_sso: summary.uses_sso,
            from_directory: person.source == Source::Scim,
            last_active: summary.last_active.map(PageTime::from),
        }
    }
}

/// Returns the fields of the filter with the current choices.
fn choices(wanted: &PeopleQuery, own_roles: &[OwnRole]) -> [Choice; 5] {
    let source = wanted.source.map(Source::as_str);
    let either = |value: Option<bool>| value.map(|value| if value { "true" } else { "false" });
    let choice = |name, label, chosen: Option<&str>, options: &[(&'static str, &'static str)]| Choice {
        name,
        label,
        options: options
            .iter()
            .map(|(value, label)| Opt::new(*value, *label, chosen.unwrap_or_default()))
            .collect(),
    };
    let role = wanted.role.as_ref().map_or("", Role::as_str);
    let own = own_roles.iter().map(|own| Role::Own(own.id.clone()));
    let roles = Role::BUILT_IN.into_iter().chain(own);
    let roles = roles.map(|one| Opt::new(one.as_str(), title_of(&one, own_roles), role));
    let any = Opt::new("", "Any role", role);
    [
        Choice { name: "role", label: "Role", options: [any].into_iter().chain(roles).collect() },
        choice(
            "active",
            "State",
            either(wanted.active),
            &[("", "Any state"), ("true", "Active"), ("false", "Disabled")],
        ),
        choice(
            "factor",
            "Second factor",
            either(wanted.has_factor),
            &[("", "Any"), ("true", "Has a factor"), ("false", "Has no factor")],
        ),
        choice(
            "source",
            "Source",
            source,
            &[("", "Any source"), ("INVITED", "Invited"), ("SCIM", "Directory (SCIM)")],
        ),
        choice(
            "sso",
            "Single sign-on",
            either(wanted.uses_sso),
            &[("", "Any"), ("true", "Linked to a provider"), ("false", "Not linked")],
        ),
    ]
}
