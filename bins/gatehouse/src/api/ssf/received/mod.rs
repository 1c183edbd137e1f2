//! `POST /api/ssf/{tenantId}/transmitters/{transmitterId}/events`: events of a transmitter (RFC 8935).

mod consequence;
mod keys;
mod sender;

use actix_web::{HttpRequest, HttpResponse, http::header, post, web};
use gate::{access::Visitor, body::SecurityEventToken, errors::Problem};
use kernel::Secret;
use serde::Serialize;
use signals::Refusal;
use utoipa::ToSchema;

use self::{keys::verified, sender::Sender};
use crate::{api::Site, area_metrics};

/// Why a token was not accepted (RFC 8935, section 2.3).
#[derive(Serialize, ToSchema)]
struct SignalTokenRefusal {
    /// A registered code, such as `invalid_key` or `authentication_failed`.
    err: &'static str,
    /// A general explanation. The audit log shows administrators the reason.
    description: &'static str,
}

/// Receive an event
///
/// A transmitter that an administrator trusts posts a security event token (RFC 8417). Once the response has the status 202,
/// the event is recorded and has had its consequence. A repeated token is accepted and has no further consequence.
#[utoipa::path(
    security(()),
    params(
        ("tenantId" = String, Path, description = "ten_…"),
        ("transmitterId" = String, Path, description = "trm_…"),
        ("Authorization" = Option<String>, Header, description = "The value that was shown when the transmitter was added, unless it needs none."),
    ),
    request_body(content = String, content_type = "application/secevent+jwt", description = "A security event token of at most 64 KiB."),
    responses(
        (status = 202, description = "The event is recorded and has had its consequence."),
        (status = 400, description = "The token was not accepted.", body = SignalTokenRefusal),
        (status = 404, description = "Unknown transmitter."),
        (status = 429, description = "Too many refused tokens from this address."),
    )
)]
#[post("/api/ssf/{tenantId}/transmitters/{transmitterId}/events")]
pub(crate) async fn receive_ssf_event(
    site: web::Data<Site>,
    visitor: Visitor,
    path: web::Path<(String, String)>,
    request: HttpRequest,
    body: SecurityEventToken,
) -> Result<HttpResponse, Problem> {
    let sender = Sender::find(&site, &visitor, &path).await?;
    let verified = match sender.transmitter.authenticate(authorization(&request).as_ref()) {
        Ok(()) => verified(&sender, body.0).await?,
        Err(refusal) => Err(refusal),
    };
    match verified {
        Ok(event) => {
            area_metrics::signal_received(consequence::apply(&sender, event).await?);
            Ok(HttpResponse::Accepted().insert_header((header::CACHE_CONTROL, "no-store")).finish())
        }
        Err(refusal) => refuse(&sender, &refusal),
    }
}

/// Returns the header `Authorization`, if there is exactly one.
fn authorization(request: &HttpRequest) -> Option<Secret<String>> {
    let mut sent = request.headers().get_all(header::AUTHORIZATION);
    let (Some(value), None) = (sent.next(), sent.next()) else { return None };
    value.to_str().ok().map(|text| Secret::new(text.to_owned()))
}

fn refuse(sender: &Sender<'_>, refusal: &Refusal) -> Result<HttpResponse, Problem> {
    area_metrics::signal_received("refused");
    // Valid tokens are not limited: a transmitter sends them all from one address.
    sender.site.saml.admit(&sender.visitor.origin())?;
    let err = refusal.set_error();
    let description = match err {
        "authentication_failed" => "The Authorization header was not accepted.",
        "access_denied" => "This transmitter may not send events.",
        "invalid_key" => "The signature was not accepted.",
        "invalid_issuer" => "The issuer was not accepted.",
        "invalid_audience" => "The audience was not accepted.",
        "invalid_state" => "The state was not accepted.",
        _ => "The token was not accepted.",
    };
    let mut response = HttpResponse::BadRequest()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::CONTENT_LANGUAGE, "en"))
        .json(SignalTokenRefusal { err, description });
    sender.refused(refusal).attach_to(&mut response);
    Ok(response)
}
