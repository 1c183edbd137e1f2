//! `POST /api/ssf/poll/{streamId}` (RFC 8936)

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use actix_web::{post, web};
use audit::{Audited, Unaudited};
use kernel::Ctx;
use signals::{Delivery, EventStore, Key, MAX_POLLED, Poll, Polled, ReceiverStore, Stream};
use store::Tx;
use tokio::{
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

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
    let (poll, id) = (body.0, id.into_inner());
    let max = poll.max_events.unwrap_or(MAX_POLLED).clamp(0, MAX_POLLED);
    let waits = !poll.return_immediately.unwrap_or(false) && max > 0;
    let key = acknowledge(&call, id.clone(), poll).await?;
    // The newest poll of a stream waits, if not too many do. Others are answered at once.
    let waiting = waits.then(|| call.signal_news().wait_for(&key)).flatten();
    let until = Instant::now() + WAIT;
    loop {
        let polled = next(&call, &id, max).await?;
        let now = Instant::now();
        let ends = !polled.sets.is_empty() || now >= until || call.site.pipeline.load.is_draining();
        match &waiting {
            Some(poll) if !ends && poll.is_newest() => {
                let _looks_again =
                    call.without_slot(timeout_at(until.min(now + LOOK), poll.announced())).await?;
            }
            _ => return Ok(answer(&polled)),
        }
    }
}

/// Returns the receiver's stream with this ID, if it polls.
async fn polled_stream(tx: &mut Tx, managing: &Managing, id: &str) -> Result<Stream, Problem> {
    let stream = managing.manager().find(tx, id).await?;
    if stream.delivery == Delivery::Poll { Ok(stream) } else { Err(Problem::not_found()) }
}

/// Records what the receiver has stored or refused, and returns its stream.
async fn acknowledge(call: &Call<ReceiveSignals>, id: String, poll: Poll) -> Result<Key, Problem> {
    let managing = Managing::new(call);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let stream = polled_stream(tx, &managing, &id).await?;
        let counts = signals::acknowledge(tx, &stream.id, &poll, ctx.now).await?;
        let last = poll.set_errs.into_iter().next_back();
        Ok::<_, Problem>(Audited::without((stream.id, counts, last), Unaudited::Delivered))
    };
    let (stream, (accepted, refused), last) = call.write(work).await?;
    if let Some((_, error)) = last.filter(|_| refused > 0) {
        let problem = signals::Problem::of_refusal(&error);
        tracing::warn!(
            stream = stream.as_str(),
            refused,
            error = problem.error,
            description = problem.description,
            "a receiver refused signals"
        );
    }
    area_metrics::signals_polled(accepted, refused);
    Ok(Key { tenant: call.tenant().clone(), stream })
}

/// Signs the next tokens.
async fn next(call: &Call<ReceiveSignals>, id: &str, max: i64) -> Result<Polled, Problem> {
    let (managing, id) = (Managing::new(call), id.to_owned());
    let work = async move |_: &Ctx, tx: &mut Tx| {
        // As they are now: an administrator or another request may have changed them while this one waited.
        let receiver = tx.receiver(&managing.receiver.id).await?.ok_or_else(Problem::not_found)?;
        let stream = polled_stream(tx, &managing, &id).await?;
        let pending = signals::pending(tx, &stream, max).await?;
        let key = signals::current_key(tx).await?;
        Ok::<_, Problem>((managing, (receiver, stream), pending, key))
    };
    let (managing, (receiver, stream), pending, key) = call.read(work).await?;
    let (claims, without) = signals::prepare(&receiver, &stream, &managing.issuer, &pending.events);
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
    let sign = move || signals::sign(&key.open(&managing.seal)?, claims);
    // Apart from sign-ins, which wait for each other.
    let turns = Arc::clone(&call.site.signing);
    let signed = async {
        let turn = turns.acquire_owned().await.map_err(Problem::unexpected)?;
        // The turn lasts until the tokens are signed, also if the client is gone.
        let sign = move || {
            let signed = sign();
            drop(turn);
            signed
        };
        spawn_blocking(sign).await.map_err(Problem::unexpected)
    };
    let signed = call.without_slot(signed).await??;
    let sets = signed.map_err(Problem::unexpected)?.into_iter().collect();
    Ok(Polled { sets, more_available: pending.more_available })
}
