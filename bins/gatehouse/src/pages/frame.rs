//! The frame of every page.

use actix_web::{HttpResponse, http::header};
use askama::Template;
use directory::Role;
use gate::errors::Problem;
use sessions::SessionId;

use crate::http::Site;

/// What every page has.
pub(super) struct Shell<'a> {
    pub(super) title: &'a str,
    /// What browsers must see before the path, or nothing that changes something is accepted.
    pub(super) base_url: &'a str,
    /// The module that brings the page to life.
    pub(super) script: &'static str,
    /// Its path, where there are ways to others.
    pub(super) here: &'static str,
    /// Who is signed in.
    pub(super) person: Option<Who>,
}

/// Who is signed in, as the head of a page says it.
pub(super) struct Who {
    pub(super) name: String,
    pub(super) tenant: String,
    /// Whether the settings are theirs.
    pub(super) admin: bool,
    /// Which session the page was drawn for: an open page notices when it is another.
    pub(super) session: String,
}

impl Who {
    pub(super) fn of(person: &directory::Person, tenant: &directory::Tenant, session: &SessionId) -> Self {
        let name = person.display_name.clone().unwrap_or_else(|| person.account().to_owned());
        let admin = person.role == Role::Admin;
        Self { name, tenant: tenant.name.clone(), admin, session: session.to_string() }
    }
}

impl<'a> Shell<'a> {
    pub(super) fn new(site: &'a Site, title: &'a str, script: &'static str) -> Self {
        Self { title, base_url: &site.pipeline.base_url, script, here: "", person: None }
    }
}

/// A page about a person: kept nowhere.
pub(super) fn draw(page: &impl Template) -> Result<HttpResponse, Problem> {
    let text = page.render().map_err(Problem::unforeseen)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type("text/html; charset=utf-8")
        .body(text))
}
