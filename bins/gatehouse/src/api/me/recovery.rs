//! `POST /api/me/recovery-codes`

use actix_web::post;
use audit::Audited;
use credentials::{Factor, FactorStore};
use kernel::Ctx;
use serde::Serialize;
use sessions::GraceAct;
use sign_in::recovery_codes;
use store::Tx;
use utoipa::ToSchema;

use super::locked::{Proof, lock};
use crate::api::{Answer, Call};
use gate::{
    body::answer,
    errors::{Code, Problem},
    permissions::OwnAccount,
};

/// Recovery codes, shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewRecoveryCodes {
    /// Ten codes, each usable once.
    codes: Vec<String>,
}

/// Generate recovery codes
///
/// Replaces all recovery codes by ten new ones. Requires a step-up (`ACCOUNT_SECURITY_CHANGE`). The session that
/// enrolled the first factor needs none for 15 minutes.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The codes, shown once.", body = NewRecoveryCodes),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "The user has no factor that recovery codes could replace."),
    )
)]
#[post("/api/me/recovery-codes")]
pub(crate) async fn generate_recovery_codes(call: Call<OwnAccount>, proof: Proof) -> Answer {
    let signed = call.caller().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (_, session) = lock(tx, &signed).await?;
        if !tx.factors(&session.user).await?.iter().any(Factor::is_verified) {
            return Err(Problem::new(Code::Conflict, "enrol a second factor first"));
        }
        // Do not consume the grace: the user may have lost the page with the codes.
        let mut events = if session.has_grace(GraceAct::GenerateCodes, ctx.now) {
            Vec::new()
        } else {
            proof.consume(ctx, tx).await?.events()?
        };
        let (codes, event) = recovery_codes::generate(ctx, tx, &session.user).await?;
        let codes = NewRecoveryCodes { codes: codes.iter().map(|code| code.expose().clone()).collect() };
        events.push(event);
        Ok::<_, Problem>(Audited::of_changes(codes, events))
    };
    Ok(answer(&call.write(work).await?))
}
