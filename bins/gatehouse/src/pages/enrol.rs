//! `/auth/enrol`: enrolment of a second factor at sign-in, if the tenant requires one.

use actix_web::{HttpResponse, get, http::header};
use askama::Template;
use credentials::FactorKind;
use kernel::Ctx;
use sessions::Standing;
use store::Tx;

use super::{frame::PageFrame, frame::SignedInUser, frame::draw, next};
use crate::api::{Answer, Call, query::query};
use gate::{permissions::SigningIn, shape::AreaProblem};

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

/// Renders the page for a session that has to enrol a factor.
#[get("/auth/enrol")]
pub(crate) async fn enrol(call: Call<SigningIn>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<SigningIn>) -> Answer {
    let next = next::local(&call.site.pipeline.base_url, query(&call.request, "next").as_deref());
    let session = &call.caller().session;
    if session.standing == Standing::Full {
        // The session needs no enrolment (any more).
        return Ok(HttpResponse::SeeOther().insert_header((header::LOCATION, next)).finish());
    }
    let user = session.user.clone();
    let find = async move |_: &Ctx, tx: &mut Tx| directory::find_person(tx, &user).await;
    let person = call.read(find).await?;
    let tenant = call.own_tenant().await?;
    let mfa = &call.caller().holder.policy.mfa;
    let mut shell = PageFrame::new(&call.site, "Set up a second factor", "enrol.js");
    shell.person = Some(SignedInUser::of(&person, &tenant, &call.caller().session.id));
    draw(&Page {
        shell,
        next,
        account: person.account().to_owned(),
        takes_passkeys: mfa.accepts(FactorKind::Webauthn),
        takes_apps: mfa.accepts(FactorKind::Totp),
    })
}
