//! The filter of lists of users.

use std::str::FromStr;

use actix_web::HttpRequest;
use directory::{PeopleQuery, Role, Source};
use gate::errors::Problem;
use kernel::GroupId;
use store::Cost;
use utoipa::IntoParams;

use crate::api::{openapi::values, query::query};

/// Maximum number of characters of the text to search for.
const MAX_TEXT: usize = 200;

/// The query parameters that restrict a list of users. Empty ones count as absent.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what `read` reads")]
pub(super) struct UserFilter {
    /// Text in the user name, the display name or an email address, at most 200 characters. Case is ignored.
    q: Option<String>,
    /// The assigned role: the name of a built-in one, or `role_…`.
    #[param(value_type = Option<values::UserRole>, inline)]
    role: Option<String>,
    /// Whether the user may sign in.
    active: Option<bool>,
    /// Whether the user has a second factor.
    factor: Option<bool>,
    /// `SCIM`: the user has an external ID from the directory. `INVITED`: all others.
    #[param(value_type = Option<values::UserSource>, inline)]
    source: Option<String>,
    /// Whether a persistent NameID of an identity provider is pinned to the user.
    sso: Option<bool>,
    /// ID of a group that the user is a member of, `grp_…`.
    group: Option<String>,
}

/// Reads the filter from the query.
pub(crate) fn read(request: &HttpRequest) -> Result<PeopleQuery, Problem> {
    let text = query(request, "q").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if text.as_ref().is_some_and(|text| text.chars().count() > MAX_TEXT) {
        return Err(Problem::invalid_request(format!("q: at most {MAX_TEXT} characters")));
    }
    if text.as_ref().is_some_and(|text| text.contains('\0')) {
        return Err(Problem::invalid_request("q: it contains U+0000"));
    }
    // This server generates the IDs of its groups, so another form is a mistake of the client.
    let group: Option<GroupId> = one(request, "group", "write the ID of a group")?;
    if group.as_ref().is_some_and(|group| !group.is_generated()) {
        return Err(Problem::invalid_request("group: write the ID of a group"));
    }
    Ok(PeopleQuery {
        text,
        role: one::<Role>(request, "role", "write the name of a built-in role or the ID of another")?,
        active: one(request, "active", "write true or false")?,
        has_factor: one(request, "factor", "write true or false")?,
        source: one::<Source>(request, "source", "write INVITED or SCIM")?,
        uses_sso: one(request, "sso", "write true or false")?,
        group,
    })
}

/// Reads a parameter. An empty one, as forms send it, restricts nothing.
fn one<T: FromStr>(request: &HttpRequest, name: &str, help: &str) -> Result<Option<T>, Problem> {
    let value = query(request, name).filter(|value| !value.is_empty());
    let value = value.map(|value| value.parse()).transpose();
    value.map_err(|_| Problem::invalid_request(format!("{name}: {help}")))
}

/// Returns the cost of a page of this list. Only the whole list is read by an index alone.
pub(crate) fn cost(filter: &PeopleQuery) -> Cost {
    if *filter == PeopleQuery::default() { Cost::Indexed } else { Cost::Scan }
}
