//! `POST /api/settings/webhooks/{id}/test`

use ::webhooks::{
    Attempt, AttemptError, DeliveryId, EventId, Outcome, Payload, PayloadActor, PayloadResource,
    SubscriptionId, SubscriptionStore, TEST,
};
use actix_web::{HttpResponse, post, web};
use credentials::attempts;
use kernel::{Ctx, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use store::Tx;
use utoipa::ToSchema;

use super::id_of;
use crate::api::{Site, openapi::values};
use gate::{access::Access, body::answer, errors::Problem, permissions::Administer};

/// What came of a test.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TestResult {
    /// What the receiver answered; null where it did not.
    #[schema(required)]
    http_status: Option<u16>,
    /// The beginning of the answer: 4 KiB at most.
    #[schema(required)]
    body: Option<String>,
    elapsed_ms: i64,
    /// `TIMEOUT`, `CONNECT`, `TLS` or `BLOCKED`, where there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::WebhookTestError>)]
    error: Option<&'static str>,
}

impl From<Outcome> for TestResult {
    fn from(outcome: Outcome) -> Self {
        let body = outcome.status.map(|_| String::from_utf8_lossy(&outcome.body).into_owned());
        Self {
            http_status: outcome.status,
            body,
            elapsed_ms: outcome.duration_ms,
            error: outcome.error.map(AttemptError::as_str),
        }
    }
}

/// Test a subscription
///
/// Sends an event of type `service.webhook.test`, signed like any other, and answers what came of it. It is no delivery, and is
/// tried once. Also while the subscription is disabled. Ten a minute in each tenant.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "What came of it, whatever that is.", body = TestResult),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/webhooks/{id}/test")]
pub(crate) async fn test_webhook(
    site: web::Data<Site>,
    access: Access<Administer>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    access.attempt(attempts::webhook_test(access.tenant())).await?;
    let wanted = id.clone();
    let found = access.read(async move |_: &Ctx, tx: &mut Tx| tx.subscription(&wanted).await).await?;
    let found = found.ok_or_else(Problem::not_found)?;
    let now = access.env().now();
    let signers = site.pipeline.keys.webhooks().signers((access.tenant(), &id), &found.secrets, now);
    let signers = signers.map_err(Problem::unforeseen)?;
    let attempt = test_attempt(access.ctx(), &id, now)?;
    let client = &site.webhooks.client;
    let sent = webhooks::sent(client, &found.url, &signers, &attempt, (now, site.webhooks.user_agent));
    let outcome = access.aside(sent).await?;
    tracing::info!(
        subscription = id.as_str(),
        status = outcome.status,
        error = outcome.error.map(AttemptError::as_str),
        "a webhook was tested"
    );
    Ok(answer(&TestResult::from(outcome)))
}

/// The one attempt to deliver a test event.
fn test_attempt(ctx: &Ctx, id: &SubscriptionId, now: Timestamp) -> Result<Attempt, Problem> {
    let event_id = EventId::new(&*ctx.env).to_string();
    let data = RawValue::from_string("{}".into()).map_err(Problem::unforeseen)?;
    let payload = Payload {
        id: &event_id,
        kind: TEST,
        created_at: now,
        tenant_id: ctx.tenant.as_str(),
        actor: Some(PayloadActor { id: &ctx.actor.id, kind: ctx.actor.kind.as_str() }),
        resource: PayloadResource { kind: "webhook", id: id.as_str() },
        data: &data,
    };
    let body = Some(payload.render());
    Ok(Attempt {
        id: DeliveryId::new(&*ctx.env),
        event_id,
        event_type: TEST.to_owned(),
        number: 1,
        is_fresh: true,
        body,
    })
}
