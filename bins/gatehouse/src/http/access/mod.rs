//! The only door to the database is a permission.
//!
//! The middleware proves who calls ([`Gate::authenticate`]) and leaves a [`Pass`] in the request. A
//! handler names the permission it needs as a parameter, [`Access<P>`]: it is ready at once, refuses
//! who may not, and is the one way to [`Access::read`] and [`Access::write`]. The [`Store`] is private
//! to this module, so there is no way around.

use std::{
    future::{Ready, ready},
    marker::PhantomData,
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload, web};
use credentials::attempts;
use directory::Tier;
use kernel::{Ctx, Env, StoreError, TenantId, TraceContext};
use sessions::Session;
use store::{Across, Cost, Holder, NetworkMark, Store, Tx};
use tokens::{Pat, ScimToken};
use tokio_util::task::TaskTracker;

mod authenticate;
mod authority;
mod changes;
mod visitor;

use self::authority::Authority;
pub(crate) use self::authority::lifetime;
use self::changes::{attempt, finish, write};
pub(super) use self::changes::{enter, entered};
pub use self::{authority::WorkError, visitor::Visitor};
use super::{
    auth::FactorName,
    errors::Problem,
    load::Slot,
    permissions::{OwnAccount, Permission},
    shape::AreaProblem,
};

/// What a worker serves with.
pub struct Gate {
    store: Store,
    env: Arc<dyn Env>,
    /// What is entered in the ledger while no answer waits for it.
    entering: TaskTracker,
}

/// Who calls, proved.
#[derive(Debug, Clone)]
pub enum Caller {
    /// An identity provider by its SCIM token.
    Scim(Arc<ScimToken>),
    /// A person by a session cookie.
    Session(Arc<Signed>),
    /// A person's program by a personal access token.
    Pat(Arc<ByPat>),
}

/// A person with a session.
#[derive(Debug)]
pub struct Signed {
    /// The row that decides.
    pub session: Session,
    /// Whose it is.
    pub holder: Holder,
}

/// A person's program.
#[derive(Debug)]
pub struct ByPat {
    /// The token it has.
    pub pat: Pat,
    /// Who it acts as.
    pub holder: Holder,
}

/// What the middleware leaves in the request for [`Access`].
#[derive(Clone)]
struct Pass {
    caller: Caller,
    /// The network policy that has let the request in.
    network: NetworkMark,
    /// Whether the request ends its own session, which no policy forbids.
    is_sign_out: bool,
    ctx: Ctx,
    /// See [`Arrival::peer`].
    peer: Option<IpAddr>,
}

/// A request as the middleware knows it.
#[derive(Clone)]
pub(super) struct Arrival {
    pub(super) request_id: String,
    pub(super) trace: TraceContext,
    pub(super) ip: Option<IpAddr>,
    /// Who has sent it on, where the address is not known: what is counted is counted under them.
    pub(super) peer: Option<IpAddr>,
}

impl Gate {
    /// A door to `store`. `entering` knows what is being entered while no answer waits for it.
    pub fn new(store: Store, env: Arc<dyn Env>, entering: TaskTracker) -> Self {
        Self { store, env, entering }
    }

    pub(super) fn env(&self) -> &dyn Env {
        &*self.env
    }

    /// What the tenant pays for; the least of all where that is not known.
    pub(super) async fn tier(&self, tenant: &TenantId) -> Result<Tier, StoreError> {
        let find = async |across: &mut store::Across| across.tenant(tenant).await;
        Ok(self.store.across(find).await?.map_or(Tier::Free, |tenant| tenant.tier))
    }
}

/// The permission `P` of this request's caller, and with it the way to the caller's tenant's data.
pub struct Access<P: Permission> {
    gate: web::Data<Gate>,
    ctx: Ctx,
    caller: P::Caller,
    authority: Authority,
    /// Whether the request may have a body, which can arrive long after the caller was authenticated.
    has_body: bool,
    peer: Option<IpAddr>,
    /// Of the request, for work that goes on without it.
    slot: Option<Slot>,
    permission: PhantomData<P>,
}

impl<P: Permission> FromRequest for Access<P> {
    type Error = AreaProblem;
    type Future = Ready<Result<Self, AreaProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let pass = request.extensions().get::<Pass>().cloned();
        let gate = request.app_data::<web::Data<Gate>>().cloned();
        let slot = request.extensions().get::<Slot>().cloned();
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
            // An operation that forgot to say that it needs a credential is closed, not open.
            _ => Err(Problem::unauthenticated()),
        };
        ready(access.map_err(|problem| AreaProblem::of(request, problem)))
    }
}

impl<P: Permission> Access<P> {
    /// Whose data it leads to.
    pub(crate) fn tenant(&self) -> &TenantId {
        &self.ctx.tenant
    }

    /// Who calls, as the permission knows them.
    pub fn caller(&self) -> &P::Caller {
        &self.caller
    }

    /// The operation as the units of work see it.
    pub(super) fn ctx(&self) -> &Ctx {
        &self.ctx
    }

    /// What a worker serves with, for what goes on after the answer has begun.
    pub(super) fn gate(&self) -> web::Data<Gate> {
        self.gate.clone()
    }

    /// The tenant's ledger as it is at this moment, so many entries at most.
    pub(super) async fn export(
        &self,
        filter: audit::Filter,
        most: usize,
        with_proofs: bool,
        limit: Duration,
        ended: impl FnOnce(store::Ending, u64) + Send + 'static,
    ) -> Result<store::Export, StoreError> {
        self.gate.store.export(self.ctx.tenant.clone(), filter, most, with_proofs, limit, ended).await
    }

    /// From where the request comes, where that is known.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.ctx.ip
    }

    /// Where time and randomness come from.
    pub(crate) fn env(&self) -> &dyn Env {
        &*self.gate.env
    }

    /// Looks for what stands outside of tenants: the tenant itself.
    pub(super) async fn look<T>(
        &self,
        look: impl AsyncFnOnce(&mut Across) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.gate.store.across(look).await
    }

    /// Takes a test of a webhook from what the tenant may have, or refuses with 429.
    pub(super) async fn attempt_webhook_test(&self) -> Result<(), Problem> {
        self.take(attempts::webhook_test(&self.ctx.tenant)).await
    }

    /// Takes a look-up at an address of the tenant's choosing from what it may have, or refuses with 429.
    pub(super) async fn attempt_look_up(&self) -> Result<(), Problem> {
        self.take(attempts::look_up(&self.ctx.tenant)).await
    }

    /// Takes an attempt from these limits, or refuses with 429.
    async fn take(&self, limits: Vec<attempts::Limit>) -> Result<(), Problem> {
        attempt(self.gate.clone(), self.slot.as_ref(), self.ctx.clone(), limits).await
    }

    /// Waits for something that is neither storage nor the client, without holding the request's slot.
    pub(super) async fn aside<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Problem> {
        Ok(aside(self.slot.as_ref(), waiting).await?)
    }

    /// Refuses a caller who may no longer act, for work that goes on after the answer has begun.
    pub(super) async fn still_admitted(&self) -> Result<(), Problem> {
        let (ctx, authority) = (self.ctx.clone(), self.authority.clone());
        let check = async move |tx: &mut Tx| {
            let found = tx.find_credential(authority.key()).await?;
            authority.check(&ctx, tx, found).await
        };
        self.gate.store.read(self.ctx.tenant.clone(), check).await
    }

    /// Runs `work`, which changes nothing, on the caller's tenant.
    ///
    /// Where the request has a body, the caller's credential is read again first.
    pub async fn read<T, E>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WorkError<E>>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (gate, tenant) = (self.gate.clone(), self.ctx.tenant.clone());
        let work = self.authorized(work);
        if gate.store.finishes_alone() {
            return gate.store.read(tenant, work).await;
        }
        let slot = self.slot.as_ref().and_then(Slot::held);
        finish(slot, async move { gate.store.read(tenant, work).await }).await
    }

    /// The same work for a caller who may still act: where the request has a body, the credential is read again first.
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

    /// Runs `work`, which changes nothing, as a scan: few of a tenant run at the same time, and one that takes too
    /// long, or whose client is gone, is stopped. It waits and runs without the request's slot, so that a server full
    /// of scans has slots for everybody else.
    pub(crate) async fn scan<T, E>(
        &self,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WorkError<E>>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let run = self.gate.store.scan(self.ctx.tenant.clone(), self.authorized(work));
        aside(self.slot.as_ref(), Box::pin(run)).await?
    }

    /// Runs `work`, which changes nothing, as what it costs.
    pub(super) async fn search<T, E>(
        &self,
        cost: Cost,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WorkError<E>>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        match cost {
            Cost::Indexed => self.read(work).await,
            Cost::Scan => self.scan(work).await,
        }
    }
}

impl<P: Permission<Caller = Arc<Signed>>> Access<P> {
    /// Where attempts are counted to.
    pub(super) fn origin(&self) -> String {
        attempts::origin(self.ctx.ip.or(self.peer))
    }

    /// Takes an attempt at a factor of the caller's.
    pub(super) async fn attempt(&self, factor: FactorName) -> Result<(), Problem> {
        self.take(factor.limits(&self.ctx.tenant, &self.caller.session.user, &self.origin())).await
    }

    /// Takes an attempt at a step-up.
    pub(super) async fn attempt_step_up(&self, factor: FactorName) -> Result<(), Problem> {
        let session = &self.caller.session;
        self.take(match factor {
            FactorName::Totp => attempts::step_up(session.id.as_str()),
            other => other.limits(&self.ctx.tenant, &session.user, &self.origin()),
        })
        .await
    }
}

impl Access<OwnAccount> {
    /// Takes an attempt at the caller's own password, from an address that has signed them in before, or not.
    pub(super) async fn attempt_password(
        &self,
        person: &directory::Person,
        known: bool,
    ) -> Result<(), Problem> {
        let key = person.email.as_ref().map_or_else(|| person.id.to_string(), kernel::Email::key);
        let mut limits = attempts::password(&key, &self.origin());
        if !known {
            limits.extend(attempts::password_by_strangers(&key));
        }
        self.take(limits).await
    }
}

/// Waits for something that is neither storage nor the client, without holding the request's slot.
async fn aside<T>(slot: Option<&Slot>, waiting: impl Future<Output = T>) -> Result<T, StoreError> {
    let too_many = || StoreError::Unavailable("too many requests wait".into());
    match slot {
        Some(slot) => slot.yielded(waiting).await.ok_or_else(too_many),
        None => Ok(waiting.await),
    }
}

/// Who calls, and the operation as units of work see it, once the middleware has let the request in.
pub(super) fn passed(request: &HttpRequest) -> Option<(Caller, Ctx)> {
    request.extensions().get::<Pass>().map(|pass| (pass.caller.clone(), pass.ctx.clone()))
}
