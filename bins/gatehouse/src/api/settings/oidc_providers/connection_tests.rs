//! `/api/settings/oidc-providers/{id}/test`: test sign-ins that produce a report and no session.

use actix_web::{get, post, web};
use credentials::attempts;
use kernel::{Ctx, Timestamp};
use saml_sp::{
    Attribute, ConnectionTest, ConnectionTestId, ConnectionTestStore, Finding, ProviderId, TestCheck,
    TestOutcome, TestStatus, TestUser,
};
use serde::Serialize;
use sign_in::sso::{
    self,
    oidc::{OidcProvider, OidcStore, unanswered_report},
};
use store::Tx;
use utoipa::ToSchema;

use super::oidc_found;
use crate::api::{Answer, Call, oidc::relying_party, openapi::values};
use gate::{
    body::answer,
    errors::Problem,
    permissions::{InPerson, ManageConnections},
};

/// A connection test, waiting for a response.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OidcTestBegun)]
struct Begun {
    /// `try_…`
    id: String,
    /// URL to open in a browser. Leads to the provider and back without signing in.
    #[schema(format = "uri")]
    login_url: String,
    /// Expiry of the connection test.
    #[schema(value_type = String, format = "date-time")]
    expires_at: Timestamp,
    /// Findings before the sign-in.
    checks: Vec<Finding>,
}

/// A check in a connection test.
#[derive(Serialize, ToSchema)]
#[schema(as = OidcTestCheck)]
struct CheckView {
    #[schema(value_type = values::OidcTestCheckName)]
    check: String,
    outcome: TestOutcome,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::OidcTestReason>)]
    reason: Option<String>,
    /// Actual and expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    detail: Option<String>,
}

impl From<TestCheck> for CheckView {
    fn from(check: TestCheck) -> Self {
        let reason = check.reason.map(Into::into);
        Self { check: check.check.into(), outcome: check.outcome, reason, detail: check.detail }
    }
}

/// A connection test and its result.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OidcTest)]
struct TestView {
    /// `try_…`
    id: String,
    /// `WAITING` for a response, `PASSED`, `FAILED`, or `EXPIRED` without a response.
    status: TestStatus,
    /// In the order in which they run.
    checks: Vec<CheckView>,
    /// Claims of the ID token.
    attributes: Vec<Attribute>,
    /// Email address found in the claims, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    email: Option<String>,
    /// Authentication context class of the sign-in at the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    authn_context: Option<String>,
    /// User who would have been signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    user: Option<TestUser>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    finished_at: Option<Timestamp>,
}

impl TestView {
    fn of(test: ConnectionTest, provider: &OidcProvider, now: Timestamp) -> Self {
        let status = test.status(now);
        let finished_at = test.report.as_ref().map(|report| report.finished_at);
        let report = test.report.unwrap_or_else(|| unanswered_report(provider, now));
        Self {
            id: test.id.to_string(),
            status,
            checks: report.checks.into_iter().map(CheckView::from).collect(),
            attributes: report.attributes,
            email: report.email,
            authn_context: report.authn_context,
            user: report.user,
            created_at: test.created_at,
            finished_at,
        }
    }
}

/// Start a connection test with OpenID Connect
///
/// Checks the configuration and returns a URL for a complete sign-in that only produces a report. Valid for 15 minutes and
/// one response.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The connection test, waiting for a response.", body = Begun),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/oidc-providers/{id}/test")]
pub(crate) async fn test_oidc_provider(call: Call<InPerson<ManageConnections>>) -> Answer {
    let id: ProviderId = call.id()?;
    let wanted = id.clone();
    let there = call.read(async move |_: &Ctx, tx: &mut Tx| tx.oidc_provider(&wanted).await).await?;
    there.ok_or_else(Problem::not_found)?;
    call.attempt(attempts::look_up(call.tenant())).await?;
    let user = call.caller().session.user.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (provider, tenant) = oidc_found(tx, &id).await?;
        let started = sso::start_test(ctx, tx, id, user).await?;
        Ok::<_, Problem>(started.map(|test| (provider, tenant, test)))
    };
    let (provider, tenant, test) = call.write(work).await?;
    let login_url = format!("{}?test={}", relying_party(&call.site, &provider.id).login_url, test.id);
    let checks = provider.findings(&tenant, call.ctx().now);
    Ok(answer(&Begun { id: test.id.to_string(), login_url, expires_at: test.expires_at, checks }))
}

/// Get the result of a connection test with OpenID Connect
///
/// Includes the claims that the provider sent. Kept for one day.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("tryId" = String, Path, description = "try_…"),
    ),
    responses(
        (status = 200, description = "The connection test, with its result.", body = TestView),
        (status = 404, description = "Unknown SSO connection or connection test."),
    )
)]
#[get("/api/settings/oidc-providers/{id}/tests/{tryId}")]
pub(crate) async fn get_oidc_test(call: Call<ManageConnections>, ids: web::Path<(String, String)>) -> Answer {
    let id: ProviderId = ids.0.parse().map_err(|_| Problem::not_found())?;
    let test: ConnectionTestId = ids.1.parse().map_err(|_| Problem::not_found())?;
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let provider = tx.oidc_provider(&id).await?;
        Ok::<_, Problem>(provider.zip(tx.connection_test(&test).await?))
    };
    let found = call.read(find).await?.filter(|(provider, test)| test.provider == provider.id);
    let (provider, test) = found.ok_or_else(Problem::not_found)?;
    Ok(answer(&TestView::of(test, &provider, call.ctx().now)))
}
