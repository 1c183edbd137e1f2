//! The attestation policy of a tenant, and the decision.

use serde::{Deserialize, Serialize};

use crate::{Aaguid, Authenticator, Group, find};

/// Whether an attestation policy is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = AttestationMode))]
pub enum Mode {
    /// All authenticators may be enrolled.
    #[default]
    Off,
    /// Only the allowed groups and models may be enrolled.
    Allowlist,
}

/// Which authenticators may be enrolled. By default, all. An allowlist without groups and models allows none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = AttestationPolicy))]
pub struct Policy {
    /// `OFF` or `ALLOWLIST`.
    pub mode: Mode,
    /// Allowed groups of the catalog.
    pub allowed_groups: Vec<Group>,
    /// Additionally allowed models, also ones missing from the catalog: at most 1,000.
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub allowed_aaguids: Vec<Aaguid>,
    /// Whether passkeys that can be copied to other devices are allowed.
    pub allow_synced_passkeys: bool,
    /// Whether authenticators built into a device are allowed.
    pub allow_platform_authenticators: bool,
    /// Whether a trusted attestation must prove the model.
    pub require_verified_attestation: bool,
}

/// An authenticator that a policy decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The model that the authenticator reports.
    pub aaguid: Aaguid,
    /// Whether it is built into a device. `None`: as in the catalog, otherwise no.
    pub is_platform: Option<bool>,
    /// Whether its passkeys can be copied to other devices. `None`: as in the catalog, otherwise no.
    pub backup_eligible: Option<bool>,
    /// Whether an attestation has proved the model.
    pub proved: bool,
}

impl Candidate {
    /// Creates a candidate that a user enrols. Only the browser reports that an authenticator is not built into a
    /// device, so that claim is ignored and the model decides.
    pub fn enrolled(aaguid: Aaguid, is_platform: Option<bool>, backup_eligible: bool, proved: bool) -> Self {
        let is_platform = is_platform.filter(|platform| *platform);
        Self { aaguid, is_platform, backup_eligible: Some(backup_eligible), proved }
    }

    /// Creates a candidate with the properties in the catalog and a proved model.
    pub fn for_model(aaguid: Aaguid) -> Self {
        Self { aaguid, is_platform: None, backup_eligible: None, proved: true }
    }
}

/// Why an attestation policy refuses an authenticator, in the order in which reasons are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = AttestationReason))]
#[non_exhaustive]
pub enum Reason {
    /// Neither its model nor its group is allowed, or the policy requires an attestation and none proves the model.
    AllowlistNoMatch,
    /// Its passkeys can be copied to other devices.
    SyncedPasskeyDenied,
    /// It is built into a device.
    PlatformAuthenticatorDenied,
}

/// The decision about one authenticator, with all reasons against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// All reasons against it, in order. If empty, it may be enrolled.
    pub reasons: Vec<Reason>,
    /// The model in the catalog, if it is known.
    pub authenticator: Option<&'static Authenticator>,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 3] =
        [Self::AllowlistNoMatch, Self::SyncedPasskeyDenied, Self::PlatformAuthenticatorDenied];

    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowlistNoMatch => "ALLOWLIST_NO_MATCH",
            Self::SyncedPasskeyDenied => "SYNCED_PASSKEY_DENIED",
            Self::PlatformAuthenticatorDenied => "PLATFORM_AUTHENTICATOR_DENIED",
        }
    }

    /// Returns what to tell the user whose authenticator is refused.
    pub fn advice(self) -> String {
        let problem = match self {
            Self::AllowlistNoMatch => "this tenant does not allow this authenticator model",
            Self::SyncedPasskeyDenied => "this tenant does not allow synced passkeys",
            Self::PlatformAuthenticatorDenied => {
                "this tenant does not allow authenticators built into a device"
            }
        };
        format!("{problem}; use another one, or ask an administrator which are allowed")
    }
}

impl Verdict {
    /// Whether the authenticator may be enrolled.
    pub fn is_allowed(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Returns the first reason against it.
    pub fn reason(&self) -> Option<Reason> {
        self.reasons.first().copied()
    }
}

impl Policy {
    /// Sorts groups and models and removes duplicates.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.allowed_groups.sort_unstable();
        self.allowed_groups.dedup();
        self.allowed_aaguids.sort_unstable();
        self.allowed_aaguids.dedup();
        self
    }

    /// Returns the names of the settings that differ from `before`, as in the API.
    pub fn changed_from(&self, before: &Self) -> Vec<&'static str> {
        let settings = [
            ("mode", self.mode != before.mode),
            ("allowedGroups", self.allowed_groups != before.allowed_groups),
            ("allowedAaguids", self.allowed_aaguids != before.allowed_aaguids),
            ("allowSyncedPasskeys", self.allow_synced_passkeys != before.allow_synced_passkeys),
            (
                "allowPlatformAuthenticators",
                self.allow_platform_authenticators != before.allow_platform_authenticators,
            ),
            (
                "requireVerifiedAttestation",
                self.require_verified_attestation != before.require_verified_attestation,
            ),
        ];
        settings.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }

    /// Decides whether an authenticator may be enrolled.
    pub fn decide(&self, asked: &Candidate) -> Verdict {
        let authenticator = find(asked.aaguid);
        if self.mode == Mode::Off {
            return Verdict { reasons: Vec::new(), authenticator };
        }
        let group = authenticator.map(|known| known.group);
        let named = self.allowed_aaguids.contains(&asked.aaguid)
            || group.is_some_and(|group| self.allowed_groups.contains(&group));
        let matches = named && (asked.proved || !self.require_verified_attestation);
        let synced = asked.backup_eligible.unwrap_or(group == Some(Group::Synced));
        let platform = asked.is_platform.unwrap_or(group == Some(Group::Platform));
        let against = [
            (!matches, Reason::AllowlistNoMatch),
            (synced && !self.allow_synced_passkeys, Reason::SyncedPasskeyDenied),
            (platform && !self.allow_platform_authenticators, Reason::PlatformAuthenticatorDenied),
        ];
        let reasons = against.into_iter().filter(|(applies, _)| *applies).map(|(_, reason)| reason).collect();
        Verdict { reasons, authenticator }
    }
}
