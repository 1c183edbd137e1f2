//! Units of work: changes in one transaction with their audit entries, committed only if the caller may still act.

use std::rc::Rc;

use actix_web::web;
use audit::{Audited, Event, Unaudited};
use credentials::attempts;
use futures_util::FutureExt;
use kernel::{Ctx, StoreError, StoreResult};
use store::{Failure, Tx};

use super::{authority::Authority, gate::Gate};
use crate::{
    errors::Problem,
    load::{RequestSlot, WorkSlot},
    meter,
};

/// Awaits something other than storage or the client, without holding the request's slot.
pub(crate) async fn without_slot<T>(
    slot: Option<&RequestSlot>,
    waiting: impl Future<Output = T>,
) -> StoreResult<T> {
    let too_many = || StoreError::Unavailable("too many requests are waiting".into());
    match slot {
        Some(slot) => slot.yielded(waiting).await.ok_or_else(too_many),
        None => Ok(waiting.await),
    }
}

/// The authority for a unit of work, and the error if it is no longer valid.
pub(crate) struct Authorization<E> {
    pub(crate) authority: Authority,
    pub(crate) deny: fn(Problem) -> E,
}

impl<E: From<StoreError>> Authorization<E> {
    async fn decide(&self, ctx: &Ctx, tx: &mut Tx) -> Result<(), E> {
        let found = tx.credential().await?;
        self.authority.check(ctx, tx, found).await.map_err(self.deny)
    }

    async fn decide_at_end(&self, ctx: &Ctx, tx: &mut Tx) -> Result<(), E> {
        let Some(at_end) = tx.credential_at_end()? else { return Ok(()) };
        self.authority.check_at_end(ctx, tx, at_end).await.map_err(self.deny)
    }
}

/// Runs `work` in one transaction. Once started, it completes even if the client disconnects. With an authority it
/// commits only if that is still valid. On databases with concurrent transactions this is checked again at the end.
pub(crate) async fn write<T: Send + 'static, E: Failure>(
    gate: web::Data<Gate>,
    slot: Option<&RequestSlot>,
    ctx: Ctx,
    by: Option<Authorization<E>>,
    work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
) -> Result<T, E> {
    let is_detached = gate.store.continues_when_dropped();
    let credential = by.as_ref().map(|by| by.authority.key().clone());
    let authorized = async move |ctx: &Ctx, tx: &mut Tx| {
        let decides_first = is_detached || by.as_ref().is_some_and(|by| !by.authority.decides_last);
        if let Some(by) = by.as_ref().filter(|_| decides_first) {
            by.decide(ctx, tx).await?;
        }
        let (value, events) = match work(ctx, tx).await {
            Ok(audited) => audited.into_parts(),
            Err(failed) => {
                // A caller who may no longer act gets only that error, not the result of the work.
                if let Some(by) = by.as_ref().filter(|_| !decides_first) {
                    by.decide(ctx, tx).await?;
                }
                return Err(failed);
            }
        };
        let codes: Vec<_> = events.iter().map(|event| event.code).collect();
        tx.record(ctx, events).await?;
        if let Some(by) = &by {
            by.decide_at_end(ctx, tx).await?;
        }
        Ok::<_, E>(Audited::without((value, codes), Unaudited::Entered))
    };
    let (value, codes) = if is_detached {
        gate.store.write_with(ctx, credential, authorized).await?
    } else {
        finish(slot.and_then(RequestSlot::work_slot), async move {
            gate.store.write_with(ctx, credential, authorized).await
        })
        .await?
    };
    meter::count_recorded(&codes);
    Ok(value)
}

/// Counts an attempt against these limits in a unit of work of its own, or returns a 429.
pub(crate) async fn attempt(
    gate: web::Data<Gate>,
    slot: Option<&RequestSlot>,
    ctx: Ctx,
    limits: Vec<attempts::Limit>,
) -> Result<(), Problem> {
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let taken = attempts::take(tx, limits, ctx.now).await?;
        Ok::<_, StoreError>(Audited::without(taken, Unaudited::AttemptCounted))
    };
    match write(gate, slot, ctx, None, work).await? {
        attempts::AttemptOutcome::Yes => Ok(()),
        attempts::AttemptOutcome::No { retry_after } => Err(Problem::too_many_attempts(retry_after)),
    }
}

/// Runs a unit of work in a task of its own, which continues if its handler is dropped because the client
/// disconnected. So connections return to the pool with nothing running on them, and the number of concurrent units
/// of work stays bounded by the number of connections.
pub(crate) async fn finish<T, E>(
    slot: Option<Rc<WorkSlot>>,
    work: impl Future<Output = Result<T, E>> + 'static,
) -> Result<T, E>
where
    T: 'static,
    E: From<StoreError> + 'static,
{
    // An `async` block would contain the work twice, and each task is copied several times before it runs.
    let running = actix_web::rt::spawn(work.map(move |done| {
        drop(slot);
        done
    }));
    running.await.unwrap_or_else(|_| Err(StoreError::Aborted("it panicked").into()))
}

/// Records an audit event in the background, after the response. The server waits for it before it exits.
pub(crate) fn record_in_background(gate: web::Data<Gate>, ctx: Ctx, event: Event) {
    let entering = gate.entering.clone();
    actix_web::rt::spawn(entering.track_future(record(gate, ctx, event)));
}

/// Records an audit event and waits for it.
pub async fn record(gate: web::Data<Gate>, ctx: Ctx, event: Event) {
    let work = async move |_: &Ctx, _: &mut Tx| Ok::<_, StoreError>(Audited::new((), event));
    if let Err(error) = write(gate, None, ctx, None, work).await {
        tracing::error!(%error, "cannot record an audit entry");
    }
}
