//! `/auth/enrol`: a second factor before anything else, where the tenant asks for one.

use actix_web::{HttpRequest, HttpResponse, get, http::header, web};
use askama::Template;
use credentials::FactorKind;
use kernel::Ctx;
use sessions::Standing;
use store::Tx;

use super::{frame::PageFrame, frame::SignedInUser, frame::draw, next};
use crate::api::{Site, query::query};
use gate::{access::Access, errors::Problem, permissions::SigningIn, shape::AreaProblem};

pub(crate) const PATH: &str = "/auth/enrol";

#[derive(Template)]
#[template(path = "enrol.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    next: String,
    account: String,
    takes_passkeys: bool,
    takes_apps: bool,
}

/// The page for a session that has to enrol a factor.
#[get("/auth/enrol")]
pub(crate) async fn enrol(
    site: web::Data<Site>,
    access: Access<SigningIn>,
    request: HttpRequest,
) -> Result<HttpResponse, AreaProblem> {
    drawn(&site, &access, &request).await.map_err(|problem| AreaProblem::of(&request, problem))
}

async fn drawn(
    site: &Site,
    access: &Access<SigningIn>,
    request: &HttpRequest,
) -> Result<HttpResponse, Problem> {
    let next = next::local(&site.pipeline.base_url, query(request, "next").as_deref());
    let session = &access.caller().session;
    if session.standing == Standing::Full {
        // Nothing is owed (any more).
        return Ok(HttpResponse::SeeOther().insert_header((header::LOCATION, next)).finish());
    }
    let user = session.user.clone();
    let find = async move |_: &Ctx, tx: &mut Tx| directory::find_person(tx, &user).await;
    let person = access.read(find).await?;
    let tenant = access.own_tenant().await?;
    let mfa = &access.caller().holder.policy.mfa;
    let mut shell = PageFrame::new(site, "Set up a second factor", "enrol.js");
    shell.person = Some(SignedInUser::of(&person, &tenant, &access.caller().session.id));
    draw(&Page {
        shell,
        next,
        account: person.account().to_owned(),
        takes_passkeys: mfa.accepts(FactorKind::Webauthn),
        takes_apps: mfa.accepts(FactorKind::Totp),
    })
}
