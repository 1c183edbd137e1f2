//! `/api/settings/signals/transmitters`: transmitters whose events are accepted.

use actix_web::{delete, get, patch, post};
use audit::{
    Audited, Event,
    events::signals::{
        SignalTransmitterCreated, SignalTransmitterDeleted, SignalTransmitterTokenReplaced,
        SignalTransmitterUpdated,
    },
};
use credentials::attempts;
use kernel::{Ctx, Secret};
use oidc_rp::KeySet;
use serde::Serialize;
use signals::{
    CheckedTransmitter, Consequences, MAX_TRANSMITTERS, NewTransmitter, TransmitterChange,
    TransmitterStore as _, TransmitterView, TrustedTransmitter,
};
use store::Tx;
use tokens::RawToken;
use utoipa::ToSchema;

use super::exposed;
use crate::{
    api::{Answer, Call, me::factors::Deleted, ssf},
    oidc_client, ssf_client,
};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{ManageConnections, ManageTransmitters, Permission},
    step_up::{SsoProviderChange, StepUp},
};

/// The transmitters of the tenant.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignalTransmitterList {
    /// Oldest first.
    transmitters: Vec<TransmitterView>,
}

/// A transmitter with the header of its requests.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignalTransmitterWithToken {
    #[serde(flatten)]
    transmitter: TransmitterView,
    /// The value of the header `Authorization` of its requests, which you enter there. It is not shown again. Absent if its
    /// requests need none.
    #[serde(serialize_with = "optional", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    authorization: Option<Secret<String>>,
}

#[expect(clippy::ref_option, reason = "serde passes the member")]
fn optional<S: serde::Serializer>(value: &Option<Secret<String>>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => exposed(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Shows a transmitter.
pub(crate) fn transmitter_view<P: Permission>(
    call: &Call<P>,
    transmitter: &TrustedTransmitter,
) -> TransmitterView {
    let base_url = &call.site.pipeline.base_url;
    TransmitterView::new(transmitter, ssf::receiving_url(base_url, call.tenant(), &transmitter.id))
}

fn with_token(
    call: &Call<ManageTransmitters>,
    transmitter: &TrustedTransmitter,
    token: Option<&RawToken>,
) -> SignalTransmitterWithToken {
    let authorization = token.map(|token| Secret::new(format!("Bearer {}", token.expose())));
    SignalTransmitterWithToken { transmitter: transmitter_view(call, transmitter), authorization }
}

/// List transmitters of signals
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All transmitters that the tenant trusts.", body = SignalTransmitterList))
)]
#[get("/api/settings/signals/transmitters")]
pub(crate) async fn list_signal_transmitters(call: Call<ManageConnections>) -> Answer {
    Ok(answer(&transmitter_list(&call).await?))
}

/// Returns the transmitters of the tenant.
pub(crate) async fn transmitter_list<P: Permission>(
    call: &Call<P>,
) -> Result<SignalTransmitterList, Problem> {
    let found = call.read(async |_: &Ctx, tx: &mut Tx| tx.transmitters().await).await?;
    Ok(SignalTransmitterList { transmitters: found.iter().map(|one| transmitter_view(call, one)).collect() })
}

/// Checks the connection and the limit, and reads the keys of a new transmitter.
async fn keys_of(call: &Call<ManageTransmitters>, new: &CheckedTransmitter) -> Result<KeySet, Problem> {
    let connection = new.connection().to_owned();
    let check = async move |_: &Ctx, tx: &mut Tx| {
        if ssf::connection_of(tx, &connection).await?.is_none() {
            return Err(Problem::invalid_request("connectionId: there is no such SSO connection"));
        }
        Ok(tx.transmitters().await?.len())
    };
    if call.read(check).await? >= MAX_TRANSMITTERS {
        return Err(signals::Error::TooManyTransmitters.into());
    }
    let (issuer, jwks_uri) = new.source();
    let (member, url) = jwks_uri.map_or(("issuer", issuer), |url| ("jwksUri", url));
    let problem = |problem: String| Problem::invalid_request(format!("{member}: {problem}"));
    let client = &call.site.webhooks.client;
    oidc_client::check_issuer(client, url).map_err(problem)?;
    call.attempt(attempts::look_up(call.tenant())).await?;
    call.without_slot(ssf_client::read_keys(client, issuer, jwks_uri)).await?.map_err(problem)
}

/// Add a transmitter of signals
///
/// Reads its keys. The response contains the header that its requests need; it is not shown again. Create the stream at the
/// transmitter, with push delivery (RFC 8935) to `endpointUrl` and this header. Requires a step-up (`SSO_PROVIDER_CHANGE`)
/// and the permissions `manage:connections` and `manage:users`, as all changes of transmitters do. A tenant has at most 20
/// transmitters.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The transmitter, with the header of its requests, shown once.", body = SignalTransmitterWithToken),
        (status = 400, description = "A field is malformed, the SSO connection is unknown, or the keys cannot be read or used."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT: the tenant has 20 transmitters."),
        (status = 429, description = "RATE_LIMITED: keys were read too often. Header Retry-After."),
    )
)]
#[post("/api/settings/signals/transmitters")]
pub(crate) async fn create_signal_transmitter(
    call: Call<ManageTransmitters>,
    proof: StepUp<SsoProviderChange>,
    body: Json<NewTransmitter>,
) -> Answer {
    let new = body.0.check()?;
    let keys = keys_of(&call, &new).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let (transmitter, token) = signals::add_transmitter(ctx, tx, new, keys).await?;
        let (issuer, connection) = (transmitter.issuer.clone(), transmitter.connection.clone());
        let data = SignalTransmitterCreated {
            issuer,
            connection,
            consequences: signals::consequence_names(&transmitter.consequences),
            requires_authorization: transmitter.hash.is_some(),
        };
        let event = Event::new(transmitter.id.as_str(), &data);
        Ok::<_, Problem>(Audited::new((transmitter, token), event).with(spending.events()?))
    };
    let (transmitter, token) = call.write(work).await?;
    Ok(answer(&with_token(&call, &transmitter, token.as_ref())))
}

/// Get a transmitter of signals
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The transmitter.", body = TransmitterView))
)]
#[get("/api/settings/signals/transmitters/{id}")]
pub(crate) async fn get_signal_transmitter(call: Call<ManageConnections>) -> Answer {
    let id = call.id()?;
    let find =
        async move |_: &Ctx, tx: &mut Tx| signals::find_transmitter(tx, &id).await.map_err(Problem::from);
    let transmitter = call.read(find).await?;
    Ok(answer(&transmitter_view(&call, &transmitter)))
}

fn updated(changed: &[&str], before: &Consequences, now: &Consequences) -> SignalTransmitterUpdated {
    let is_different = before != now;
    SignalTransmitterUpdated {
        changed: changed.iter().map(|&name| name.to_owned()).collect(),
        consequences_before: is_different.then(|| signals::consequence_names(before)),
        consequences: is_different.then(|| signals::consequence_names(now)),
    }
}

/// Update a transmitter of signals
///
/// Takes effect at once. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The transmitter.", body = TransmitterView),
        (status = 400, description = "A field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[patch("/api/settings/signals/transmitters/{id}")]
pub(crate) async fn change_signal_transmitter(
    call: Call<ManageTransmitters>,
    proof: StepUp<SsoProviderChange>,
    body: Json<TransmitterChange>,
) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let before = signals::find_transmitter(tx, &id).await?.consequences;
        let (transmitter, changed) = signals::change_transmitter(ctx, tx, &id, body.0).await?;
        let event = (!changed.is_empty())
            .then(|| Event::new(id.as_str(), &updated(&changed, &before, &transmitter.consequences)));
        let events = event.into_iter().collect();
        Ok::<_, Problem>(Audited::of_changes(transmitter, events).with(spending.events()?))
    };
    let transmitter = call.write(work).await?;
    Ok(answer(&transmitter_view(&call, &transmitter)))
}

/// Replace the header of a transmitter
///
/// The previous value is refused at once. The response contains the new one; it is not shown again. Requests of a transmitter
/// that needed no header need it from now on. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The transmitter, with the header of its requests, shown once.", body = SignalTransmitterWithToken),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[post("/api/settings/signals/transmitters/{id}/replace-token")]
pub(crate) async fn replace_transmitter_token(
    call: Call<ManageTransmitters>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let was_required = signals::find_transmitter(tx, &id).await?.hash.is_some();
        let replaced = signals::replace_push_token(ctx, tx, &id).await?;
        let event = Event::new(id.as_str(), &SignalTransmitterTokenReplaced { was_required });
        Ok::<_, Problem>(Audited::new(replaced, event).with(spending.events()?))
    };
    let (transmitter, token) = call.write(work).await?;
    Ok(answer(&with_token(&call, &transmitter, Some(&token))))
}

/// Delete a transmitter of signals
///
/// Its events are refused at once. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "Deleted.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[delete("/api/settings/signals/transmitters/{id}")]
pub(crate) async fn delete_signal_transmitter(
    call: Call<ManageTransmitters>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        signals::remove_transmitter(tx, &id).await?;
        let event = Event::new(id.as_str(), &SignalTransmitterDeleted {});
        Ok::<_, Problem>(Audited::new((), event).with(spending.events()?))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
