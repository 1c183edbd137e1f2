//! Collects refused SCIM requests and stores them periodically, so that administrators see what their directory got
//! wrong.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use actix_web::{HttpMessage, HttpRequest, dev::ServiceResponse, http::StatusCode};
use audit::{Audited, Unaudited};
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId};
use serde_json::Value;
use store::{Store, Tx};
use tokens::ScimRefusal;

use super::{access, caller::Caller, errors::ScimDetail};

/// Maximum number of refusals that wait to be stored. Further ones are not collected.
const MAX_PENDING: usize = 2_000;

/// The path of the SCIM base URL.
const BASE: &str = "/api/scim/v2";

/// Refusals since the last flush, by tenant and [`ScimRefusal::id`].
#[derive(Default)]
pub(crate) struct ScimRefusals(Mutex<HashMap<(TenantId, [u8; 32]), ScimRefusal>>);

/// The name of the user or group in a request's body, attached to the request.
struct Subject(String);

/// Remembers the `userName` or `displayName` of a body, in case the request is refused.
pub(crate) fn note_subject(request: &HttpRequest, body: &Value) {
    let names = ["userName", "displayName"].into_iter().filter_map(|name| body.get(name)?.as_str());
    if let Some(name) = names.into_iter().next() {
        request.extensions_mut().insert(Subject(shortened(name)));
    }
}

impl ScimRefusals {
    /// Collects the request if a SCIM token sent it and it was refused because of its contents. Rate limits are not
    /// collected: directories repeat those requests.
    pub(crate) fn note(&self, response: &mut ServiceResponse<impl Sized>) {
        let Some(detail) = response.response_mut().extensions_mut().remove::<ScimDetail>() else { return };
        let (status, request) = (response.status(), response.request());
        if !status.is_client_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        let Some((Caller::Scim(token), ctx)) = access::passed(request) else { return };
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let refusal = ScimRefusal {
            token: token.id.clone(),
            method: request.method().to_string(),
            target: shortened(target.strip_prefix(BASE).unwrap_or(target)),
            subject: request.extensions().get::<Subject>().map(|subject| subject.0.clone()),
            status: status.as_u16(),
            scim_type: detail.scim_type.map(|scim_type| scim_type.as_str().to_owned()),
            detail: shortened(&detail.message),
            times: 1,
            last_at: ctx.now,
        };
        self.add(ctx.tenant, refusal);
    }

    fn add(&self, tenant: TenantId, refusal: ScimRefusal) {
        let mut pending = self.pending();
        let key = (tenant, refusal.id());
        if let Some(known) = pending.get_mut(&key) {
            known.times += refusal.times;
            known.last_at = known.last_at.max(refusal.last_at);
        } else if pending.len() < MAX_PENDING {
            pending.insert(key, refusal);
        }
    }

    /// Stores the collected refusals, one unit of work per tenant. If that fails, they are collected again.
    pub(crate) async fn flush(&self, store: &Store, env: &Arc<dyn Env>) -> StoreResult<()> {
        let mut failed = None;
        let mut due: HashMap<TenantId, Vec<([u8; 32], ScimRefusal)>> = HashMap::new();
        for ((tenant, id), refusal) in std::mem::take(&mut *self.pending()) {
            due.entry(tenant).or_default().push((id, refusal));
        }
        for (tenant, mut refusals) in due {
            // A fixed order prevents deadlocks between concurrent flushes.
            refusals.sort_unstable_by_key(|(id, _)| *id);
            let refusals: Vec<_> = refusals.into_iter().map(|(_, refusal)| refusal).collect();
            let again = refusals.clone();
            let ctx = Ctx::new(Arc::clone(env), tenant.clone(), Actor::system("refused SCIM requests"));
            let work = async move |_: &Ctx, tx: &mut Tx| {
                tx.record_scim_refusals(&refusals).await?;
                Ok::<_, StoreError>(Audited::without((), Unaudited::LastUse))
            };
            if let Err(error) = store.write(ctx, work).await {
                for refusal in again {
                    self.add(tenant.clone(), refusal);
                }
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<(TenantId, [u8; 32]), ScimRefusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the first [`ScimRefusal::TEXT_MAX`] characters, without control characters, which PostgreSQL text may not
/// contain.
fn shortened(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(ScimRefusal::TEXT_MAX).collect()
}
