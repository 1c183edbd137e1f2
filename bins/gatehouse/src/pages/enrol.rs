//! `/auth/enrol`: enrolment of a second factor at sign-in. With `offer`, users may skip it unless the tenant requires one.

use actix_web::{HttpResponse, get, http::header};
use askama::Template;
use credentials::{Factor, FactorKind, FactorStore};
use kernel::Ctx;
use sessions::Standing;
use store::Tx;

use super::{frame::PageFrame, frame::SignedInUser, frame::draw, next};
use crate::api::{Answer, Call, query::query};
use gate::{errors::Problem, permissions::SigningIn, shape::AreaProblem};

pub(crate) const PATH: &str = "/auth/enrol";

#[derive(Template)]
#[template(path = "enrol.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    next: String,
    account: String,
    /// Whether the tenant requires a factor before the session may do anything else.
    is_owed: bool,
    takes_passkeys: bool,
    takes_apps: bool,
}

/// Renders the page for a session that has to enrol a factor.
#[get("/auth/enrol")]
pub(crate) async fn enrol(call: Call<SigningIn>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<SigningIn>) -> Answer {
    let next = next::place_after(&call.site, query(&call.request, "next").as_deref());
    let session = &call.caller().session;
    let is_owed = session.standing != Standing::Full;
    let user = session.user.clone();
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let has_factor = tx.factors(&user).await?.iter().any(Factor::is_verified);
        Ok::<_, Problem>((directory::find_person(tx, &user).await?, has_factor))
    };
    let (person, has_factor) = call.read(find).await?;
    let is_offered = query(&call.request, "offer").is_some() && !has_factor;
    if !is_owed && !is_offered {
        // The session needs no enrolment (any more).
        return Ok(HttpResponse::SeeOther().insert_header((header::LOCATION, next)).finish());
    }
    let tenant = call.own_tenant().await?;
    let mfa = &call.caller().holder.policy.mfa;
    let title = if is_owed { "Set up a second factor" } else { "Protect your account" };
    let mut shell = PageFrame::new(&call.site, title, "enrol.js");
    shell.person =
        Some(SignedInUser::of(&person, &call.caller().holder.roles, &tenant, &call.caller().session.id));
    draw(&Page {
        shell,
        next,
        account: person.account().to_owned(),
        is_owed,
        takes_passkeys: call.site.auth.passkeys_work() && mfa.accepts(FactorKind::Webauthn),
        takes_apps: mfa.accepts(FactorKind::Totp),
    })
}
