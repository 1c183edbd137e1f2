//! `POST /api/ssf/poll/{streamId}` (RFC 8936)

use std::{collections::BTreeMap, time::Duration};

use actix_web::{post, web};
use audit::{Audited, Unaudited};
use kernel::Ctx;
use signals::{EventStore, KeyStore, MAX_POLLED, Poll, Polled};
use store::Tx;
use tokio::time::{Instant, timeout_at};

use super::managing::Managing;
use crate::{
    api::{Answer, Call},
    area_metrics,
};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::ReceiveSignals,
};

/// How long a response waits for the first token.
const WAIT: Duration = Duration::from_secs(20);
/// Interval of reading the events of other instances while a response waits.
const LOOK: Duration = Duration::from_secs(1);

/// Poll a stream
///
/// Acknowledges tokens, and returns the next ones with their signatures (RFC 8936). A token is returned until it is
/// acknowledged, at most for seven days.
#[utoipa::path(
    security(("receiverToken" = [])),
    params(("streamId" = String, Path, description = "sst_…")),
    responses(
        (status = 200, description = "Signed tokens.", body = Polled),
        (status = 400, description = "A member is malformed."),
        (status = 404, description = "The receiver has no stream with this ID, or the stream pushes."),
    )
)]
#[post("/api/ssf/poll/{streamId}")]
pub(crate) async fn poll_ssf_stream(
    call: Call<ReceiveSignals>,
    id: web::Path<String>,
    body: Json<Poll>,
) -> Answer {
    let poll = body.0;
    let max = poll.max_events.unwrap_or(MAX_POLLED).clamp(0, MAX_POLLED);
    let until = Instant::now() + WAIT;
    let returns_at_once = poll.return_immediately.unwrap_or(false) || max == 0;
    let id = id.into_inner();
    acknowledge(&call, id.clone(), poll).await?;
    loop {
        let queued = call.signals_queued();
        let queued = queued.notified();
        let polled = next(&call, &id, max).await?;
        if returns_at_once || !polled.sets.is_empty() || Instant::now() >= until {
            return Ok(answer(&polled));
        }
        let again = until.min(Instant::now() + LOOK);
        let _later = call.without_slot(timeout_at(again, queued)).await?;
    }
}

/// Records what the receiver has stored or refused.
async fn acknowledge(call: &Call<ReceiveSignals>, id: String, poll: Poll) -> Result<(), Problem> {
    let managing = Managing::new(call);
    let (accepted, refused) = (poll.ack.len(), poll.set_errs.len());
    for (jti, error) in &poll.set_errs {
        tracing::warn!(
            stream = id,
            jti,
            error = error.err,
            description = error.description,
            "a receiver refused a signal"
        );
    }
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let stream = managing.manager().find(tx, &id).await?;
        if stream.delivery != signals::Delivery::Poll {
            return Err(Problem::not_found());
        }
        signals::acknowledge(tx, &stream.id, &poll, ctx.now).await?;
        Ok::<_, Problem>(Audited::without((), Unaudited::Delivered))
    };
    call.write(work).await?;
    area_metrics::signals_polled(accepted, refused);
    Ok(())
}

/// Signs the next tokens.
async fn next(call: &Call<ReceiveSignals>, id: &str, max: i64) -> Result<Polled, Problem> {
    let (managing, id) = (Managing::new(call), id.to_owned());
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let stream = managing.manager().find(tx, &id).await?;
        let pending = signals::pending(tx, &stream, max).await?;
        let key = tx.signing_keys().await?.into_iter().find(|key| key.replaced_at.is_none());
        Ok::<_, Problem>((managing, stream, pending, key))
    };
    let (managing, stream, pending, key) = call.read(work).await?;
    let (claims, without) = signals::prepare(&managing.receiver, &stream, &managing.issuer, &pending.events);
    if !without.is_empty() {
        let id = stream.id.clone();
        let forget = async move |_: &Ctx, tx: &mut Tx| {
            tx.delete_events(&id, &without).await?;
            Ok::<_, Problem>(Audited::without((), Unaudited::Delivered))
        };
        call.write(forget).await?;
    }
    if claims.is_empty() {
        return Ok(Polled { sets: BTreeMap::new(), more_available: pending.more_available });
    }
    let key = key.ok_or_else(Problem::internal)?;
    let sign = move || signals::sign(&key.open(&managing.seal)?, &claims);
    let signed = call.without_slot(call.site.saml.compute(sign)).await??;
    Ok(Polled { sets: signed.map_err(Problem::unexpected)?, more_available: pending.more_available })
}
