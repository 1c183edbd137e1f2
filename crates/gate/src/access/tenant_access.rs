//! Access to a tenant's data, granted by the permission in a handler's signature.

use std::{
    future::{Ready, ready},
    marker::PhantomData,
    net::IpAddr,
    time::Duration,
};

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload, web};
use audit::Audited;
use credentials::attempts;
use kernel::{Ctx, Env, StoreError, StoreResult, TenantId};
use store::{Across, Cost, Failure, Tx};

use super::{
    authority::{Authority, WorkError},
    gate::Gate,
    request_identity::RequestIdentity,
    unit_of_work::{Authorization, attempt, finish, without_slot, write},
};
use crate::{
    errors::Problem,
    load::RequestSlot,
    permissions::{Permission, WritePermission},
    shape::AreaProblem,
};

/// Proof that this request's caller has permission `P`, and access to the data of the caller's tenant.
pub struct Access<P: Permission> {
    gate: web::Data<Gate>,
    ctx: Ctx,
    caller: P::Caller,
    authority: Authority,
    /// Whether the request may have a body, which can arrive long after the caller was authenticated.
    has_body: bool,
    peer: Option<IpAddr>,
    /// The request's slot, for work that continues without the request.
    slot: Option<RequestSlot>,
    permission: PhantomData<P>,
}

impl<P: Permission> FromRequest for Access<P> {
    type Error = AreaProblem;
    type Future = Ready<Result<Self, AreaProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let pass = request.extensions().get::<RequestIdentity>().cloned();
        let gate = request.app_data::<web::Data<Gate>>().cloned();
        let slot = request.extensions().get::<RequestSlot>().cloned();
        let access = match (pass, gate) {
            (Some(pass), Some(gate)) => {
                let authority = Authority::of::<P>(&pass);
                P::admit(pass.caller).map(|caller| Self {
                    gate,
                    ctx: pass.ctx,
                    peer: pass.peer,
                    caller,
                    authority,
                    has_body: !request.method().is_safe(),
                    slot,
                    permission: PhantomData,
                })
            }
            // If the middleware did not authenticate the request, access is denied.
            _ => Err(Problem::unauthenticated()),
        };
        ready(access.map_err(|problem| AreaProblem::of(request, problem)))
    }
}

impl<P: Permission> Access<P> {
    /// Returns the caller's tenant.
    pub fn tenant(&self) -> &TenantId {
        &self.ctx.tenant
    }

    /// Returns the caller, as the permission types it.
    pub fn caller(&self) -> &P::Caller {
        &self.caller
    }

    /// Returns the context for units of work.
    pub fn ctx(&self) -> &Ctx {
        &self.ctx
    }

    /// Returns the worker's state, for work that continues after the response has begun.
    pub fn gate(&self) -> web::Data<Gate> {
        self.gate.clone()
    }

    /// Exports at most `most` entries of the tenant's audit log from one snapshot.
    pub async fn export(
        &self,
        filter: audit::Filter,
        most: usize,
        with_proofs: bool,
        limit: Duration,
        ended: impl FnOnce(store::ExportOutcome, u64) + Send + 'static,
    ) -> StoreResult<store::Export> {
        self.gate.store.export(self.ctx.tenant.clone(), filter, most, with_proofs, limit, ended).await
    }

    /// Returns the origin that attempts are counted for.
    pub fn origin(&self) -> String {
        attempts::origin(self.ctx.ip.or(self.peer))
    }

    /// Returns the client's address, if known.
    pub fn address(&self) -> Option<IpAddr> {
        self.ctx.ip
    }

    /// Returns the announcements of queued shared signals, of all tenants.
    pub fn signal_news(&self) -> &signals::News {
        self.gate.store.signal_news()
    }

    /// Runs `work` after the response. A shutdown waits for it.
    pub fn in_background(&self, work: impl Future<Output = ()> + 'static) {
        actix_web::rt::spawn(self.gate.entering.track_future(work));
    }

    /// Returns the source of time and randomness.
    pub fn env(&self) -> &dyn Env {
        &*self.gate.env
    }

    /// Reads data outside of tenants, such as the tenant itself.
    pub async fn read_across<T>(
        &self,
        look: impl AsyncFnOnce(&mut Across) -> StoreResult<T>,
    ) -> StoreResult<T> {
        self.gate.store.across(look).await
    }

    /// Returns the caller's tenant.
    pub async fn own_tenant(&self) -> Result<directory::Tenant, Problem> {
        let id = self.tenant().clone();
        let find = async |across: &mut Across| across.tenant(&id).await;
        self.read_across(find).await?.ok_or_else(Problem::internal)
    }

    /// Counts an attempt against these limits, or returns a 429.
    pub async fn attempt(&self, limits: Vec<attempts::Limit>) -> Result<(), Problem> {
        attempt(self.gate.clone(), self.slot.as_ref(), self.ctx.clone(), limits).await
    }

    /// Awaits something other than storage or the client, without holding the request's slot.
    pub async fn without_slot<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Problem> {
        Ok(without_slot(self.slot.as_ref(), waiting).await?)
    }

    /// Returns an error if the caller may no longer act, for work that continues after the response has begun.
    pub async fn still_admitted(&self) -> Result<(), Problem> {
        let (ctx, authority) = (self.ctx.clone(), self.authority.clone());
        let check = async move |tx: &mut Tx| {
            let found = tx.find_credential(authority.key()).await?;
            authority.check(&ctx, tx, found).await
        };
        self.gate.store.read(self.ctx.tenant.clone(), check).await
    }

    /// Runs `work`, which must not write, on the caller's tenant.
    ///
    /// If the request has a body, the caller's credential is read again first.
    pub async fn read<T: Send + 'static, E: Failure>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WorkError<E>> {
        let (gate, tenant) = (self.gate.clone(), self.ctx.tenant.clone());
        let work = self.authorized(work);
        if gate.store.continues_when_dropped() {
            return gate.store.read(tenant, work).await;
        }
        let slot = self.slot.as_ref().and_then(RequestSlot::work_slot);
        finish(slot, async move { gate.store.read(tenant, work).await }).await
    }

    /// Wraps `work` in a check of the caller's authority, if the request has a body.
    fn authorized<T, E: From<StoreError>>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, E> + Send + 'static,
    ) -> impl AsyncFnOnce(&mut Tx) -> Result<T, WorkError<E>> + Send + 'static {
        let ctx = self.ctx.clone();
        let authority = self.has_body.then(|| self.authority.clone());
        async move |tx: &mut Tx| {
            if let Some(authority) = authority {
                let found = tx.find_credential(authority.key()).await?;
                authority.check(&ctx, tx, found).await.map_err(WorkError::denied)?;
            }
            work(&ctx, tx).await.map_err(WorkError::Failed)
        }
    }

    /// Runs `work`, which must not write, as a scan. Few scans run at the same time per tenant, and a scan stops when
    /// it takes too long or its client disconnects. It runs without the request's slot, so that scans cannot use up
    /// all slots.
    pub async fn scan<T: Send + 'static, E: Failure>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WorkError<E>> {
        let run = self.gate.store.scan(self.ctx.tenant.clone(), self.authorized(work));
        without_slot(self.slot.as_ref(), Box::pin(run)).await?
    }

    /// Runs `work`, which must not write, as an indexed read or as a scan, depending on `cost`.
    pub async fn search<T: Send + 'static, E: Failure>(
        &self,
        cost: Cost,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WorkError<E>> {
        match cost {
            Cost::Indexed => self.read(work).await,
            Cost::Scan => self.scan(work).await,
        }
    }
}

impl<P: WritePermission> Access<P> {
    /// Runs `work` in one transaction on the caller's tenant, together with its audit entries.
    ///
    /// The transaction reads the caller's credential again and commits only if it would still be accepted; otherwise
    /// it returns [`WorkError::Denied`]. Once started, it completes even if the client disconnects, so a change is
    /// never half done.
    pub async fn write<T: Send + 'static, E: Failure>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, WorkError<E>> {
        let failing = async move |ctx: &Ctx, tx: &mut Tx| work(ctx, tx).await.map_err(WorkError::Failed);
        let by = Authorization { authority: self.authority.clone(), deny: WorkError::denied };
        write(self.gate.clone(), self.slot.as_ref(), self.ctx.clone(), Some(by), failing).await
    }

    /// Runs a change whose work grows with the tenant. Few run at the same time per tenant; others wait without the
    /// request's slot, so that they cannot use up the slots of other tenants.
    pub async fn write_large<T: Send + 'static, E: Failure>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, WorkError<E>> {
        let turn = self.gate.store.large_change(&self.ctx.tenant);
        let turn = without_slot(self.slot.as_ref(), turn).await??;
        self.write(async move |ctx: &Ctx, tx: &mut Tx| {
            let _turn = turn;
            work(ctx, tx).await
        })
        .await
    }
}
