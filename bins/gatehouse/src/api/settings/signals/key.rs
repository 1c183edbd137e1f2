//! The key that signs the tenant's tokens: the first one, and `POST /api/settings/signals/rotate-key`.

use actix_web::post;
use audit::{Audited, Event, events::signals::SignalKeyCreated};
use kernel::Ctx;
use saml_sp::KeyPair;
use serde::Serialize;
use signals::{Jwk, KEPT, KeyStore, StoredKey};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call};
use gate::{
    body::answer,
    errors::Problem,
    permissions::{ManageSignals, Permission},
};

/// The keys of the tenant.
#[derive(Serialize, ToSchema)]
struct SignalKeys {
    /// Newest first. The first one signs; the others have been replaced within the last 30 days.
    keys: Vec<Jwk>,
}

/// Generates a key if the tenant has none. Generating one is expensive, so it is done before the unit of work.
pub(super) async fn ensure_key<P: Permission>(call: &Call<P>) -> Result<Option<StoredKey>, Problem> {
    let keys = call.read(async |_: &Ctx, tx: &mut Tx| tx.signing_keys().await).await?;
    if keys.is_empty() { generate(call).await.map(Some) } else { Ok(None) }
}

async fn generate<P: Permission>(call: &Call<P>) -> Result<StoredKey, Problem> {
    let (seal, now) = (call.site.pipeline.keys.signals(), call.ctx().now);
    let work = move || {
        let pair = KeyPair::generate("signals", now).map_err(Problem::unexpected)?;
        StoredKey::new(&seal, &pair.private, now).map_err(Problem::unexpected)
    };
    call.without_slot(call.site.saml.compute(work)).await??
}

/// Adds a key unless another request has added one.
pub(super) async fn add_first(
    ctx: &Ctx,
    tx: &mut Tx,
    key: Option<StoredKey>,
) -> Result<Option<Event>, Problem> {
    let Some(key) = key else { return Ok(None) };
    if !tx.signing_keys().await?.is_empty() {
        return Ok(None);
    }
    add(ctx, tx, &key, false).await.map(Some)
}

async fn add(ctx: &Ctx, tx: &mut Tx, key: &StoredKey, replaces: bool) -> Result<Event, Problem> {
    tx.add_signing_key(key, ctx.now.plus_millis(-KEPT)).await?;
    Ok(Event::new(key.jwk.kid.as_str(), &SignalKeyCreated { replaces }))
}

/// Rotate the key of signals
///
/// A new key signs from now on. The previous one stays in the key set for 30 days, for receivers that still have its tokens.
/// Receivers read the key set again when they see an unknown key.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The key set.", body = SignalKeys))
)]
#[post("/api/settings/signals/rotate-key")]
pub(crate) async fn rotate_signal_key(call: Call<ManageSignals>) -> Answer {
    let key = generate(&call).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let replaces = !tx.signing_keys().await?.is_empty();
        let event = add(ctx, tx, &key, replaces).await?;
        let keys = tx.signing_keys().await?;
        Ok::<_, Problem>(Audited::new(keys, event))
    };
    let keys = call.write(work).await?;
    Ok(answer(&SignalKeys { keys: keys.into_iter().map(|key| key.jwk).collect() }))
}
