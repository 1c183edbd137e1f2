//! The frame of every page.

use actix_web::{HttpResponse, http::header};
use askama::Template;
use directory::{Role, Tenant};
use gate::{access::Access, errors::Problem, permissions::AdministerInPerson};
use kernel::Ctx;
use sessions::SessionId;
use store::Tx;

use crate::api::Site;

/// What every page has.
pub(crate) struct PageFrame<'a> {
    pub(crate) title: &'a str,
    /// What browsers must see before the path, or nothing that changes something is accepted.
    pub(crate) base_url: &'a str,
    /// The module that brings the page to life.
    pub(crate) script: &'static str,
    /// Its path, where there are ways to others.
    pub(crate) here: &'static str,
    /// Who is signed in.
    pub(crate) person: Option<SignedInUser>,
}

/// Who is signed in, as the head of a page says it.
#[derive(Clone)]
pub(crate) struct SignedInUser {
    pub(crate) name: String,
    pub(crate) tenant: String,
    /// Whether the settings are theirs.
    pub(crate) admin: bool,
    /// Which session the page was drawn for: an open page notices when it is another.
    pub(crate) session: String,
}

impl SignedInUser {
    pub(crate) fn of(person: &directory::Person, tenant: &directory::Tenant, session: &SessionId) -> Self {
        let name = person.display_name.clone().unwrap_or_else(|| person.account().to_owned());
        let admin = person.role == Role::Admin;
        Self { name, tenant: tenant.name.clone(), admin, session: session.to_string() }
    }
}

impl<'a> PageFrame<'a> {
    pub(crate) fn new(site: &'a Site, title: &'a str, script: &'static str) -> Self {
        Self { title, base_url: &site.pipeline.base_url, script, here: "", person: None }
    }
}

/// An administrator on a page of the settings, and the tenant.
pub(super) struct Administrator {
    who: SignedInUser,
    pub(super) tenant: Tenant,
}

impl Administrator {
    pub(super) async fn load(access: &Access<AdministerInPerson>) -> Result<Self, Problem> {
        let session = &access.caller().session;
        let user = session.user.clone();
        let find = async move |_: &Ctx, tx: &mut Tx| directory::find_person(tx, &user).await;
        let person = access.read(find).await?;
        let tenant = access.own_tenant().await?;
        Ok(Self { who: SignedInUser::of(&person, &tenant, &session.id), tenant })
    }

    /// The frame of a page at this path.
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

/// A page about a person: kept nowhere.
pub(crate) fn draw(page: &impl Template) -> Result<HttpResponse, Problem> {
    let text = page.render().map_err(Problem::unforeseen)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type("text/html; charset=utf-8")
        .body(text))
}
