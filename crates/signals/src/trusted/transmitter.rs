//! A trusted transmitter.

use std::collections::BTreeMap;

use kernel::{Env, Id, Kind, Secret, Timestamp, constant_time_eq};
use oidc_rp::KeySet;
use serde::{Deserialize, Serialize};
use tokens::{RawToken, TokenHash, TokenKind};

use crate::{Expected, Reason, ReceivedEvent, Refusal, SignalKind, Status, received::verify};

/// Marks ids of transmitters.
#[derive(Debug, Clone, Copy)]
pub enum TransmitterKind {}
impl Kind for TransmitterKind {
    const PREFIX: &'static str = "trm";
}
/// `trm_…`
pub type TransmitterId = Id<TransmitterKind>;

/// Maximum number of transmitters of a tenant.
pub const MAX_TRANSMITTERS: usize = 20;
/// The keys of a transmitter are read again before they are this old, so that a key that it has removed loses its effect.
const KEYS_FRESH_MILLIS: i64 = 86_400_000;
/// The keys of a transmitter are not read more often than this.
const KEYS_EARLY_MILLIS: i64 = 60_000;

/// The consequence of an event for the user that it is about, from the mildest to the most severe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalConsequence))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Consequence {
    /// Nothing: it is recorded in the audit log.
    #[default]
    Record,
    /// Sessions need a second factor before they go on. Those of users without one end.
    RequireStepUp,
    /// Sessions end.
    EndSessions,
    /// The user is disabled, which ends all sessions.
    DisableUser,
}

/// What each kind of event does. Kinds that are not in it are only recorded.
pub type Consequences = BTreeMap<SignalKind, Consequence>;

/// Returns kinds and consequences by their names in the API, for audit entries.
pub fn consequence_names(consequences: &Consequences) -> BTreeMap<String, String> {
    serde_json::to_value(consequences).and_then(serde_json::from_value).unwrap_or_default()
}

/// A transmitter that an administrator trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedTransmitter {
    /// `trm_…`
    pub id: TransmitterId,
    /// The display name.
    pub name: String,
    /// The issuer of its tokens.
    pub issuer: String,
    /// The audience of its tokens.
    pub audience: String,
    /// The host's ID of the SSO connection whose users its events are about.
    pub connection: String,
    /// URL of its key set. `None`: its configuration names it.
    pub jwks_uri: Option<String>,
    /// What its events do.
    pub consequences: Consequences,
    /// Whether its tokens are accepted.
    pub enabled: bool,
    /// SHA-256 of the token in the header `Authorization` of its requests. `None`: the header is not checked.
    pub hash: Option<TokenHash>,
    /// Its keys, and when they were read.
    pub keys: KeysRead,
    /// What it has sent.
    pub state: TransmitterState,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// The keys of a transmitter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeysRead {
    /// The keys.
    pub keys: KeySet,
    /// When they were read.
    pub read_at: Timestamp,
    /// When reading them was last tried.
    pub tried_at: Timestamp,
    /// Why they could not be read the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What a transmitter has sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TransmitterState {
    /// The `state` of verification events that the receiver has requested.
    pub verification_state: String,
    /// When the last event was accepted, to the minute.
    pub received_at: Option<Timestamp>,
    /// When the last verification event was accepted.
    pub verified_at: Option<Timestamp>,
    /// The status of the stream, if the transmitter has changed it.
    pub status: Option<Status>,
    /// Why the stream has this status.
    pub status_reason: Option<String>,
    /// Since when it has this status, according to the transmitter.
    pub status_at: Option<Timestamp>,
}

impl KeysRead {
    /// Returns keys that were read now.
    pub fn new(keys: KeySet, now: Timestamp) -> Self {
        Self { keys, read_at: now, tried_at: now, problem: None }
    }

    /// Whether the keys are so old that they are read again before use.
    pub fn are_old(&self, now: Timestamp) -> bool {
        now >= self.read_at.plus_millis(KEYS_FRESH_MILLIS)
    }

    /// Returns when the keys may be read again before they are old.
    pub fn next_read(&self) -> Timestamp {
        self.tried_at.plus_millis(KEYS_EARLY_MILLIS)
    }
}

impl TrustedTransmitter {
    /// Mints the token of the transmitter's requests.
    pub(super) fn mint(env: &dyn Env, tenant: &kernel::TenantId) -> RawToken {
        RawToken::mint(env, TokenKind::SignalPush, tenant)
    }

    /// Checks the header `Authorization` of a request.
    ///
    /// # Errors
    /// [`Reason::NotAuthenticated`], or [`Reason::NotAllowed`] if the transmitter is disabled.
    pub fn authenticate(&self, header: Option<&Secret<String>>) -> Result<(), Refusal> {
        if let Some(expected) = &self.hash {
            let Some(header) = header else {
                return Err(Refusal::new(Reason::NotAuthenticated, "there is no Authorization header"));
            };
            let token = header.expose().split_once(' ');
            let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let hash =
                token.and_then(|(_, token)| RawToken::parse(token.trim()).ok()).map(|token| token.hash());
            if !hash.is_some_and(|hash| constant_time_eq(hash.as_bytes(), expected.as_bytes())) {
                let detail = "the Authorization header is not the one of this transmitter";
                return Err(Refusal::new(Reason::NotAuthenticated, detail));
            }
        }
        if self.enabled {
            Ok(())
        } else {
            Err(Refusal::new(Reason::NotAllowed, "an administrator has disabled this transmitter"))
        }
    }

    /// Verifies a token with these keys. See [`verify`].
    pub fn verify(&self, token: &str, keys: &KeySet, now: Timestamp) -> Result<ReceivedEvent, Refusal> {
        let event = verify(token, keys, &Expected { issuer: &self.issuer, audience: &self.audience, now })?;
        if let crate::Act::Verification { state: Some(state) } = &event.act
            && *state != self.state.verification_state
        {
            let detail = format!("state is {state:?}, not {:?}", self.state.verification_state);
            return Err(Refusal::new(Reason::StateDiffers, detail));
        }
        Ok(event)
    }

    /// Whether what decides about a token is as it was before. The issuer and the connection never change.
    pub fn decides_as(&self, before: &Self) -> bool {
        self.enabled == before.enabled
            && self.hash == before.hash
            && self.audience == before.audience
            && self.consequences == before.consequences
    }

    /// Returns what an event does.
    pub fn consequence(&self, event: &ReceivedEvent) -> Consequence {
        event.kind().and_then(|kind| self.consequences.get(&kind).copied()).unwrap_or_default()
    }
}

impl TransmitterState {
    /// Notes an accepted event. Returns whether anything changed.
    pub fn note(&mut self, event: &ReceivedEvent, now: Timestamp) -> bool {
        let before = self.clone();
        if self.received_at.is_none_or(|at| now >= at.plus_millis(60_000)) {
            self.received_at = Some(now);
        }
        match &event.act {
            crate::Act::Verification { .. } => self.verified_at = Some(now),
            // Tokens may arrive in another order than they were issued in.
            crate::Act::StreamUpdated { status, reason }
                if self.status_at.is_none_or(|at| event.occurred_at(now) >= at) =>
            {
                self.status = Some(*status);
                self.status_reason.clone_from(reason);
                self.status_at = Some(event.occurred_at(now));
            }
            _ => {}
        }
        *self != before
    }
}
