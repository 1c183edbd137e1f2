//! `POST /api/me/recovery-codes`

use actix_web::{HttpResponse, post};
use audit::{Audited, Event, events::credentials::RecoveryCodesGenerated};
use credentials::{Factor, FactorStore, recovery};
use kernel::Ctx;
use serde::Serialize;
use sessions::GraceAct;
use store::Tx;
use utoipa::ToSchema;

use super::locked::{Proof, lock};
use gate::{
    access::Access,
    body::answer,
    errors::{Code, Problem},
    permissions::OwnAccount,
};

/// Recovery codes; shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewRecoveryCodes {
    /// Ten, each good once.
    codes: Vec<String>,
}

/// Generate recovery codes
///
/// Ten new ones take the place of all there were. Needs a fresh proof (`ACCOUNT_SECURITY_CHANGE`), but for the
/// session that enrolled the first factor, for 15 minutes.
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The codes, this once.", body = NewRecoveryCodes),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "There is no factor that they could stand in for."),
    )
)]
#[post("/api/me/recovery-codes")]
pub(crate) async fn generate_recovery_codes(
    access: Access<OwnAccount>,
    proof: Proof,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (_, session) = lock(tx, &signed).await?;
        if !tx.factors(&session.user).await?.iter().any(Factor::is_verified) {
            return Err(Problem::new(Code::Conflict, "enrol a second factor first"));
        }
        // The grace is not used up: a lost page may be asked for again.
        let mut events = if session.has_grace(GraceAct::GenerateCodes, ctx.now) {
            Vec::new()
        } else {
            proof.consume(ctx, tx).await?.events()?
        };
        let codes = recovery::new_codes(&*ctx.env);
        let hashes: Vec<_> =
            codes.iter().map(|code| recovery::hash(&ctx.tenant, &session.user, code.expose())).collect();
        tx.replace_codes(&session.user, &hashes).await?;
        let codes = NewRecoveryCodes { codes: codes.iter().map(|code| code.expose().clone()).collect() };
        events.push(Event::new(session.user.as_str(), &RecoveryCodesGenerated {}));
        Ok::<_, Problem>(Audited::of_changes(codes, events))
    };
    Ok(answer(&access.write(work).await?))
}
