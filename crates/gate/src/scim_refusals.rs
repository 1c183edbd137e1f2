//! Collects refused SCIM requests and stores them periodically, so that administrators see what their directory got
//! wrong.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use actix_web::{HttpMessage, HttpRequest, dev::ServiceResponse, http::StatusCode};
use audit::{Audited, Unaudited};
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId};
use serde_json::Value;
use store::{Store, Tx};
use tokens::ScimRefusal;

use super::{access, caller::Caller, errors::ScimDetail};

/// Maximum number of refusals that wait to be stored, of which a tenant has at most [`ScimRefusal::KEPT`]. Further ones
/// are not collected.
const MAX_PENDING: usize = 2_000;

/// The path of the SCIM base URL.
const BASE: &str = "/api/scim/v2";

/// Refusals of a tenant by [`ScimRefusal::id`].
type TenantRefusals = HashMap<[u8; 32], ScimRefusal>;

/// Refusals since the last flush, by tenant.
#[derive(Default)]
pub(crate) struct ScimRefusals(Mutex<HashMap<TenantId, TenantRefusals>>);

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
        let has_room = pending.values().map(HashMap::len).sum::<usize>() < MAX_PENDING;
        if !has_room && !pending.contains_key(&tenant) {
            return;
        }
        let own = pending.entry(tenant).or_default();
        let id = refusal.id();
        if let Some(known) = own.get_mut(&id) {
            known.times += refusal.times;
            known.last_at = known.last_at.max(refusal.last_at);
        } else if has_room && own.len() < ScimRefusal::KEPT {
            own.insert(id, refusal);
        }
    }

    /// Stores the collected refusals, one unit of work per tenant. If that fails, they are collected again.
    pub(crate) async fn flush(&self, store: &Store, env: &Arc<dyn Env>) -> StoreResult<()> {
        let mut failed = None;
        let due = std::mem::take(&mut *self.pending());
        for (tenant, refusals) in due {
            // A fixed order avoids deadlocks between the upserts of concurrent flushes.
            let refusals: Vec<_> = BTreeMap::from_iter(refusals).into_values().collect();
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

    fn pending(&self) -> MutexGuard<'_, HashMap<TenantId, TenantRefusals>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the first [`ScimRefusal::TEXT_MAX`] characters, without control characters, which PostgreSQL text may not
/// contain.
fn shortened(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(ScimRefusal::TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{ManualEnv, Timestamp};
    use tokens::ScimTokenId;

    #[test]
    fn one_tenant_leaves_room_for_others() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse::<Timestamp>().unwrap());
        let (busy, quiet, token) = (TenantId::new(&env), TenantId::new(&env), ScimTokenId::new(&env));
        let refusal = |target: &str| ScimRefusal {
            token: token.clone(),
            method: "GET".into(),
            target: target.into(),
            subject: None,
            status: 404,
            scim_type: None,
            detail: String::new(),
            times: 1,
            last_at: env.now(),
        };
        let refusals = ScimRefusals::default();
        for number in 0..2 * MAX_PENDING {
            refusals.add(busy.clone(), refusal(&format!("/Users/{number}")));
        }
        refusals.add(quiet.clone(), refusal("/Users/1"));
        refusals.add(quiet.clone(), refusal("/Users/1"));
        let pending = refusals.pending();
        assert_eq!((pending[&busy].len(), pending[&quiet].len()), (ScimRefusal::KEPT, 1));
        assert_eq!(pending[&quiet].values().map(|refusal| refusal.times).sum::<u64>(), 2);
    }

    #[test]
    fn texts_are_short_and_without_control_characters() {
        assert_eq!(shortened("a\0b\n"), "ab");
        assert_eq!(shortened(&"é".repeat(1_000)).chars().count(), ScimRefusal::TEXT_MAX);
    }
}
