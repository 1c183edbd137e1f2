//! `POST /api/settings/webhooks/{id}/test`

use ::webhooks::{Attempt, AttemptError, Outcome, SubscriptionId};
use actix_web::post;
use credentials::attempts;
use kernel::Ctx;
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, openapi::values};
use gate::{body::answer, errors::Problem, permissions::ManageWebhooks};

/// Result of a webhook test.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TestResult {
    /// Status of the response; null without a response.
    #[schema(required)]
    http_status: Option<u16>,
    /// First 4 KiB of the response.
    #[schema(required)]
    body: Option<String>,
    elapsed_ms: i64,
    /// `TIMEOUT`, `CONNECT`, `TLS` or `BLOCKED`, if there was no response.
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

/// Test a webhook
///
/// Sends a signed event of type `service.webhook.test` once and returns the result. It is not listed as a delivery.
/// Works for disabled webhooks. Ten per minute and tenant.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The result, also if the test failed.", body = TestResult),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/webhooks/{id}/test")]
pub(crate) async fn test_webhook(call: Call<ManageWebhooks>) -> Answer {
    let id: SubscriptionId = call.id()?;
    call.attempt(attempts::webhook_test(call.tenant())).await?;
    let wanted = id.clone();
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| webhooks::find(tx, &wanted).await).await?;
    let now = call.env().now();
    let signers = call.site.pipeline.keys.webhooks().signers((call.tenant(), &id), &found.secrets, now);
    let signers = signers.map_err(Problem::unexpected)?;
    let attempt = Attempt::test(call.ctx(), &id, now);
    let client = &call.site.webhooks.client;
    let sent = webhooks::sent(client, &found.url, &signers, &attempt, (now, call.site.webhooks.user_agent));
    let outcome = call.without_slot(sent).await?;
    tracing::info!(
        subscription = id.as_str(),
        status = outcome.status,
        error = outcome.error.map(AttemptError::as_str),
        "a webhook was tested"
    );
    Ok(answer(&TestResult::from(outcome)))
}
