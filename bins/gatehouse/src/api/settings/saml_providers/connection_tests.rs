//! `/api/settings/saml-providers/{id}/test`: test sign-ins that produce a report and no session.

use actix_web::{get, post, web};
use credentials::attempts;
use kernel::{Ctx, Timestamp};
use saml_sp::{
    Attribute, ConnectionTest, ConnectionTestId, ConnectionTestStore, Finding, NameId, ProviderId,
    ProviderStore, TestCheck, TestReport, TestStatus, TestUser,
};
use serde::Serialize;
use sign_in::sso;
use store::Tx;
use utoipa::ToSchema;

use super::{found, views::login_url};
use crate::api::{Answer, Call};
use gate::{
    body::answer,
    errors::Problem,
    permissions::{InPerson, ManageConnections},
};

/// A connection test, waiting for a response.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlTestBegun)]
struct Begun {
    /// `try_…`
    id: String,
    /// URL to open in a browser. Leads to the identity provider and back without signing in.
    #[schema(format = "uri")]
    login_url: String,
    /// Expiry of the connection test.
    #[schema(value_type = String, format = "date-time")]
    expires_at: Timestamp,
    /// Findings before the sign-in.
    checks: Vec<Finding>,
}

/// Result of a webhook test.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlTest)]
struct TestView {
    /// `try_…`
    id: String,
    /// `WAITING` for a response, `PASSED`, `FAILED`, or `EXPIRED` without a response.
    status: TestStatus,
    /// In the order in which they run.
    checks: Vec<TestCheck>,
    /// Attributes that the identity provider sent.
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_id: Option<NameId>,
    /// Email address found in the assertion, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    /// Authentication context class of the sign-in at the identity provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    authn_context: Option<String>,
    /// User who would have been signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<TestUser>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "date-time")]
    finished_at: Option<Timestamp>,
}

impl TestView {
    fn of(test: ConnectionTest, now: Timestamp) -> Self {
        let status = test.status(now);
        let finished_at = test.report.as_ref().map(|report| report.finished_at);
        let report = test.report.unwrap_or_else(|| TestReport::unanswered(now));
        Self {
            id: test.id.to_string(),
            status,
            checks: report.checks,
            attributes: report.attributes,
            name_id: report.name_id,
            email: report.email,
            authn_context: report.authn_context,
            user: report.user,
            created_at: test.created_at,
            finished_at,
        }
    }
}

/// Start a connection test
///
/// Checks the configuration and returns a URL for a complete SAML sign-in that only produces a report. Valid for 15
/// minutes and one response.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The connection test, waiting for a response.", body = Begun),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/saml-providers/{id}/test")]
pub(crate) async fn test_saml_provider(call: Call<InPerson<ManageConnections>>) -> Answer {
    let id: ProviderId = call.id()?;
    let wanted = id.clone();
    let there = call.read(async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await).await?;
    there.ok_or_else(Problem::not_found)?;
    call.attempt(attempts::look_up(call.tenant())).await?;
    let user = call.caller().session.user.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (provider, tenant) = found(tx, &id).await?;
        let started = sso::start_test(ctx, tx, id, user).await?;
        Ok::<_, Problem>(started.map(|test| (provider, tenant, test)))
    };
    let (provider, tenant, test) = call.write(work).await?;
    let login_url = format!("{}?test={}", login_url(&call.site.pipeline.base_url, &provider), test.id);
    let checks = provider.findings(&tenant, call.ctx().now);
    Ok(answer(&Begun { id: test.id.to_string(), login_url, expires_at: test.expires_at, checks }))
}

/// Get the result of a connection test
///
/// Includes what the identity provider sent. Kept for one day.
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
#[get("/api/settings/saml-providers/{id}/tests/{tryId}")]
pub(crate) async fn get_saml_test(call: Call<ManageConnections>, ids: web::Path<(String, String)>) -> Answer {
    let provider: ProviderId = ids.0.parse().map_err(|_| Problem::not_found())?;
    let id: ConnectionTestId = ids.1.parse().map_err(|_| Problem::not_found())?;
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.connection_test(&id).await).await?;
    let found = found.filter(|trial| trial.provider == provider).ok_or_else(Problem::not_found)?;
    Ok(answer(&TestView::of(found, call.ctx().now)))
}
