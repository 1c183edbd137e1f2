//! `POST /api/ssf/{tenantId}/transmitters/{transmitterId}/events`: events of a transmitter (RFC 8935).

mod consequence;
mod keys;
mod rate;
mod sender;

use actix_web::{HttpRequest, HttpResponse, http::header, post, web};
use gate::{
    access::Visitor,
    body::SecurityEventToken,
    errors::{Code, Problem},
};
use kernel::Secret;
use serde::Serialize;
use signals::Refusal;
use utoipa::ToSchema;

use self::{
    keys::{Verified, verified},
    sender::Sender,
};
use crate::{api::Site, area_metrics};

pub(crate) use self::rate::ReceivedRate;

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
        (status = 429, description = "Too many refused tokens from this address, or too many tokens for this tenant. Header Retry-After."),
        (status = 503, description = "UNAVAILABLE: the key of the token is unknown, and the keys of the transmitter cannot be read now. Send the token again after the time in Retry-After."),
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
    if let Err(refusal) = sender.transmitter.authenticate(authorization(&request).as_ref()) {
        return refuse(&sender, &refusal);
    }
    sender.site.signals.admit(&sender.tenant)?;
    match verified(&sender, body.0).await? {
        Verified::Event(event) => {
            area_metrics::signal_received(consequence::apply(&sender, *event).await?);
            Ok(HttpResponse::Accepted().insert_header((header::CACHE_CONTROL, "no-store")).finish())
        }
        Verified::Refused(refusal) => refuse(&sender, &refusal),
        Verified::Undecided(refusal) => {
            count_refusal(&sender)?;
            Err(sender.refused(Problem::unavailable(), &refusal))
        }
    }
}

/// Returns the header `Authorization`, if there is exactly one.
fn authorization(request: &HttpRequest) -> Option<Secret<String>> {
    let mut sent = request.headers().get_all(header::AUTHORIZATION);
    let (Some(value), None) = (sent.next(), sent.next()) else { return None };
    value.to_str().ok().map(|text| Secret::new(text.to_owned()))
}

/// Counts a refused token of a client address. Fails with 429 above the limit.
fn count_refusal(sender: &Sender<'_>) -> Result<(), Problem> {
    area_metrics::signal_received("refused");
    sender.site.saml.admit(&sender.visitor.origin())
}

fn refuse(sender: &Sender<'_>, refusal: &Refusal) -> Result<HttpResponse, Problem> {
    count_refusal(sender)?;
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
    let problem = Problem::new(Code::InvalidRequest, "The token was not accepted.");
    sender.refused(problem, refusal).attach_to(&mut response);
    Ok(response)
}
