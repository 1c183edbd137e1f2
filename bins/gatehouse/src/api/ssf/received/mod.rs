//! `POST /api/ssf/{tenantId}/transmitters/{transmitterId}/events`: events of a transmitter (RFC 8935).

mod consequence;
mod keys;
mod sender;

use std::num::NonZeroU32;

use actix_web::{HttpRequest, HttpResponse, http::header, post, web};
use gate::{
    access::Visitor,
    body::SecurityEventToken,
    errors::{Code, Problem},
    rate_limit::RateLimit,
};
use kernel::{Secret, Timestamp};
use serde::Serialize;
use signals::{Refusal, TransmitterId};
use utoipa::ToSchema;

use self::{
    keys::{Verified, verified},
    sender::Sender,
};
use crate::{api::Site, area_metrics};

/// Tokens per second and transmitter on each instance. Each costs a verification, a transaction and an audit entry.
const TOKENS: NonZeroU32 = NonZeroU32::new(50).unwrap();
/// The burst of them.
const BURST: NonZeroU32 = NonZeroU32::new(1000).unwrap();

/// Limits the tokens of a transmitter, so that a tenant does not slow down others.
pub(crate) fn received_rate() -> RateLimit<TransmitterId> {
    RateLimit::new(TOKENS, BURST)
}

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
        (status = 429, description = "Too many tokens of this transmitter, or from this address: refused ones, or any for a transmitter that needs no header. Header Retry-After."),
        (status = 503, description = "UNAVAILABLE: none of the known keys has signed the token, and the keys of the transmitter cannot be read now; or an administrator is changing the transmitter; or the server is overloaded. Send the token again after the time in Retry-After."),
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
    // Strangers can send tokens to a transmitter without a header, so those count for the transmitter once they are verified.
    let is_authenticated = sender.transmitter.hash.is_some();
    if is_authenticated {
        count_token(&sender)?;
    } else {
        site.saml.admit(&visitor.origin())?;
    }
    match verified(&sender, body.0).await? {
        Verified::Event(event) => {
            if !is_authenticated {
                count_token(&sender)?;
            }
            area_metrics::signal_received(consequence::apply(&sender, *event).await?);
            Ok(HttpResponse::Accepted().insert_header((header::CACHE_CONTROL, "no-store")).finish())
        }
        Verified::Refused(refusal) => refuse(&sender, &refusal),
        Verified::Undecided(refusal, until) => {
            count_refusal(&sender)?;
            Err(sender.refused(key_unknown(&sender, until), &refusal))
        }
    }
}

/// Returns the header `Authorization`, if there is exactly one.
fn authorization(request: &HttpRequest) -> Option<Secret<String>> {
    let mut sent = request.headers().get_all(header::AUTHORIZATION);
    let (Some(value), None) = (sent.next(), sent.next()) else { return None };
    value.to_str().ok().map(|text| Secret::new(text.to_owned()))
}

/// Counts a token of a transmitter. Fails with 429 above the limit.
fn count_token(sender: &Sender<'_>) -> Result<(), Problem> {
    let busy = |seconds| Problem::busy("This transmitter sends too many events", seconds);
    sender.site.signals.count(&sender.transmitter.id).map_err(busy)
}

/// Refuses a token that none of the known keys has signed, until the keys can be read again.
fn key_unknown(sender: &Sender<'_>, until: Timestamp) -> Problem {
    let wait = until.unix_millis() - sender.visitor.env().now().unix_millis();
    let seconds = u64::try_from(wait).unwrap_or_default().div_ceil(1000).max(1);
    Problem::unavailable_for("The keys of this transmitter cannot be read now", seconds)
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
