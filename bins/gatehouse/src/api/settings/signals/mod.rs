//! `/api/settings/signals`: receivers of shared signals, and the key that signs.

pub(crate) mod key;
pub(crate) mod token;
pub(crate) mod transmitters;

use actix_web::{delete, get, patch, post};
use audit::{
    Audited, Event,
    events::signals::{SignalReceiverCreated, SignalReceiverDeleted, SignalReceiverUpdated},
};
use kernel::{Ctx, Secret};
use serde::{Serialize, Serializer};
use signals::{Change, New, ReceiverStore, ReceiverView};
use store::Tx;
use tokens::RawToken;
use utoipa::ToSchema;

use self::key::ensure_key;
use crate::api::{Answer, Call, me::factors::Deleted, ssf};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{ManageSignals, Permission},
};

/// The receivers of the tenant's signals.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignalReceiverList {
    /// The issuer of the tokens. Receivers find the configuration of the transmitter by it.
    issuer: String,
    /// URL of the configuration of the transmitter, which receivers that do not find it by the issuer need.
    configuration_url: String,
    /// Oldest first.
    receivers: Vec<ReceiverView>,
}

/// A receiver with its access token.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignalReceiverWithToken {
    #[serde(flatten)]
    receiver: ReceiverView,
    /// The access token, `ssf_…`. It is not shown again.
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String)]
    token: Secret<String>,
}

impl SignalReceiverWithToken {
    fn new(receiver: ReceiverView, token: &RawToken) -> Self {
        Self { receiver, token: Secret::new(token.expose().to_owned()) }
    }
}

fn exposed<S: Serializer>(token: &Secret<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(token.expose())
}

/// List receivers of signals
///
/// With their streams: how many events wait, and what the last problem was while a stream fails.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All receivers of the tenant.", body = SignalReceiverList))
)]
#[get("/api/settings/signals/receivers")]
pub(crate) async fn list_signal_receivers(call: Call<ManageSignals>) -> Answer {
    Ok(answer(&receiver_list(&call).await?))
}

/// Returns the receivers of the tenant.
pub(crate) async fn receiver_list<P: Permission>(call: &Call<P>) -> Result<SignalReceiverList, Problem> {
    let found = call.read(async |_: &Ctx, tx: &mut Tx| tx.receivers().await).await?;
    let (base_url, tenant) = (&call.site.pipeline.base_url, call.tenant());
    Ok(SignalReceiverList {
        issuer: ssf::issuer(base_url, tenant),
        configuration_url: ssf::configuration_url(base_url, tenant),
        receivers: found.iter().map(|(one, stream)| ReceiverView::new(one, stream.as_ref())).collect(),
    })
}

/// Add a receiver of signals
///
/// The response contains its access token; it is not shown again. With it, the receiver creates and manages its stream
/// (OpenID Shared Signals Framework 1.0). A tenant has at most 20 receivers. Needs the permissions `manage:webhooks` and
/// `read:users`, as all operations of receivers.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The receiver, with its access token, shown once.", body = SignalReceiverWithToken),
        (status = 400, description = "A field is malformed, or an event type is unknown."),
        (status = 409, description = "CONFLICT: the tenant has 20 receivers."),
    )
)]
#[post("/api/settings/signals/receivers")]
pub(crate) async fn create_signal_receiver(call: Call<ManageSignals>, body: Json<New>) -> Answer {
    let key = ensure_key(&call).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (receiver, token) = signals::create(ctx, tx, body.0).await?;
        let created = SignalReceiverCreated { audience: receiver.audience.clone() };
        let mut events = vec![Event::new(receiver.id.as_str(), &created)];
        events.extend(key::add_first(ctx, tx, key).await?);
        Ok::<_, Problem>(Audited::of_changes((receiver, token), events))
    };
    let (receiver, token) = call.write(work).await?;
    Ok(answer(&SignalReceiverWithToken::new(ReceiverView::new(&receiver, None), &token)))
}

/// Get a receiver of signals
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The receiver.", body = ReceiverView))
)]
#[get("/api/settings/signals/receivers/{id}")]
pub(crate) async fn get_signal_receiver(call: Call<ManageSignals>) -> Answer {
    let id = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| signals::find(tx, &id).await.map_err(Problem::from);
    let (receiver, stream) = call.read(work).await?;
    Ok(answer(&ReceiverView::new(&receiver, stream.as_ref())))
}

/// Update a receiver of signals
///
/// Takes effect at once. A disabled receiver is notified on its stream (`stream-updated`), which is disabled.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The receiver.", body = ReceiverView),
        (status = 400, description = "A field is malformed, or an event type is unknown."),
    )
)]
#[patch("/api/settings/signals/receivers/{id}")]
pub(crate) async fn change_signal_receiver(call: Call<ManageSignals>, body: Json<Change>) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let ((receiver, stream), changed) = signals::change(ctx, tx, &id, body.0).await?;
        let view = ReceiverView::new(&receiver, stream.as_ref());
        let changed: Vec<_> = changed.into_iter().map(str::to_owned).collect();
        let event =
            (!changed.is_empty()).then(|| Event::new(id.as_str(), &SignalReceiverUpdated { changed }));
        Ok::<_, Problem>(Audited::of_changes(view, event.into_iter().collect()))
    };
    Ok(answer(&call.write(work).await?))
}

/// Delete a receiver of signals
///
/// Its stream and the events that wait are deleted, and its access token is refused.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Deleted.", body = Deleted))
)]
#[delete("/api/settings/signals/receivers/{id}")]
pub(crate) async fn delete_signal_receiver(call: Call<ManageSignals>) -> Answer {
    let id = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        signals::remove(tx, &id).await?;
        Ok::<_, Problem>(Audited::new((), Event::new(id.as_str(), &SignalReceiverDeleted {})))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
