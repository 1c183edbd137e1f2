//! Shared state of the routes on all HTTP worker threads, by area.

use std::sync::Arc;

use actix_web::web;
use gate::{pipeline::Pipeline, rate_limit::RateLimit};
use log_streams::Sending;
use sign_in::Verifiers;
use signals::TransmitterId;
use tokio::sync::Semaphore;
use webhooks::client::Client;

use super::{auth::Auth, documents::Documents, saml::Saml, settings::AuditLogs};
use crate::workers::deliveries::Webhooks;
use crate::{mail::Mail, trust_anchors::TrustAnchors};

/// Shared state of the routes on all HTTP worker threads, by area.
pub(crate) struct Site {
    /// Shared state of the request pipeline.
    pub(crate) pipeline: web::Data<Pipeline>,
    /// State of the sign-in routes.
    pub(crate) auth: Auth,
    pub(crate) mail: Option<Mail>,
    /// State of the SAML routes.
    pub(crate) saml: Saml,
    /// State of the webhook routes.
    pub(crate) webhooks: Webhooks,
    /// State of the audit log routes.
    pub(crate) audit: AuditLogs,
    /// Trust anchors for the attestation of authenticator models.
    pub(crate) makers: Arc<TrustAnchors>,
    pub(crate) dns: saml_sp::DnsTxt,
    pub(crate) documents: &'static Documents,
    /// Limits received signals of a transmitter.
    pub(crate) signals: RateLimit<TransmitterId>,
    /// Turns of signing polled signals.
    pub(crate) signing: Arc<Semaphore>,
}

impl Site {
    /// Returns the verifiers of second factors.
    pub(crate) fn verifiers(&self) -> Verifiers<'_> {
        Verifiers { passkeys: self.auth.passkeys.as_ref(), totp: &self.pipeline.keys }
    }

    /// Returns what log streams send with.
    pub(crate) fn log_sending(&self, client: Client) -> Sending {
        let base_url = self.pipeline.base_url.parse().ok();
        let host = base_url.and_then(|url: url::Url| url.host_str().map(str::to_owned));
        Sending { client, host: host.unwrap_or_default(), user_agent: self.webhooks.user_agent }
    }

    /// Returns whether the attestation of any authenticator model can be verified on this server.
    pub(crate) fn can_prove_models(&self) -> bool {
        self.makers.can_prove_any()
    }
}
