//! The settings and rules of a network policy, and the decision.

use std::net::IpAddr;

use kernel::{Id, Kind, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Cidr, range_index::RangeIndex};

/// What a blocked client reads. It contains no address: the audit log may copy it, but erases only its own address
/// column.
pub const BLOCKED: &str = "The tenant's network policy blocks your address. Connect from an allowed address, or ask an \
                           administrator to add yours.";

/// Whether a network policy is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = NetworkMode))]
pub enum Mode {
    /// All addresses are allowed.
    #[default]
    Off,
    /// Only addresses in the ranges of the rules are allowed.
    Allowlist,
}

/// A kind of access that a network policy covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = NetworkSurface))]
pub enum Surface {
    /// Sign-in, after the first factor is verified.
    SignIn,
    /// Requests with a session cookie, including pages.
    Dashboard,
    /// Requests with a personal access token or SCIM token.
    Api,
}

impl Surface {
    /// All surfaces.
    pub const ALL: [Self; 3] = [Self::SignIn, Self::Dashboard, Self::Api];

    /// Returns the name in the API.
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
    /// Whether the policy protects this surface.
    pub fn of(self, surface: Surface) -> bool {
        match surface {
            Surface::SignIn => self.sign_in,
            Surface::Dashboard => self.dashboard,
            Surface::Api => self.api,
        }
    }
}

/// A tenant's settings, without the rules. By default, the policy is off. Turned on, it protects all surfaces, and
/// administrators bypass it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// Whether the policy is on.
    pub mode: Mode,
    /// The surfaces that the policy protects.
    pub enforcement: Enforcement,
    /// Whether administrators may connect from any address.
    pub admin_bypass: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let enforcement = Enforcement { sign_in: true, dashboard: true, api: true };
        Self { mode: Mode::Off, enforcement, admin_bypass: true }
    }
}

impl Settings {
    /// Whether the policy is on and protects this surface.
    pub fn looks_at(&self, surface: Surface) -> bool {
        self.mode != Mode::Off && self.enforcement.of(surface)
    }

    /// Returns the names of the members that differ.
    pub fn changed_from(&self, before: &Self) -> Vec<&'static str> {
        let members = [
            ("mode", self.mode != before.mode),
            ("enforcement", self.enforcement != before.enforcement),
            ("adminBypass", self.admin_bypass != before.admin_bypass),
        ];
        members.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }
}

/// The kind of [`RuleId`].
#[derive(Debug, Clone, Copy)]
pub enum RuleKind {}
impl Kind for RuleKind {
    const PREFIX: &'static str = "nrl";
}
/// `nrl_…`
pub type RuleId = Id<RuleKind>;

/// A CIDR rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = ShownRule))]
pub struct Rule {
    /// `nrl_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: RuleId,
    /// Canonical form with prefix length.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub cidr: Cidr,
    /// 1 to 100 printable characters.
    pub label: String,
    /// When the rule was added.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
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
    /// The request is blocked.
    Deny,
}

/// The reason for a network policy's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = NetworkReason))]
#[non_exhaustive]
pub enum Reason {
    /// The policy is off.
    ModeOff,
    /// The policy does not protect this surface.
    SurfaceNotEnforced,
    /// A rule contains the address.
    RuleMatch,
    /// Administrators bypass the policy.
    AdminBypass,
    /// No rule contains the address, or the address is unknown.
    NoRuleMatch,
}

/// A decision with its reason and rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the request is allowed.
    pub decision: Decision,
    /// The reason for the decision.
    pub reason: Reason,
    /// The index of the matching rule. If several match, the one with the smallest range.
    pub rule: Option<usize>,
}

/// Settings and ranges, indexed for decisions.
#[derive(Debug, Clone)]
pub struct Policy {
    settings: Settings,
    v4: RangeIndex<u32>,
    v6: RangeIndex<u128>,
}

impl Policy {
    /// Builds a policy that allows these ranges and blocks all other addresses, on all surfaces and for administrators
    /// too. Without a range, it blocks everybody.
    ///
    /// ```
    /// use netpolicy::Policy;
    /// let policy = Policy::allow_only(["203.0.113.0/24".parse()?, "2001:db8::/32".parse()?]);
    /// assert!(policy.permits([203, 0, 113, 7].into()) && !policy.permits([198, 51, 100, 7].into()));
    /// # Ok::<(), netpolicy::ParseCidrError>(())
    /// ```
    pub fn allow_only(ranges: impl IntoIterator<Item = Cidr>) -> Self {
        let settings = Settings { mode: Mode::Allowlist, admin_bypass: false, ..Settings::default() };
        Self::of_ranges(settings, ranges)
    }

    /// Builds a policy from rules. A verdict refers to a rule by its index.
    pub fn new(settings: Settings, rules: &[Rule]) -> Self {
        Self::of_ranges(settings, rules.iter().map(|rule| rule.cidr))
    }

    /// Builds a policy from ranges. They count only with [`Mode::Allowlist`], and administrators bypass them by
    /// default; use [`Policy::allow_only`] for a plain allowlist. A verdict refers to a range by its index.
    pub fn of_ranges(settings: Settings, ranges: impl IntoIterator<Item = Cidr>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (place, range) in ranges.into_iter().enumerate() {
            match (range.first(), range.last()) {
                (IpAddr::V4(first), IpAddr::V4(last)) => v4.push((first.to_bits(), last.to_bits(), place)),
                (IpAddr::V6(first), IpAddr::V6(last)) => v6.push((first.to_bits(), last.to_bits(), place)),
                // Both ends of a range are of the same address family.
                _ => {}
            }
        }
        Self { settings, v4: RangeIndex::of(v4), v6: RangeIndex::of(v6) }
    }

    /// Returns the settings.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Whether an address may reach the API. For other surfaces, administrators and reasons, use [`Policy::decide`].
    pub fn permits(&self, address: IpAddr) -> bool {
        self.decide(Some(address), Surface::Api, false).decision == Decision::Allow
    }

    /// Decides whether a request from this address may reach a surface.
    ///
    /// An unknown address matches no range. On protected surfaces it is blocked even for administrators with the
    /// bypass.
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
