//! `/api/settings/sign-in-policy`

use actix_web::{HttpResponse, get, put, web};
use audit::{Audited, Event, events::policies::SignInPolicyChanged};
use credentials::{SignInPolicy, SignInStore};
use kernel::Ctx;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Site, lockout, openapi::values};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::{Administer, AdministerInPerson},
    step_up::{SignInPolicyChange, StepUp},
};

/// What a tenant asks of those who sign in.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = SignInPolicy)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes credentials::SignInPolicy")]
struct PolicyShape {
    /// `CREDENTIALS_ONLY`, `SSO_ALLOWED` or `SSO_REQUIRED`.
    #[schema(value_type = values::SignInMode)]
    sign_in_mode: String,
    mfa: MfaShape,
    session: SessionShape,
    /// Absent where nothing was set.
    pat: Option<PatShape>,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = MfaPolicy)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes credentials::MfaPolicy")]
struct MfaShape {
    /// Whether everybody needs a second factor.
    required: bool,
    /// `WEBAUTHN`, `TOTP` or both; the first alone forces one that resists phishing.
    #[schema(value_type = Vec<values::FactorType>, min_items = 1)]
    accepted_factors: Vec<String>,
    /// Whether an identity provider is trusted to have asked for one.
    trust_sso_mfa: bool,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = SessionPolicy)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes credentials::SessionPolicy")]
struct SessionShape {
    /// Minutes without use, 5 to 43200.
    #[schema(minimum = 5, maximum = 43200)]
    idle_minutes: i64,
    /// Days since the sign-in, 1 to 365.
    #[schema(minimum = 1, maximum = 365)]
    absolute_days: i64,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = PatPolicy)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes credentials::PatPolicy")]
struct PatShape {
    /// Days that a personal access token is valid at most, 1 to 366; null: no limit. Holds for tokens there are, too.
    #[schema(minimum = 1, maximum = 366)]
    max_days: Option<i64>,
    /// The scopes that personal access tokens may use; null: all. Tokens there are lose the others.
    #[schema(value_type = Option<Vec<values::TokenScope>>)]
    allowed_scopes: Option<Vec<String>>,
}

/// Read the sign-in policy
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The policy.", body = PolicyShape))
)]
#[get("/api/settings/sign-in-policy")]
pub(crate) async fn get_sign_in_policy(access: Access<Administer>) -> Result<HttpResponse, Problem> {
    let policy = access.read(async |_: &Ctx, tx: &mut Tx| tx.sign_in_policy().await).await?;
    Ok(answer(&policy))
}

/// Set the sign-in policy
///
/// Needs a fresh proof (`SIGN_IN_POLICY_CHANGE`). In force from the next request on. A policy under which no administrator
/// could sign in is refused, and `error` names what is missing. Without `pat`, what is set for personal access tokens stays.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = [])),
    request_body = PolicyShape,
    responses(
        (status = 200, description = "The policy as it is now.", body = PolicyShape),
        (status = 400, description = "A field is missing, unknown or out of range."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in any more."),
    )
)]
#[put("/api/settings/sign-in-policy")]
pub(crate) async fn put_sign_in_policy(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<SignInPolicyChange>,
    body: Json<SignInPolicy>,
) -> Result<HttpResponse, Problem> {
    let policy = body.0;
    check(&policy).map_err(Problem::invalid_request)?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let changed = change(ctx, tx, policy.clone()).await?;
        lockout::guard_policy(&site, &policy, ctx, tx).await?;
        Ok::<_, Problem>(changed.with(spending.events()?))
    };
    Ok(answer(&access.write(work).await?))
}

/// Checks a policy, the names of its scopes too: what is wrong, beginning with the JSON path.
pub(crate) fn check(policy: &SignInPolicy) -> Result<(), String> {
    policy.check().map_err(|error| error.to_string())?;
    let scopes = policy.pat.iter().flat_map(|pat| pat.allowed_scopes.iter().flatten());
    for (place, scope) in scopes.enumerate() {
        scope.parse::<tokens::Scope>().map_err(|error| format!("pat.allowedScopes[{place}]: {error}"))?;
    }
    Ok(())
}

/// Keeps a policy of the unit of work's tenant. Without `pat`, what is set for personal access tokens stays.
pub(crate) async fn change(
    ctx: &Ctx,
    tx: &mut Tx,
    mut policy: SignInPolicy,
) -> Result<Audited<SignInPolicy>, kernel::StoreError> {
    let before = tx.sign_in_policy_to_change().await?;
    policy.pat = policy.pat.or_else(|| before.pat.clone());
    let changed = policy.changed_from(&before);
    if changed.is_empty() {
        return Ok(Audited::without(policy, audit::Unaudited::NothingChanged));
    }
    tx.set_sign_in_policy(&policy).await?;
    let event = Event::new(ctx.tenant.as_str(), &SignInPolicyChanged { changed });
    Ok(Audited::new(policy, event))
}
