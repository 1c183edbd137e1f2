//! What a tenant has set, and the decision.

use serde::{Deserialize, Serialize};

use crate::{Aaguid, Authenticator, Group, find};

/// Whether an attestation policy is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = AttestationMode))]
pub enum Mode {
    /// Any may be enrolled.
    #[default]
    Off,
    /// Those that are named alone.
    Allowlist,
}

/// Which authenticators may be enrolled. By default any. When it is turned on, none until groups or models are allowed.
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

/// An authenticator that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// What it says it is.
    pub aaguid: Aaguid,
    /// Whether it is built into a device; `None`: as the catalog has it, else not.
    pub is_platform: Option<bool>,
    /// Whether it can be copied to other devices; `None`: as the catalog has it, else not.
    pub backup_eligible: Option<bool>,
    /// Whether what it says it is was proved by its attestation.
    pub proved: bool,
}

impl Candidate {
    /// What is known of a make by the catalog, and taken as proved.
    pub fn for_model(aaguid: Aaguid) -> Self {
        Self { aaguid, is_platform: None, backup_eligible: None, proved: true }
    }
}

/// Why an attestation policy refuses an authenticator, in the order in which reasons are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = AttestationReason))]
pub enum Reason {
    /// Neither its make nor its group is named; or what it is has to be proved, and is not.
    AllowlistNoMatch,
    /// It can be copied to other devices.
    SyncedPasskeyDenied,
    /// It is built into a device.
    PlatformAuthenticatorDenied,
}

/// The decision about one authenticator, with all reasons against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// All that speaks against it, in order; nothing: it may be enrolled.
    pub reasons: Vec<Reason>,
    /// What the catalog knows of it.
    pub authenticator: Option<&'static Authenticator>,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 3] =
        [Self::AllowlistNoMatch, Self::SyncedPasskeyDenied, Self::PlatformAuthenticatorDenied];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowlistNoMatch => "ALLOWLIST_NO_MATCH",
            Self::SyncedPasskeyDenied => "SYNCED_PASSKEY_DENIED",
            Self::PlatformAuthenticatorDenied => "PLATFORM_AUTHENTICATOR_DENIED",
        }
    }
}

impl Verdict {
    /// Whether it may be enrolled.
    pub fn is_allowed(&self) -> bool {
        self.reasons.is_empty()
    }

    /// The first that speaks against it.
    pub fn reason(&self) -> Option<Reason> {
        self.reasons.first().copied()
    }
}

impl Policy {
    /// The same with each group and make named once and in order.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.allowed_groups.sort_unstable();
        self.allowed_groups.dedup();
        self.allowed_aaguids.sort_unstable();
        self.allowed_aaguids.dedup();
        self
    }

    /// Names of the settings that are others than before, as on the wire.
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

    /// Whether an authenticator may be enrolled.
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
