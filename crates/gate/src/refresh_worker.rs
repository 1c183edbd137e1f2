//! What the path of requests needs now and then while no request waits for it.

use std::{sync::Arc, time::Duration};

use actix_web::web;
use audit::Audited;
use futures_util::{StreamExt, stream};
use kernel::{Ctx, Env, StoreError};
use store::{Store, Tx};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{meter, pipeline::Pipeline, refusals::ClosingEntry, tls::Certificate};

/// Closing entries that are written at the same time.
const CLOSING_AT_ONCE: usize = 8;
/// How often what may change by itself is looked at.
const UPKEEP: Duration = Duration::from_secs(1);
/// Seconds between two writings of last uses: with the grain of a minute, none is missed.
const FLUSH: u32 = 15;

/// Keeps keys, certificate, metrics and last uses up to date, with connections of its own.
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

    /// Does its work until it is dropped.
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

    /// Writes the closing entries of refusals that were counted together, until the server ends.
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

    /// Writes when credentials were last used.
    pub(crate) async fn flush(&self) {
        if let Err(error) = self.pipeline.last_uses.flush(&self.store, &self.env).await {
            tracing::warn!(%error, "last uses could not be written");
        }
    }

    /// Writes closing entries. Those that cannot be written are tried again.
    pub(crate) async fn write_closing(&self, closing: Vec<ClosingEntry>) {
        let write = async |(ctx, event): ClosingEntry| {
            let code = event.code;
            // It is about many refusals, from many addresses: now, and from none of them.
            let of_now = Ctx { now: self.env.now(), ip: None, request_id: None, trace: None, ..ctx.clone() };
            let entry = event.clone();
            let work = async move |_: &Ctx, _: &mut Tx| Ok::<_, StoreError>(Audited::new((), entry));
            match self.store.write(of_now, work).await {
                Ok(()) => meter::count_recorded(&[code]),
                Err(error) => {
                    tracing::error!(%error, code, "the number of suppressed refusals could not be written yet");
                    self.pipeline.refusals.put_back((ctx, event));
                }
            }
        };
        stream::iter(closing).for_each_concurrent(CLOSING_AT_ONCE, write).await;
    }
}
