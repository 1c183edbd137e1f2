//! What the routes of all workers share, by area.

use std::sync::Arc;

use actix_web::web;
use gate::pipeline::Pipeline;
use sign_in::Verifiers;

use super::{auth::Auth, documents::Documents, saml::Saml, settings::AuditLogs};
use crate::workers::deliveries::Webhooks;
use crate::{dns::Dns, mail::Mail, trust_anchors::WatchedTrustAnchors};

/// What the routes of all workers share, by area.
pub(crate) struct Site {
    /// The path of every request.
    pub(crate) pipeline: web::Data<Pipeline>,
    /// Signing in.
    pub(crate) auth: Auth,
    pub(crate) mail: Option<Mail>,
    /// Identity providers.
    pub(crate) saml: Saml,
    /// Webhooks.
    pub(crate) webhooks: Webhooks,
    /// The audit log.
    pub(crate) audit: AuditLogs,
    /// Who is trusted to say of what make an authenticator is.
    pub(crate) makers: Arc<WatchedTrustAnchors>,
    pub(crate) dns: Dns,
    pub(crate) documents: Documents,
}

impl Site {
    /// What second factors are verified with.
    pub(crate) fn verifiers(&self) -> Verifiers<'_> {
        Verifiers { passkeys: self.auth.passkeys.as_ref(), totp: &self.pipeline.keys }
    }

    /// Whether any make of authenticators can be proved here.
    pub(crate) fn can_prove_models(&self) -> bool {
        self.makers.can_prove_any()
    }
}
