//! What a tenant has set, and the decision.

use std::net::IpAddr;

use kernel::{Id, Kind, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Cidr, range_index::RangeIndex};

/// Whether a network policy is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = NetworkMode))]
pub enum Mode {
    /// Everybody may come from everywhere.
    #[default]
    Off,
    /// From the ranges of the rules alone.
    Allowlist,
}

/// What a network policy protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = NetworkSurface))]
pub enum Surface {
    /// Signing in: once the first factor is proved.
    SignIn,
    /// What a session opens, pages included.
    Dashboard,
    /// What tokens open.
    Api,
}

impl Surface {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::SignIn, Self::Dashboard, Self::Api];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "SIGN_IN",
            Self::Dashboard => "DASHBOARD",
            Self::Api => "API",
        }
    }
}

/// Surfaces that the policy protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = NetworkEnforcement))]
pub struct Enforcement {
    /// Sign-in, after the first factor is verified.
    pub sign_in: bool,
    /// Requests with a session cookie, including pages.
    pub dashboard: bool,
    /// Requests with a personal access token or SCIM token.
    pub api: bool,
}

impl Enforcement {
    /// Whether it is on for a surface.
    pub fn of(self, surface: Surface) -> bool {
        match surface {
            Surface::SignIn => self.sign_in,
            Surface::Dashboard => self.dashboard,
            Surface::Api => self.api,
        }
    }
}

/// What a tenant has set, its rules aside. By default off; once it is on, on all surfaces, and not for administrators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// Whether addresses are looked at.
    pub mode: Mode,
    /// Surfaces on which the rules apply.
    pub enforcement: Enforcement,
    /// Whether administrators may come from everywhere.
    pub admin_bypass: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let enforcement = Enforcement { sign_in: true, dashboard: true, api: true };
        Self { mode: Mode::Off, enforcement, admin_bypass: true }
    }
}

impl Settings {
    /// Whether addresses are looked at on a surface.
    pub fn looks_at(&self, surface: Surface) -> bool {
        self.mode != Mode::Off && self.enforcement.of(surface)
    }

    /// The names of the members that differ.
    pub fn changed_from(&self, before: &Self) -> Vec<&'static str> {
        let members = [
            ("mode", self.mode != before.mode),
            ("enforcement", self.enforcement != before.enforcement),
            ("adminBypass", self.admin_bypass != before.admin_bypass),
        ];
        members.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }
}

/// Marks ids of rules.
#[derive(Debug, Clone, Copy)]
pub enum RuleKind {}
impl Kind for RuleKind {
    const PREFIX: &'static str = "nrl";
}
/// `nrl_…`
pub type RuleId = Id<RuleKind>;

/// A range that a tenant may be reached from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// `nrl_…`
    pub id: RuleId,
    /// Which addresses; no two rules of a tenant have the same.
    pub cidr: Cidr,
    /// What it is called.
    pub label: String,
    /// When the rule was added.
    pub created_at: Timestamp,
}

/// Decision of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = PolicyDecision))]
pub enum Decision {
    /// The request is allowed.
    Allow,
    /// They may not.
    Deny,
}

/// Why a network policy decides so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = NetworkReason))]
pub enum Reason {
    /// Addresses are not looked at.
    ModeOff,
    /// Not on this surface.
    SurfaceNotEnforced,
    /// A rule has the address.
    RuleMatch,
    /// Administrators may come from everywhere.
    AdminBypass,
    /// No rule has the address, or it is not known.
    NoRuleMatch,
}

/// A decision, what decided, and the rule that did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether somebody may come in.
    pub decision: Decision,
    /// The reason of the decision.
    pub reason: Reason,
    /// The place of the rule that has the address, of several the one with the smallest range.
    pub rule: Option<usize>,
}

/// What a tenant has set and its ranges, ready to decide.
#[derive(Debug, Clone)]
pub struct Policy {
    settings: Settings,
    v4: RangeIndex<u32>,
    v6: RangeIndex<u128>,
}

impl Policy {
    /// With these rules; a verdict names one by its place among them.
    pub fn new(settings: Settings, rules: &[Rule]) -> Self {
        Self::of_ranges(settings, rules.iter().map(|rule| rule.cidr))
    }

    /// With these ranges; a verdict names one by its place among them.
    pub fn of_ranges(settings: Settings, ranges: impl IntoIterator<Item = Cidr>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (place, range) in ranges.into_iter().enumerate() {
            match (range.first(), range.last()) {
                (IpAddr::V4(first), IpAddr::V4(last)) => v4.push((first.to_bits(), last.to_bits(), place)),
                (IpAddr::V6(first), IpAddr::V6(last)) => v6.push((first.to_bits(), last.to_bits(), place)),
                // The two ends of a range are of one kind.
                _ => {}
            }
        }
        Self { settings, v4: RangeIndex::of(v4), v6: RangeIndex::of(v6) }
    }

    /// What the tenant has set.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Whether somebody may reach a surface from an address, as an administrator or not.
    ///
    /// An address that is not known is in no range and nobody's: where addresses are looked at, it keeps
    /// administrators out as well.
    pub fn decide(&self, address: Option<IpAddr>, surface: Surface, as_admin: bool) -> Verdict {
        let verdict = |decision, reason, rule| Verdict { decision, reason, rule };
        if self.settings.mode == Mode::Off {
            return verdict(Decision::Allow, Reason::ModeOff, None);
        }
        if !self.settings.enforcement.of(surface) {
            return verdict(Decision::Allow, Reason::SurfaceNotEnforced, None);
        }
        let Some(address) = address else { return verdict(Decision::Deny, Reason::NoRuleMatch, None) };
        if let Some(rule) = self.rule_of(address) {
            return verdict(Decision::Allow, Reason::RuleMatch, Some(rule));
        }
        if as_admin && self.settings.admin_bypass {
            return verdict(Decision::Allow, Reason::AdminBypass, None);
        }
        verdict(Decision::Deny, Reason::NoRuleMatch, None)
    }

    fn rule_of(&self, address: IpAddr) -> Option<usize> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.v4.find(address.to_bits()),
            IpAddr::V6(address) => self.v6.find(address.to_bits()),
        }
    }
}
