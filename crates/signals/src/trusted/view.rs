//! Transmitters as the API shows them.

use kernel::Timestamp;
use serde::Serialize;

use super::transmitter::{Consequence, Consequences, TransmitterId, TrustedTransmitter};
use crate::{SignalKind, Status};

/// A trusted transmitter.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SignalTransmitter))]
pub struct TransmitterView {
    /// `trm_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    id: TransmitterId,
    name: String,
    /// The issuer of its tokens.
    issuer: String,
    /// The audience of its tokens.
    audience: String,
    /// The SSO connection whose users its events are about.
    connection_id: String,
    /// URL of its key set. Absent if its configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    jwks_uri: Option<String>,
    /// What each kind of event does.
    consequences: ConsequencesView,
    /// Whether its requests must have the header `Authorization`.
    requires_authorization: bool,
    /// Whether its tokens are accepted.
    enabled: bool,
    /// The URL that it posts tokens to (RFC 8935).
    endpoint_url: String,
    /// The `state` with which you request a verification event. One with another state is refused.
    verification_state: String,
    /// When the last event was accepted, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    received_at: Option<Timestamp>,
    /// When the last verification event was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    verified_at: Option<Timestamp>,
    /// The status of its stream, if it has changed it (`stream-updated`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    stream: Option<StreamStatusView>,
    /// When its keys were last read.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    keys_read_at: Timestamp,
    /// Why its keys could not be read the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    keys_problem: Option<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    updated_at: Timestamp,
}

/// The status of a transmitter's stream.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalTransmitterStream))]
pub struct StreamStatusView {
    status: Status,
    /// Why it has this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    reason: Option<String>,
}

/// What each kind of event does.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SignalConsequences))]
struct ConsequencesView {
    session_revoked: Consequence,
    credential_change: Consequence,
    credential_compromise: Consequence,
    assurance_level_change: Consequence,
    device_compliance_change: Consequence,
    risk_level_change: Consequence,
    account_disabled: Consequence,
    account_purged: Consequence,
}

impl ConsequencesView {
    fn new(consequences: &Consequences) -> Self {
        let of = |kind: SignalKind| consequences.get(&kind).copied().unwrap_or_default();
        Self {
            session_revoked: of(SignalKind::SessionRevoked),
            credential_change: of(SignalKind::CredentialChange),
            credential_compromise: of(SignalKind::CredentialCompromise),
            assurance_level_change: of(SignalKind::AssuranceLevelChange),
            device_compliance_change: of(SignalKind::DeviceComplianceChange),
            risk_level_change: of(SignalKind::RiskLevelChange),
            account_disabled: of(SignalKind::AccountDisabled),
            account_purged: of(SignalKind::AccountPurged),
        }
    }
}

impl TransmitterView {
    /// Shows a transmitter that posts tokens to `endpoint_url`.
    pub fn new(transmitter: &TrustedTransmitter, endpoint_url: String) -> Self {
        let TrustedTransmitter { keys, state, .. } = transmitter;
        let reason = state.status_reason.clone();
        Self {
            id: transmitter.id.clone(),
            name: transmitter.name.clone(),
            issuer: transmitter.issuer.clone(),
            audience: transmitter.audience.clone(),
            connection_id: transmitter.connection.clone(),
            jwks_uri: transmitter.jwks_uri.clone(),
            consequences: ConsequencesView::new(&transmitter.consequences),
            requires_authorization: transmitter.hash.is_some(),
            enabled: transmitter.enabled,
            endpoint_url,
            verification_state: state.verification_state.clone(),
            received_at: state.received_at,
            verified_at: state.verified_at,
            stream: state.status.map(|status| StreamStatusView { status, reason }),
            keys_read_at: keys.read_at,
            keys_problem: keys.problem.clone(),
            created_at: transmitter.created_at,
            updated_at: transmitter.updated_at,
        }
    }
}
