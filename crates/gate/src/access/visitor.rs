//! Access to sign-in data for callers without a credential.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload, http::header::HeaderMap, web};
use audit::{Audited, Unaudited};
use credentials::attempts::{self, AttemptOutcome, Limit};
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId, UserId};
use netpolicy::Surface;
use sessions::{SessionId, SessionStore};
use store::{Account, Across, Failure, Tx};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    gate::Gate,
    request_identity::{RequestOrigin, user_agent},
    unit_of_work::{attempt, record_in_background, without_slot, write},
};
use crate::{cookies, errors::Problem, load::RequestSlot, network::DeniedCaller, pipeline::Pipeline};

/// A caller without a credential, on an operation for signing in.
///
/// Provides what signing in needs: account lookups, rate limits, and units of work in an account's tenant. Only
/// handlers of `/api/auth` use it.
pub struct Visitor {
    gate: web::Data<Gate>,
    arrival: RequestOrigin,
    slot: Option<RequestSlot>,
    user_agent: String,
    /// The browser's current session, if this server started it.
    previous: Option<(TenantId, SessionId)>,
}

impl FromRequest for Visitor {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let arrival = request.extensions().get::<RequestOrigin>().cloned();
        let gate = request.app_data::<web::Data<Gate>>().cloned();
        let slot = request.extensions().get::<RequestSlot>().cloned();
        let user_agent = user_agent(request.headers()).to_owned();
        let pipeline = request.app_data::<web::Data<Pipeline>>();
        ready(match (arrival, gate, pipeline) {
            (Some(arrival), Some(gate), Some(pipeline)) => {
                let previous = previous(pipeline, &gate, request.headers());
                Ok(Self { gate, arrival, slot, user_agent, previous })
            }
            _ => Err(Problem::internal()),
        })
    }
}

/// Returns the session named by a request's cookies.
fn previous(pipeline: &Pipeline, gate: &Gate, headers: &HeaderMap) -> Option<(TenantId, SessionId)> {
    let sent = cookies::RequestCookies::of(headers);
    let claims = pipeline.read_cookie(&*gate.env, &sent.pairs()).ok()??;
    Some((claims.text("tid")?.parse().ok()?, claims.text("sid")?.parse().ok()?))
}

impl Visitor {
    /// Returns the name of the browser's session, signed for a cookie that accompanies a later request.
    pub fn sealed_previous(&self, pipeline: &Pipeline) -> Option<String> {
        let (tenant, session) = self.previous.as_ref()?;
        pipeline.keys.seal_previous(format!("{tenant} {session}").as_bytes())
    }

    /// Takes the browser's session from such a cookie, if the request has no session cookie. Browsers send none with a
    /// POST from another site.
    pub fn recall_previous(&mut self, pipeline: &Pipeline, sealed: &str) {
        let opened = || {
            let text = String::from_utf8(pipeline.keys.open_previous(sealed)?).ok()?;
            let (tenant, session) = text.split_once(' ')?;
            Some((tenant.parse().ok()?, session.parse().ok()?))
        };
        self.previous = self.previous.take().or_else(opened);
    }

    /// Ends the browser's previous session after a new one has started.
    pub async fn end_previous(&self, begun: &SessionId) {
        let Some((tenant, id)) = self.previous.clone().filter(|(_, id)| id != begun) else { return };
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let session = tx.session(&id).await?.filter(|session| session.revoked_at.is_none());
            let Some(session) = session else {
                return Ok(Audited::without((), Unaudited::NothingChanged));
            };
            sign_in::end_session(ctx, tx, &session.user, &id, "REPLACED").await
        };
        let ended: Result<(), sessions::Error> =
            self.run(self.ctx(&tenant, Actor::system("sign-in")), work).await;
        if let Err(error) = ended {
            tracing::warn!(%error, "cannot end the browser's previous session");
        }
    }

    /// Returns the source of time and randomness.
    pub fn env(&self) -> &dyn Env {
        &*self.gate.env
    }

    /// Returns the source of time and randomness, for another thread.
    pub fn shared_env(&self) -> std::sync::Arc<dyn Env> {
        std::sync::Arc::clone(&self.gate.env)
    }

    /// Returns the client's address, if known.
    pub fn ip(&self) -> Option<std::net::IpAddr> {
        self.arrival.ip
    }

    /// Returns the origin that attempts are counted for.
    pub fn origin(&self) -> String {
        attempts::origin(self.arrival.ip.or(self.arrival.peer))
    }

    /// Returns the `User-Agent` header, or an empty string.
    pub fn user_agent(&self) -> &str {
        &self.user_agent
    }

    /// Runs lookups before the tenant is known.
    pub async fn across<T>(&self, look: impl AsyncFnOnce(&mut Across) -> StoreResult<T>) -> StoreResult<T> {
        self.gate.store.across(look).await
    }

    /// Waits for the request's turn, which lasts until the permit is dropped.
    pub async fn in_turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let slot = self.slot.as_ref().ok_or_else(Problem::internal)?;
        slot.in_turn().await.ok_or_else(Problem::unavailable)
    }

    /// Awaits something other than storage or the client, without holding the request's slot.
    pub async fn without_slot<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Problem> {
        Ok(without_slot(self.slot.as_ref(), waiting).await?)
    }

    /// Applies the network policy to a user whose first factor is verified. Returns the 403 if it blocks the user,
    /// after recording it.
    pub async fn admit(&self, pipeline: &Pipeline, account: &Account) -> Result<Option<Problem>, Problem> {
        let holder = &account.holder;
        let ctx = self.gate.ctx(account.tenant.clone(), Actor::user(&holder.user), &self.arrival);
        let (store, who) = (&self.gate.store, DeniedCaller::of(holder, Surface::SignIn));
        let Err(mut problem) = pipeline.networks.admit(store, &ctx, holder.network, &who).await else {
            return Ok(None);
        };
        let Some(event) = problem.take_event() else { return Err(problem) };
        if pipeline.refusals.is_new(&ctx, &event, self.arrival.ip) {
            record_in_background(self.gate.clone(), ctx, event);
        }
        Ok(Some(problem))
    }

    /// Counts an attempt against these limits, or returns a 429.
    pub async fn attempt(&self, limits: Vec<Limit>) -> Result<(), Problem> {
        attempt(self.gate.clone(), self.slot.as_ref(), self.ctx_without_tenant(), limits).await
    }

    /// Counts an attempt against `limits`, or returns a 429. Then counts one against `others` and returns whether
    /// they allow it.
    pub async fn attempt_some(&self, limits: Vec<Limit>, others: Vec<Limit>) -> Result<bool, Problem> {
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let taken = attempts::take(tx, limits, ctx.now).await?;
            let mut others_allow = false;
            if taken == AttemptOutcome::Yes {
                others_allow = attempts::take(tx, others, ctx.now).await? == AttemptOutcome::Yes;
            }
            Ok::<_, StoreError>(Audited::without((taken, others_allow), Unaudited::AttemptCounted))
        };
        match self.run(self.ctx_without_tenant(), work).await? {
            (AttemptOutcome::Yes, others_allow) => Ok(others_allow),
            (AttemptOutcome::No { retry_after }, _) => Err(Problem::too_many_attempts(retry_after)),
        }
    }

    /// Creates a context without a real tenant, because attempts are counted across tenants.
    fn ctx_without_tenant(&self) -> Ctx {
        self.gate.ctx(TenantId::new(self.env()), Actor::system("sign-in"), &self.arrival)
    }

    /// Runs `work` as this user in one transaction of a tenant, together with its audit entries.
    pub async fn write<T: Send + 'static, E: Failure>(
        &self,
        tenant: &TenantId,
        user: &UserId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        self.run(self.gate.ctx(tenant.clone(), Actor::user(user), &self.arrival), work).await
    }

    /// Runs `work` as the given actor in one transaction of a tenant.
    pub async fn write_as<T: Send + 'static, E: Failure>(
        &self,
        tenant: &TenantId,
        actor: Actor,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        self.run(self.ctx(tenant, actor), work).await
    }

    /// Creates the context for units of work in a tenant.
    pub fn ctx(&self, tenant: &TenantId, actor: Actor) -> Ctx {
        self.gate.ctx(tenant.clone(), actor, &self.arrival)
    }

    /// Returns the request's id, which the log also contains.
    pub fn request_id(&self) -> &str {
        &self.arrival.request_id
    }

    /// Runs `work` as the system, before the caller is authenticated.
    pub async fn write_as_system<T: Send + 'static, E: Failure>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        self.run(self.gate.ctx(tenant.clone(), Actor::system("sign-in"), &self.arrival), work).await
    }

    /// Runs `work`, which must not write, on a tenant.
    pub async fn read<T: Send + 'static, E: Failure>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.gate.store.read(tenant.clone(), work).await
    }

    /// Records an audit event in the background, after the response.
    pub fn record_in_background(&self, tenant: &TenantId, user: &UserId, event: audit::Event) {
        let ctx = self.gate.ctx(tenant.clone(), Actor::user(user), &self.arrival);
        record_in_background(self.gate.clone(), ctx, event);
    }

    /// Runs `work` after the response. A shutdown waits for it.
    pub fn in_background(mut self, work: impl AsyncFnOnce(Self) + 'static) {
        self.slot = None;
        let entering = self.gate.entering.clone();
        actix_web::rt::spawn(entering.track_future(async move { work(self).await }));
    }

    async fn run<T: Send + 'static, E: Failure>(
        &self,
        ctx: Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        write(self.gate.clone(), self.slot.as_ref(), ctx, None, work).await
    }
}
