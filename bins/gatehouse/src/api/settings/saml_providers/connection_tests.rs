//! `/api/settings/saml-providers/{id}/test`: test sign-ins that produce a report and no session.

use actix_web::{get, post, web};
use audit::{Audited, Event, events::saml::SamlProviderTested};
use credentials::attempts;
use kernel::{Ctx, Timestamp, UserId};
use saml_sp::{ConnectionTest, ConnectionTestId, ConnectionTestStore, ProviderId, ProviderStore, Step};
use serde::Serialize;
use serde_json::{Map, Value, json};
use store::Tx;
use utoipa::ToSchema;

use super::{
    findings::{Finding, findings},
    found,
    shown::login_url,
};
use crate::api::{Answer, Call, openapi::values};
use gate::{
    body::answer,
    errors::Problem,
    permissions::{Administer, AdministerInPerson},
};

/// Minutes until an unused test expires.
const TEST_MINUTES: i64 = 15;

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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = SamlTest)]
#[expect(dead_code, reason = "describes what is kept as JSON")]
struct TestShape {
    /// `try_…`
    id: String,
    /// `WAITING` for a response, `PASSED`, `FAILED`, or `EXPIRED` without a response.
    #[schema(value_type = values::SamlTestStatus)]
    status: String,
    /// In the order in which they run.
    checks: Vec<CheckShape>,
    /// Attributes that the identity provider sent.
    attributes: Vec<AttributeShape>,
    name_id: Option<NameIdShape>,
    /// Email address found in the assertion, if any.
    email: Option<String>,
    /// Authentication context class of the sign-in at the identity provider.
    authn_context: Option<String>,
    /// User who would have been signed in.
    user: Option<UserShape>,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(format = "date-time")]
    finished_at: Option<String>,
}

#[derive(ToSchema)]
#[schema(as = SamlTestCheck)]
#[expect(dead_code, reason = "describes what is kept as JSON")]
struct CheckShape {
    /// `ENCODING`, `XML`, `STRUCTURE`, `SIGNATURE`, `DECRYPTION`, `STATUS`, `ADDRESSING`, `CONDITIONS`, `SUBJECT`, `REQUEST`, `REPLAY`,
    /// `EMAIL` or `ACCOUNT`.
    #[schema(value_type = values::SamlTestCheckName)]
    check: String,
    /// `PASSED`, `FAILED` or `NOT_REACHED`.
    #[schema(value_type = values::SamlTestOutcome)]
    outcome: String,
    /// Why it failed.
    #[schema(value_type = Option<values::SamlRefusalReason>)]
    reason: Option<String>,
    /// Actual and expected value.
    detail: Option<String>,
}

#[derive(ToSchema)]
#[schema(as = SamlAttribute)]
#[expect(dead_code, reason = "describes what is kept as JSON")]
struct AttributeShape {
    name: String,
    values: Vec<String>,
}

#[derive(ToSchema)]
#[schema(as = SamlNameId)]
#[expect(dead_code, reason = "describes what is kept as JSON")]
struct NameIdShape {
    format: Option<String>,
    value: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = SamlTestUser)]
#[expect(dead_code, reason = "describes what is kept as JSON")]
struct UserShape {
    /// `usr_…`
    id: String,
    display_name: Option<String>,
    email: Option<String>,
    active: bool,
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
pub(crate) async fn test_saml_provider(call: Call<AdministerInPerson>) -> Answer {
    let id: ProviderId = call.id()?;
    let wanted = id.clone();
    let there = call.read(async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await).await?;
    there.ok_or_else(Problem::not_found)?;
    call.attempt(attempts::look_up(call.tenant())).await?;
    let user = call.caller().session.user.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (provider, around) = found(tx, &id).await?;
        let trial = new_connection_test(ctx, id, user);
        tx.insert_connection_test(&trial).await?;
        let event =
            Event::new(provider.id.as_str(), &SamlProviderTested { test: trial.id.as_str().to_owned() });
        Ok::<_, Problem>(Audited::new((provider, around, trial), event))
    };
    let (provider, around, trial) = call.write(work).await?;
    let login_url = format!("{}?test={}", login_url(&call.site.pipeline.base_url, &provider), trial.id);
    let checks = findings(&provider, &around, call.ctx().now);
    Ok(answer(&Begun { id: trial.id.to_string(), login_url, expires_at: trial.expires_at, checks }))
}

fn new_connection_test(ctx: &Ctx, provider: ProviderId, user: UserId) -> ConnectionTest {
    ConnectionTest {
        id: ConnectionTestId::new(&*ctx.env),
        provider,
        user,
        created_at: ctx.now,
        expires_at: ctx.now.plus_millis(TEST_MINUTES * 60_000),
        report: None,
    }
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
        (status = 200, description = "The connection test, with its result.", body = TestShape),
        (status = 404, description = "Unknown SSO connection or connection test."),
    )
)]
#[get("/api/settings/saml-providers/{id}/tests/{tryId}")]
pub(crate) async fn get_saml_test(call: Call<Administer>, ids: web::Path<(String, String)>) -> Answer {
    let provider: ProviderId = ids.0.parse().map_err(|_| Problem::not_found())?;
    let id: ConnectionTestId = ids.1.parse().map_err(|_| Problem::not_found())?;
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.connection_test(&id).await).await?;
    let found = found.filter(|trial| trial.provider == provider).ok_or_else(Problem::not_found)?;
    Ok(answer(&report_json(found, call.ctx().now)))
}

/// Combines a test with its report, or with an empty report while there is no response.
fn report_json(trial: ConnectionTest, now: Timestamp) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("id".into(), trial.id.as_str().into());
    let waits = now < trial.expires_at;
    let (report, status) = match trial.report {
        Some(Value::Object(mut report)) => {
            let passed = report.remove("passed") == Some(Value::Bool(true));
            // The API omits absent members instead of returning `null`.
            report.retain(|_, value| !value.is_null());
            (report, if passed { "PASSED" } else { "FAILED" })
        }
        _ => (unreached(), if waits { "WAITING" } else { "EXPIRED" }),
    };
    shown.insert("status".into(), status.into());
    shown.extend(report);
    shown.insert("createdAt".into(), trial.created_at.to_string().into());
    shown
}

/// Returns the report of a test without a response.
fn unreached() -> Map<String, Value> {
    let check = |step: Step| json!({ "check": step.as_str(), "outcome": "NOT_REACHED" });
    let mut report = Map::new();
    report.insert("checks".into(), Step::ALL.into_iter().map(check).collect());
    report.insert("attributes".into(), json!([]));
    report
}
