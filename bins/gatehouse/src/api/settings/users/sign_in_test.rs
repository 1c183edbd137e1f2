//! `POST /api/settings/users/{id}/sign-in-test`

use std::net::IpAddr;

use actix_web::post;
use kernel::{Ctx, UserId};
use serde::{Deserialize, Serialize};
use sign_in::{FactorName, Refusal, Rehearsal, Rehearsed, Way, rehearse};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::ReadUsers,
};

/// The first step of a sign-in.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum FirstStep {
    Password,
    Passkey,
    Sso,
}

/// The second factor that the user tries.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum TriedFactor {
    Webauthn,
    Totp,
    RecoveryCode,
}

/// A sign-in to test.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SignInTest {
    /// The first step: `PASSWORD`, `PASSKEY` (alone) or `SSO`. The password counts as right.
    first: FirstStep,
    /// The second factor, if one is requested; its answer counts as right. Absent: the test ends at the request.
    factor: Option<TriedFactor>,
    /// Address of the user. Absent: an unknown address, which a network policy blocks.
    #[schema(value_type = Option<String>)]
    ip: Option<IpAddr>,
}

/// What would happen.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum SignInTestResult {
    SignedIn,
    NeedsFactor,
    MustEnrol,
    Refused,
}

/// The first rule that refuses the sign-in.
#[derive(Serialize, ToSchema)]
struct SignInRefusal {
    /// Code of the rule, such as `SSO_REQUIRED`, `NETWORK_POLICY_BLOCKED` or `NO_PASSWORD`.
    code: &'static str,
    /// The cause, as a sentence.
    why: &'static str,
    /// The remedy, as a sentence.
    mend: &'static str,
}

impl From<Refusal> for SignInRefusal {
    fn from(refusal: Refusal) -> Self {
        Self { code: refusal.code(), why: refusal.why(), mend: refusal.mend() }
    }
}

/// The result of a test.
#[derive(Serialize, ToSchema)]
struct TestedSignIn {
    /// `SIGNED_IN`, `NEEDS_FACTOR`, `MUST_ENROL` (a second factor) or `REFUSED`.
    result: SignInTestResult,
    /// Why it is refused; `null` otherwise.
    #[schema(required)]
    refusal: Option<SignInRefusal>,
}

/// Test whether a user could sign in
///
/// Applies the rules of a sign-in in their order and returns the first that refuses it. Does not know whether the user's
/// password and codes are right. Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = SignInTest,
    responses(
        (status = 200, description = "What would happen.", body = TestedSignIn),
        (status = 400, description = "A field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/users/{id}/sign-in-test")]
pub(crate) async fn test_user_sign_in(call: Call<ReadUsers>, body: Json<SignInTest>) -> Answer {
    let id: UserId = call.id()?;
    let SignInTest { first, factor, ip } = body.0;
    let way = match first {
        FirstStep::Password => Way::Password,
        FirstStep::Passkey => Way::Passkey,
        FirstStep::Sso => Way::Sso,
    };
    let factor = factor.map(|factor| match factor {
        TriedFactor::Webauthn => FactorName::Webauthn,
        TriedFactor::Totp => FactorName::Totp,
        TriedFactor::RecoveryCode => FactorName::RecoveryCode,
    });
    let test = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        let has_sso = tx.has_sso(&person, ctx.now).await?;
        Ok::<_, Problem>(rehearse(tx, &person, &Rehearsal { way, factor, ip, has_sso }).await?)
    };
    let (result, refusal) = match call.read(test).await? {
        Rehearsed::SignedIn => (SignInTestResult::SignedIn, None),
        Rehearsed::NeedsFactor => (SignInTestResult::NeedsFactor, None),
        Rehearsed::MustEnrol => (SignInTestResult::MustEnrol, None),
        Rehearsed::Refused(refusal) => (SignInTestResult::Refused, Some(refusal.into())),
    };
    Ok(answer(&TestedSignIn { result, refusal }))
}
