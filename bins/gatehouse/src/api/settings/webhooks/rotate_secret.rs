//! `/api/settings/webhooks/{id}/rotate-secret`

use actix_web::{HttpResponse, post, web};
use audit::{
    Audited, Event,
    events::webhooks::{WebhookRotationCompleted, WebhookSecretRotated},
};
use kernel::Ctx;
use serde::Deserialize;
use store::Tx;
use utoipa::ToSchema;

use super::{ShownSubscription, id_of};
use crate::api::Site;
use gate::{
    access::Access,
    body::{OptionalJson, answer},
    errors::Problem,
    permissions::AdministerInPerson,
    step_up::{StepUp, WebhookSecretRotate},
};

/// How a secret is replaced.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RotationBody {
    /// Hours, 0 to 168, that both secrets sign.
    #[serde(default = "usual_overlap")]
    #[schema(default = 24, minimum = 0, maximum = 168)]
    overlap_hours: u32,
}

impl Default for RotationBody {
    fn default() -> Self {
        Self { overlap_hours: usual_overlap() }
    }
}

fn usual_overlap() -> u32 {
    webhooks::OVERLAP_HOURS
}

/// Replace the signing secret
///
/// The new one is in this answer and nowhere else. Until the overlap ends or the rotation is completed, `X-Service-Signature` is
/// by the secret before, `X-Service-Signature-Next` by the new one, and `webhook-signature` has both. Needs a fresh proof
/// (`WEBHOOK_SECRET_ROTATE`).
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = [])),
    request_body = Option<RotationBody>,
    responses(
        (status = 200, description = "The subscription, with its new secret this once.", body = ShownSubscription),
        (status = 400, description = "The overlap is not 0 to 168 hours."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT, reason ROTATION_UNDER_WAY. With an overlap of 0 there is none."),
    )
)]
#[post("/api/settings/webhooks/{id}/rotate-secret")]
pub(crate) async fn rotate_webhook_secret(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<WebhookSecretRotate>,
    id: web::Path<String>,
    body: OptionalJson<RotationBody>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let (overlap_hours, keys) = (body.0.overlap_hours, site.pipeline.keys.webhooks());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let (rotated, secret) = webhooks::rotate(ctx, tx, &keys, &id, overlap_hours).await?;
        let data = WebhookSecretRotated { generation: rotated.secrets.current.number, overlap_hours };
        let event = Event::new(id.as_str(), &data);
        Ok::<_, Problem>(Audited::new((rotated, secret), event).with(spending.events()?))
    };
    let (rotated, secret) = access.write(work).await?;
    Ok(answer(&ShownSubscription::of(&rotated, access.ctx().now, Some(&secret))))
}

/// Complete a rotation
///
/// From now on the new secret alone signs. Needs a fresh proof (`WEBHOOK_SECRET_ROTATE`).
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The subscription.", body = ShownSubscription),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT, reason NO_ROTATION."),
    )
)]
#[post("/api/settings/webhooks/{id}/rotate-secret/complete")]
pub(crate) async fn complete_webhook_rotation(
    access: Access<AdministerInPerson>,
    proof: StepUp<WebhookSecretRotate>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let completed = webhooks::complete_rotation(ctx, tx, &id).await?;
        let data = WebhookRotationCompleted { generation: completed.secrets.current.number };
        Ok::<_, Problem>(Audited::new(completed, Event::new(id.as_str(), &data)).with(spending.events()?))
    };
    let completed = access.write(work).await?;
    Ok(answer(&ShownSubscription::of(&completed, access.ctx().now, None)))
}
