//! The response of each sign-in step.

use actix_web::HttpResponse;
use kernel::{Email, Env, TenantId};
use serde::Serialize;
use serde_json::Value;
use sessions::Session;
use sign_in::{Device, FactorName, Outcome, StartedSession, passkey_enrolment::BegunRegistration};
use utoipa::ToSchema;

use super::device_session;
use crate::api::{Answer, Site, openapi::values};
use gate::{access::Visitor, body::answer, cookies, device_bound, errors::Problem};

/// State of a sign-in. Its members depend on `status`.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignInAnswer {
    /// `SIGNED_IN`, `MFA_REQUIRED`, `ENROLMENT_REQUIRED` or `TENANT_CHOICE`.
    #[schema(value_type = values::SignInStatus)]
    pub(crate) status: &'static str,
    /// Token for the next step, valid for 10 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) ticket: Option<String>,
    /// Accepted factors: `WEBAUTHN`, `TOTP`, `RECOVERY_CODE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Vec<values::FactorName>>)]
    pub(crate) factors: Option<Vec<&'static str>>,
    /// PublicKeyCredentialRequestOptionsJSON, if `factors` contains `WEBAUTHN`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub(crate) webauthn: Option<Value>,
    /// The tenants to choose from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) tenants: Option<Vec<TenantName>>,
    /// What happened since the last sign-in: `PASSWORD_RESET` or `FACTORS_RESET` by an administrator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) notice: Option<String>,
    /// A registration that the browser may complete without asking the user. Send the credential with `conditional`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) passkey_offer: Option<PasskeySetup>,
}

/// Options for enrolling a passkey.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeySetup {
    /// Send it with the answer.
    challenge_id: String,
    /// PublicKeyCredentialCreationOptionsJSON.
    #[schema(value_type = Object)]
    webauthn: Value,
}

impl PasskeySetup {
    pub(crate) fn of(begun: &BegunRegistration) -> Self {
        Self { challenge_id: begun.ticket.0.clone(), webauthn: begun.options.clone() }
    }
}

/// A tenant to choose from.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TenantName {
    /// Slug to send back.
    pub(crate) slug: String,
    /// Display name.
    pub(crate) name: String,
}

/// Describes the device and place of a visitor.
pub(crate) fn device_of(site: &Site, visitor: &Visitor) -> Device {
    Device::new(visitor.user_agent(), site.pipeline.locate(visitor.ip()), visitor.ip())
}

impl SignInAnswer {
    fn new(outcome: &Outcome) -> Self {
        let (status, ticket) = match outcome {
            Outcome::SignedIn(_) => ("SIGNED_IN", None),
            Outcome::FactorOwed { ticket, .. } => ("MFA_REQUIRED", Some(ticket.0.clone())),
            Outcome::EnrolmentOwed { ticket, .. } => ("ENROLMENT_REQUIRED", Some(ticket.0.clone())),
        };
        let mut answer = Self { status, ticket, ..Self::default() };
        match outcome {
            Outcome::SignedIn(started) => {
                answer.notice.clone_from(&started.notice);
                answer.passkey_offer = started.passkey_offer.as_ref().map(PasskeySetup::of);
            }
            Outcome::FactorOwed { factors, webauthn, .. } => {
                answer.factors = Some(factors.iter().map(|name| FactorName::as_str(*name)).collect());
                answer.webauthn.clone_from(webauthn);
            }
            Outcome::EnrolmentOwed { .. } => {}
        }
        answer
    }
}

/// Responds to a sign-in step and sets cookies if a session started. A new session replaces the browser's previous
/// one.
pub(crate) async fn respond_to(
    site: &Site,
    visitor: &Visitor,
    tenant: &TenantId,
    outcome: Outcome,
) -> Answer {
    let mut begun = None;
    if let Outcome::SignedIn(started) | Outcome::EnrolmentOwed { started, .. } = &outcome {
        visitor.end_previous(&started.session.id).await;
        begun = Some(started.session.clone());
    }
    let mut response = respond(site, visitor.env(), tenant, outcome)?;
    if let Some(session) = begun {
        offer_binding(site, visitor.env(), tenant, &session, &mut response)?;
    }
    Ok(response)
}

/// Asks the browser to bind a session to a key, if its sign-in is complete. Only for responses to somebody who has just proved
/// to be the user: the challenge permits binding the session.
pub(crate) fn offer_binding(
    site: &Site,
    env: &dyn Env,
    tenant: &TenantId,
    session: &Session,
    response: &mut HttpResponse,
) -> Result<(), Problem> {
    device_bound::offer(&site.pipeline, response, (tenant, session), device_session::PATH, env.now())
}

/// Builds the response of a step that keeps the visitor's own session.
pub(crate) fn respond(site: &Site, env: &dyn Env, tenant: &TenantId, outcome: Outcome) -> Answer {
    let mut response = answer(&SignInAnswer::new(&outcome));
    if let Outcome::SignedIn(started) | Outcome::EnrolmentOwed { started, .. } = outcome {
        set_cookies(site, env, tenant, &started, &mut response)?;
    }
    Ok(response)
}

/// Adds the cookies of a session to a response.
pub(crate) fn set_cookies(
    site: &Site,
    env: &dyn Env,
    tenant: &TenantId,
    started: &StartedSession,
    response: &mut HttpResponse,
) -> Result<(), Problem> {
    let about = cookies::SessionClaims {
        tenant,
        email: started.person.email.as_ref().map(Email::as_str),
        name: started.person.display_name.as_deref(),
    };
    cookies::set(&site.pipeline, env, response, &started.session, started.absolute_days, &about)
}
