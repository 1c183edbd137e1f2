//! The frame that all pages share.

use std::sync::Arc;

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::{StatusCode, header},
};
use askama::Template;
use directory::{HeldRoles, Permissions, Tenant};
use gate::{access::Access, caller::Signed, errors::Problem, permissions::Permission};
use kernel::Ctx;
use serde::Serialize;
use sessions::SessionId;
use store::Tx;

use super::sections;
use crate::api::Site;

/// Values for the frame of a page.
pub(crate) struct PageFrame<'a> {
    pub(crate) title: &'a str,
    /// The origin that users must open; requests from another origin that change something are refused.
    pub(crate) base_url: &'a str,
    /// The page's JavaScript module.
    pub(crate) script: &'static str,
    /// The page's path, to highlight it in the sidebar; empty if the page has none.
    pub(crate) here: &'static str,
    /// The signed-in user.
    pub(crate) person: Option<SignedInUser>,
    /// Responses of the API that the script needs at once.
    pub(crate) answers: Vec<EmbeddedAnswer>,
}

/// A response of the API, embedded in a page so that its script does not have to request it.
pub(crate) struct EmbeddedAnswer {
    /// Path and query of the request.
    pub(crate) path: String,
    pub(crate) json: String,
}

impl EmbeddedAnswer {
    pub(crate) fn new(path: impl Into<String>, value: &impl Serialize) -> Result<Self, Problem> {
        Ok(Self { path: path.into(), json: serde_json::to_string(value).map_err(Problem::unexpected)? })
    }
}

/// The signed-in user, as the page header shows it.
#[derive(Clone)]
pub(crate) struct SignedInUser {
    pub(crate) name: String,
    pub(crate) tenant: String,
    /// Slug of the tenant.
    pub(crate) slug: String,
    /// What the user may do with the settings.
    pub(crate) permissions: Permissions,
    /// ID of the session for which the page was rendered. An open page detects when it changes.
    pub(crate) session: String,
}

impl SignedInUser {
    pub(crate) fn of(
        person: &directory::Person,
        roles: &HeldRoles,
        tenant: &directory::Tenant,
        session: &SessionId,
    ) -> Self {
        Self {
            name: person.name().to_owned(),
            tenant: tenant.name.clone(),
            slug: tenant.slug.clone(),
            permissions: roles.permissions,
            session: session.to_string(),
        }
    }
}

impl<'a> PageFrame<'a> {
    pub(crate) fn new(site: &'a Site, title: &'a str, script: &'static str) -> Self {
        Self { title, base_url: &site.pipeline.base_url, script, here: "", person: None, answers: Vec::new() }
    }

    /// Embeds responses of the API.
    pub(super) fn embed(self, answers: Vec<EmbeddedAnswer>) -> Self {
        Self { answers, ..self }
    }

    /// Returns whether the page shows the sections of the settings.
    pub(super) fn has_sections(&self) -> bool {
        !self.here.is_empty() && self.person.as_ref().is_some_and(|person| !person.permissions.is_empty())
    }

    /// Returns the sections that the user may open.
    pub(super) fn sections(&self) -> impl Iterator<Item = &'static sections::Section> {
        let permissions = self.person.as_ref().map_or(Permissions::NONE, |person| person.permissions);
        sections::open_to(permissions)
    }
}

/// The user and the tenant of a settings page.
pub(super) struct Administrator {
    who: SignedInUser,
    pub(super) tenant: Tenant,
}

impl Administrator {
    pub(super) async fn load<P>(access: &Access<P>) -> Result<Self, Problem>
    where
        P: Permission<Caller = Arc<Signed>>,
    {
        let Signed { session, holder } = &**access.caller();
        let user = session.user.clone();
        let find = async move |_: &Ctx, tx: &mut Tx| directory::find_person(tx, &user).await;
        let person = access.read(find).await?;
        let tenant = access.own_tenant().await?;
        Ok(Self { who: SignedInUser::of(&person, &holder.roles, &tenant, &session.id), tenant })
    }

    /// Builds the frame of the page at this path.
    pub(super) fn shell<'a>(
        &self,
        site: &'a Site,
        title: &'a str,
        script: &'static str,
        here: &'static str,
    ) -> PageFrame<'a> {
        PageFrame { here, person: Some(self.who.clone()), ..PageFrame::new(site, title, script) }
    }
}

/// Renders a page. It must not be cached, because it has personal data or explains an error.
pub(crate) fn draw(page: &impl Template) -> Result<HttpResponse, Problem> {
    draw_as(StatusCode::OK, page)
}

/// Renders a page with this status.
pub(crate) fn draw_as(status: StatusCode, page: &impl Template) -> Result<HttpResponse, Problem> {
    let text = page.render().map_err(Problem::unexpected)?;
    Ok(HttpResponseBuilder::new(status)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type("text/html; charset=utf-8")
        .body(text))
}
