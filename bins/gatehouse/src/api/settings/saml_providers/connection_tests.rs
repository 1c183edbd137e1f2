//! `/api/settings/saml-providers/{id}/test`: a sign-in that is looked at instead of let in.

use actix_web::{HttpResponse, get, post, web};
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
    found, id_of,
    shown::login_url,
};
use crate::api::{Site, openapi::values};
use gate::{
    access::Access,
    body::answer,
    errors::Problem,
    permissions::{Administer, AdministerInPerson},
};

/// Minutes that a test waits for somebody to go through it.
const TEST_MINUTES: i64 = 15;

/// A test that has begun.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlTestBegun)]
struct Begun {
    /// `try_…`
    id: String,
    /// To be opened in a browser: it leads to the identity provider and back, and signs nobody in.
    #[schema(format = "uri")]
    login_url: String,
    /// Until when that can be done.
    #[schema(value_type = String, format = "date-time")]
    expires_at: Timestamp,
    /// What can be said before.
    checks: Vec<Finding>,
}

/// What came of a test.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = SamlTest)]
#[expect(dead_code, reason = "describes what is kept as JSON")]
struct TestShape {
    /// `try_…`
    id: String,
    /// `WAITING` for somebody to go through it, `PASSED`, `FAILED`, or `EXPIRED`: nobody did in time.
    #[schema(value_type = values::SamlTestStatus)]
    status: String,
    /// In the order in which they are made.
    checks: Vec<CheckShape>,
    /// What the identity provider said of the person.
    attributes: Vec<AttributeShape>,
    name_id: Option<NameIdShape>,
    /// The address that was found, if there was one.
    email: Option<String>,
    /// How they signed in there.
    authn_context: Option<String>,
    /// Who would have been signed in.
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
    /// What was found, and what was expected.
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

/// Test an identity provider
///
/// Says what is odd about how it is set up, and makes an address that leads through a whole sign-in for nothing but a
/// report. Good for 15 minutes and one answer.
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The test, which waits.", body = Begun),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/saml-providers/{id}/test")]
pub(crate) async fn test_saml_provider(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let wanted = id.clone();
    let there = access.read(async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await).await?;
    there.ok_or_else(Problem::not_found)?;
    access.attempt(attempts::look_up(access.tenant())).await?;
    let user = access.caller().session.user.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (provider, around) = found(tx, &id).await?;
        let trial = new_connection_test(ctx, id, user);
        tx.insert_connection_test(&trial).await?;
        let event =
            Event::new(provider.id.as_str(), &SamlProviderTested { test: trial.id.as_str().to_owned() });
        Ok::<_, Problem>(Audited::new((provider, around, trial), event))
    };
    let (provider, around, trial) = access.write(work).await?;
    let login_url = format!("{}?test={}", login_url(&site.pipeline.base_url, &provider), trial.id);
    let checks = findings(&provider, &around, access.ctx().now);
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

/// Read what came of a test
///
/// With what the identity provider said, for a day.
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("tryId" = String, Path, description = "try_…"),
    ),
    responses(
        (status = 200, description = "The test, whatever came of it.", body = TestShape),
        (status = 404, description = "The tenant has no such provider, or that no such test."),
    )
)]
#[get("/api/settings/saml-providers/{id}/tests/{tryId}")]
pub(crate) async fn get_saml_test(
    access: Access<Administer>,
    ids: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let provider = id_of(&ids.0)?;
    let id: ConnectionTestId = ids.1.parse().map_err(|_| Problem::not_found())?;
    let found = access.read(async move |_: &Ctx, tx: &mut Tx| tx.connection_test(&id).await).await?;
    let found = found.filter(|trial| trial.provider == provider).ok_or_else(Problem::not_found)?;
    Ok(answer(&report_json(found, access.ctx().now)))
}

/// The report of a test together with what is known without one.
fn report_json(trial: ConnectionTest, now: Timestamp) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("id".into(), trial.id.as_str().into());
    let waits = now < trial.expires_at;
    let (report, status) = match trial.report {
        Some(Value::Object(mut report)) => {
            let passed = report.remove("passed") == Some(Value::Bool(true));
            // What there is none of is left out, as everywhere.
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

/// The report of a test that nobody has gone through.
fn unreached() -> Map<String, Value> {
    let check = |step: Step| json!({ "check": step.as_str(), "outcome": "NOT_REACHED" });
    let mut report = Map::new();
    report.insert("checks".into(), Step::ALL.into_iter().map(check).collect());
    report.insert("attributes".into(), json!([]));
    report
}
