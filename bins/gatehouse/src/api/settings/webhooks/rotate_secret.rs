//! `/api/settings/webhooks/{id}/rotate-secret`

use ::webhooks::{Rotation, SubscriptionView};
use actix_web::post;
use audit::{
    Audited, Event,
    events::webhooks::{WebhookRotationCompleted, WebhookSecretRotated},
};
use kernel::Ctx;
use store::Tx;

use super::respond;
use crate::api::{Answer, Call};
use gate::{
    body::OptionalJson,
    errors::Problem,
    permissions::{InPerson, ManageWebhooks},
    step_up::{StepUp, WebhookSecretRotate},
};

/// Rotate the signing secret
///
/// The response contains the new secret; it is not shown again. Until the overlap ends or the rotation is completed,
/// `X-Service-Signature` uses the previous secret, `X-Service-Signature-Next` the new one, and `webhook-signature`
/// contains both. Requires a step-up (`WEBHOOK_SECRET_ROTATE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    request_body = Option<Rotation>,
    responses(
        (status = 200, description = "The webhook, with its new signing secret, shown once.", body = SubscriptionView),
        (status = 400, description = "The overlap is not 0 to 168 hours."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason ROTATION_UNDER_WAY. An overlap of 0 never conflicts."),
    )
)]
#[post("/api/settings/webhooks/{id}/rotate-secret")]
pub(crate) async fn rotate_webhook_secret(
    call: Call<InPerson<ManageWebhooks>>,
    proof: StepUp<WebhookSecretRotate>,
    body: OptionalJson<Rotation>,
) -> Answer {
    let id = call.id()?;
    let (overlap_hours, keys) = (body.0.overlap_hours, call.site.pipeline.keys.webhooks());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let (rotated, secret) = webhooks::rotate(ctx, tx, &keys, &id, overlap_hours).await?;
        let data = WebhookSecretRotated { generation: rotated.secrets.current.number, overlap_hours };
        let event = Event::new(id.as_str(), &data);
        Ok::<_, Problem>(Audited::new((rotated, secret), event).with(spending.events()?))
    };
    let (rotated, secret) = call.write(work).await?;
    Ok(respond(&call, &rotated, Some(&secret)))
}

/// Complete the rotation of the signing secret
///
/// From now on only the new secret signs. Requires a step-up (`WEBHOOK_SECRET_ROTATE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The webhook.", body = SubscriptionView),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason NO_ROTATION."),
    )
)]
#[post("/api/settings/webhooks/{id}/rotate-secret/complete")]
pub(crate) async fn complete_webhook_rotation(
    call: Call<InPerson<ManageWebhooks>>,
    proof: StepUp<WebhookSecretRotate>,
) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let completed = webhooks::complete_rotation(ctx, tx, &id).await?;
        let data = WebhookRotationCompleted { generation: completed.secrets.current.number };
        Ok::<_, Problem>(Audited::new(completed, Event::new(id.as_str(), &data)).with(spending.events()?))
    };
    let completed = call.write(work).await?;
    Ok(respond(&call, &completed, None))
}
