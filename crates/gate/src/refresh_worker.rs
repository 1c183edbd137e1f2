//! Periodic background work of the request pipeline.

use std::{sync::Arc, time::Duration};

use actix_web::web;
use audit::Audited;
use futures_util::{StreamExt, stream};
use kernel::{Ctx, Env, StoreError};
use store::{Store, Tx};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{meter, pipeline::Pipeline, refusals::ClosingEntry, tls::Certificate};

/// Closing entries that are written concurrently.
const CLOSING_AT_ONCE: usize = 8;
/// Interval between checks of keys, certificate and connections.
const UPKEEP: Duration = Duration::from_secs(1);
/// Seconds between flushes of last uses and refused SCIM requests, which pages show as they arrive.
const FLUSH: u32 = 5;

/// Refreshes keys, certificate, metrics and last uses, with its own connections.
#[derive(Clone)]
pub(crate) struct RefreshWorker {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    pipeline: web::Data<Pipeline>,
    certificate: Option<Arc<Certificate>>,
}

impl RefreshWorker {
    pub(crate) fn new(
        store: Store,
        env: Arc<dyn Env>,
        pipeline: web::Data<Pipeline>,
        certificate: Option<Arc<Certificate>>,
    ) -> Self {
        Self { store: Arc::new(store), env, pipeline, certificate }
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(&self) {
        let mut ticks = interval(UPKEEP);
        let mut seconds = 0_u32;
        loop {
            ticks.tick().await;
            self.pipeline.keys.refresh();
            self.pipeline.connections.close_idle();
            if let Some(certificate) = &self.certificate {
                certificate.refresh();
            }
            if seconds.is_multiple_of(meter::UPKEEP)
                && let Some(recorder) = meter::recorder()
            {
                self.pipeline.measure();
                recorder.run_upkeep();
            }
            seconds = seconds.wrapping_add(1);
            if seconds.is_multiple_of(FLUSH) {
                self.flush().await;
            }
        }
    }

    /// Writes the closing entries of suppressed refusals until shutdown.
    pub(crate) async fn close_refusals(&self, ending: CancellationToken) {
        let mut ticks = interval(UPKEEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = ending.cancelled() => return,
                _ = ticks.tick() => {}
            }
            self.write_closing(self.pipeline.refusals.drain_ended(self.env.now())).await;
        }
    }

    /// Stores the last uses of credentials and the refused SCIM requests.
    pub(crate) async fn flush(&self) {
        if let Err(error) = self.pipeline.last_uses.flush(&self.store, &self.env).await {
            tracing::warn!(%error, "cannot store the last uses of credentials; retrying");
        }
        if let Err(error) = self.pipeline.scim_refusals.flush(&self.store, &self.env).await {
            tracing::warn!(%error, "cannot store the refused SCIM requests; retrying");
        }
    }

    /// Writes closing entries. Failed ones are retried.
    pub(crate) async fn write_closing(&self, closing: Vec<ClosingEntry>) {
        let write = async |(ctx, event): ClosingEntry| {
            let code = event.code;
            // The entry covers many requests from many addresses, so it has no address or request id.
            let of_now = Ctx { now: self.env.now(), ip: None, request_id: None, trace: None, ..ctx.clone() };
            let entry = event.clone();
            let work = async move |_: &Ctx, _: &mut Tx| Ok::<_, StoreError>(Audited::new((), entry));
            match self.store.write(of_now, work).await {
                Ok(()) => meter::count_recorded(&[code]),
                Err(error) => {
                    tracing::error!(%error, code, "cannot record the number of suppressed refusals; retrying");
                    self.pipeline.refusals.put_back((ctx, event));
                }
            }
        };
        stream::iter(closing).for_each_concurrent(CLOSING_AT_ONCE, write).await;
    }
}
