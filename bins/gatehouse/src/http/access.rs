//! The only door to the database is a permission.
//!
//! The middleware proves who calls ([`Gate::authenticate`]) and leaves a [`Pass`] in the request. A
//! handler names the permission it needs as a parameter, [`Access<P>`]: it is ready at once, refuses
//! who may not, and is the one way to [`Access::read`] and [`Access::write`]. The [`Store`] is private
//! to this file, so there is no way around.

use std::{
    future::{Ready, ready},
    marker::PhantomData,
    net::IpAddr,
    rc::Rc,
    sync::Arc,
};

use actix_web::{
    FromRequest, HttpMessage, HttpRequest,
    dev::Payload,
    http::header::{self, HeaderMap},
    web,
};
use audit::Audited;
use directory::Tier;
use kernel::{Actor, Ctx, Env, StoreError, TenantId, TraceContext};
use store::{Store, Tx};
use tokens::{RawToken, ScimToken};

use super::{
    errors::{Problem, ScimProblem},
    load::{Slot, Work},
    permissions::{Permission, WritePermission},
};

/// What a worker serves with.
pub struct Gate {
    store: Store,
    env: Arc<dyn Env>,
}

/// Who calls, proved.
#[derive(Debug, Clone)]
pub enum Caller {
    /// An identity provider by its SCIM token.
    Scim(Arc<ScimToken>),
}

/// What the middleware leaves in the request for [`Access`].
#[derive(Clone)]
struct Pass {
    caller: Caller,
    ctx: Ctx,
}

/// A request as the middleware knows it.
pub(super) struct Arrival {
    pub(super) request_id: String,
    pub(super) trace: TraceContext,
    pub(super) ip: Option<IpAddr>,
}

impl Gate {
    /// A door to `store`.
    pub fn new(store: Store, env: Arc<dyn Env>) -> Self {
        Self { store, env }
    }

    pub(super) fn env(&self) -> &dyn Env {
        &*self.env
    }

    /// Proves the caller by the credential in the headers and lets the request in: the tenant's id.
    pub(super) async fn authenticate(
        &self,
        request: &impl HttpMessage,
        headers: &HeaderMap,
        arrival: &Arrival,
    ) -> Result<TenantId, Problem> {
        let mut sent = headers.get_all(header::AUTHORIZATION);
        let (Some(authorization), None) = (sent.next(), sent.next()) else {
            return Err(refused("no credential"));
        };
        let bearer = authorization.to_str().ok().and_then(|text| text.split_once(' '));
        let Some((_, token)) = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
            return Err(refused("not a bearer token"));
        };
        let Ok(raw) = RawToken::parse(token.trim()) else { return Err(refused("malformed token")) };
        let hash = raw.hash();
        let tenant = raw.tenant();
        let find = async |across: &mut store::Across| across.scim_token(tenant, &hash).await;
        let Some(token) = self.store.across(find).await? else { return Err(refused("unknown token")) };
        if token.revoked_at.is_some() {
            tracing::info!(token = %token.id, %tenant, "a revoked token was presented");
            return Err(Problem::unauthenticated());
        }
        let ctx = Ctx {
            tenant: tenant.clone(),
            actor: Actor::scim(token.id.to_string()),
            request_id: Some(arrival.request_id.clone()),
            trace: Some(arrival.trace.clone()),
            ip: arrival.ip,
            now: self.env.now(),
            env: Arc::clone(&self.env),
        };
        let tenant = ctx.tenant.clone();
        request.extensions_mut().insert(Pass { caller: Caller::Scim(Arc::new(token)), ctx });
        Ok(tenant)
    }

    /// What the tenant pays for; the least of all where that is not known.
    pub(super) async fn tier(&self, tenant: &TenantId) -> Result<Tier, StoreError> {
        let find = async |across: &mut store::Across| across.tenant(tenant).await;
        Ok(self.store.across(find).await?.map_or(Tier::Free, |tenant| tenant.tier))
    }
}

/// A refusal that tells the caller nothing and the log why.
fn refused(why: &'static str) -> Problem {
    tracing::debug!(why, "a credential was refused");
    Problem::unauthenticated()
}

/// The permission `P` of this request's caller, and with it the way to the caller's tenant's data.
pub struct Access<P: Permission> {
    gate: web::Data<Gate>,
    ctx: Ctx,
    caller: P::Caller,
    /// Of the request, for work that goes on without it.
    slot: Option<Slot>,
    permission: PhantomData<P>,
}

impl<P: Permission> FromRequest for Access<P> {
    type Error = ScimProblem;
    type Future = Ready<Result<Self, ScimProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let pass = request.extensions().get::<Pass>().cloned();
        let gate = request.app_data::<web::Data<Gate>>().cloned();
        let slot = request.extensions().get::<Slot>().cloned();
        let access = match (pass, gate) {
            (Some(pass), Some(gate)) => P::admit(pass.caller).map(|caller| Self {
                gate,
                ctx: pass.ctx,
                caller,
                slot,
                permission: PhantomData,
            }),
            // An operation that forgot to say that it needs a credential is closed, not open.
            _ => Err(Problem::unauthenticated()),
        };
        ready(access.map_err(ScimProblem::from))
    }
}

impl<P: Permission> Access<P> {
    /// Whose data it leads to.
    pub(super) fn tenant(&self) -> &TenantId {
        &self.ctx.tenant
    }

    /// Who calls, as the permission knows them.
    pub fn caller(&self) -> &P::Caller {
        &self.caller
    }

    fn work(&self) -> Option<Rc<Work>> {
        self.slot.as_ref().and_then(Slot::held)
    }

    /// Runs `work`, which changes nothing, on the caller's tenant.
    pub async fn read<T, E>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (gate, ctx) = (self.gate.clone(), self.ctx.clone());
        let tenant = ctx.tenant.clone();
        let work = async move |tx: &mut Tx| work(&ctx, tx).await;
        if gate.store.finishes_alone() {
            return gate.store.read(tenant, work).await;
        }
        finish(self.work(), async move { gate.store.read(tenant, work).await }).await
    }
}

impl<P: WritePermission> Access<P> {
    /// Runs `work` in one transaction on the caller's tenant, together with its audit entries.
    ///
    /// Once begun it runs to its end even when the client hangs up: no hang-up ever cuts a change in half.
    pub async fn write<T, E>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (gate, ctx) = (self.gate.clone(), self.ctx.clone());
        if gate.store.finishes_alone() {
            return gate.store.write(ctx, work).await;
        }
        finish(self.work(), async move { gate.store.write(ctx, work).await }).await
    }
}

/// Runs a unit of work in a task of its own, which goes on when the handler that waits for it is dropped
/// because its client hung up. So a connection comes back to the pool with nothing running on it, and as
/// many units of work are under way as there are connections, however many clients hang up.
async fn finish<T, E>(
    slot: Option<Rc<Work>>,
    work: impl Future<Output = Result<T, E>> + 'static,
) -> Result<T, E>
where
    T: 'static,
    E: From<StoreError> + 'static,
{
    let running = actix_web::rt::spawn(async move {
        let done = work.await;
        drop(slot);
        done
    });
    running.await.unwrap_or_else(|_| Err(StoreError::Aborted("it panicked").into()))
}
