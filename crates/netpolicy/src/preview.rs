//! Previews of a policy: the decision for given addresses, and whom a draft would block.

use std::net::IpAddr;

use kernel::UserId;
use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use crate::openapi::{IpAddress, IpRange};
use crate::{
    Cidr, Decision, Enforcement, MAX_RULES, Mode, Policy, Reason, Rule, Settings, Surface,
    error::PreviewError,
};

/// Maximum addresses per test.
pub const MAX_ADDRESSES: usize = 1_000;

/// Addresses to test the policy with.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = TestBody))]
pub struct AddressTest {
    /// One address; alternative to `ips`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<IpAddress>))]
    pub ip: Option<String>,
    /// At most 1,000 addresses.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<IpAddress>>, max_items = 1000))]
    pub ips: Option<Vec<String>>,
    /// `SIGN_IN`, `DASHBOARD` or `API` (default).
    pub surface: Option<Surface>,
    /// Whether to decide for an administrator.
    #[serde(default)]
    pub as_admin: bool,
}

/// The decision for one address or for several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", schema(as = NetworkTest))]
pub enum TestedAddresses {
    /// The decision, if the request has `ip`.
    One(NetworkDecision),
    /// The decisions, if the request has `ips`.
    Several {
        #[expect(missing_docs, reason = "the variant describes it")]
        decisions: Vec<AddressDecision>,
    },
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NetworkDecision {
    /// `ALLOW` or `DENY`.
    decision: Decision,
    /// `MODE_OFF`, `SURFACE_NOT_ENFORCED`, `RULE_MATCH`, `ADMIN_BYPASS` or `NO_RULE_MATCH`.
    reason: Reason,
    /// For administrators: the matching rule with the smallest range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    matched_rule: Option<MatchedRule>,
}

/// The rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct MatchedRule {
    id: String,
    cidr: String,
    label: String,
}

/// The decision for one of several addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = DecisionOf))]
pub struct AddressDecision {
    /// The address as sent.
    ip: String,
    decision: Decision,
    reason: Reason,
}

impl AddressTest {
    /// Decides about the addresses. The rule that matched is part of the decision if `shows_rule`.
    pub fn run(
        self,
        settings: Settings,
        rules: &[Rule],
        shows_rule: bool,
    ) -> Result<TestedAddresses, PreviewError> {
        let policy = Policy::new(settings, rules);
        let surface = self.surface.unwrap_or(Surface::Api);
        let decide = |member, ip: &str| {
            let address = ip.parse().map_err(|_| PreviewError::Address(member, ip.to_owned()))?;
            Ok(policy.decide(Some(address), surface, self.as_admin))
        };
        match (self.ip, self.ips) {
            (Some(ip), None) => {
                let verdict = decide("ip", &ip)?;
                let rule = verdict.rule.and_then(|index| rules.get(index)).filter(|_| shows_rule);
                Ok(TestedAddresses::One(NetworkDecision {
                    decision: verdict.decision,
                    reason: verdict.reason,
                    matched_rule: rule.map(MatchedRule::from),
                }))
            }
            (None, Some(ips)) if ips.len() <= MAX_ADDRESSES => {
                let decisions = ips.into_iter().map(|ip| {
                    let verdict = decide("ips", &ip)?;
                    Ok(AddressDecision { ip, decision: verdict.decision, reason: verdict.reason })
                });
                Ok(TestedAddresses::Several { decisions: decisions.collect::<Result<_, PreviewError>>()? })
            }
            (None, Some(_)) => Err(PreviewError::TooManyAddresses),
            _ => Err(PreviewError::OneOrSeveral),
        }
    }
}

impl From<&Rule> for MatchedRule {
    fn from(rule: &Rule) -> Self {
        Self { id: rule.id.to_string(), cidr: rule.cidr.to_string(), label: rule.label.clone() }
    }
}

/// A draft policy.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = ImpactBody))]
pub struct DraftPolicy {
    /// `OFF` or `ALLOWLIST`.
    mode: Mode,
    enforcement: Enforcement,
    admin_bypass: bool,
    /// CIDR ranges of the draft; the saved rules are ignored.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<IpRange>))]
    rules: Vec<String>,
}

impl DraftPolicy {
    /// Parses the ranges.
    pub fn policy(self) -> Result<Policy, PreviewError> {
        let Self { mode, enforcement, admin_bypass, rules } = self;
        if rules.len() > MAX_RULES {
            return Err(PreviewError::TooManyRules);
        }
        let parse = |(index, text): (usize, &String)| {
            text.parse::<Cidr>().map_err(|error| PreviewError::Cidr(index, error))
        };
        let ranges = rules.iter().enumerate().map(parse).collect::<Result<Vec<_>, _>>()?;
        Ok(Policy::of_ranges(Settings { mode, enforcement, admin_bypass }, ranges))
    }
}

/// The kind of credential that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsedCredential {
    /// A session of this user.
    Session(UserId),
    /// A personal access token.
    Pat,
    /// A SCIM token.
    ScimToken,
}

/// A valid credential that was recently used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentUse {
    /// The credential's kind.
    pub credential: UsedCredential,
    /// Id of the credential.
    pub id: String,
    /// Whether its user is an administrator.
    pub is_admin: bool,
    /// The address of its last use, if known.
    pub ip: Option<IpAddr>,
}

/// Sessions and tokens of the last 30 days that would be blocked, by the address of their last use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Impact {
    /// Checked on surface `DASHBOARD`; at most 10,000 are examined.
    sessions: Vec<BlockedSession>,
    /// Checked on surface `API`; at most 10,000 of each kind are examined.
    tokens: Vec<BlockedToken>,
}

/// A session that would be blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SessionShutOut))]
struct BlockedSession {
    /// `ses_…`
    id: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    user_id: UserId,
    /// `null` if unknown; then it would be blocked.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    ip: Option<IpAddr>,
}

/// Type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "openapi", schema(as = TokenType))]
enum TokenKind {
    Pat,
    Scim,
}

/// A token that would be blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = TokenShutOut))]
struct BlockedToken {
    /// `ptk_…` or `sct_…`
    id: String,
    /// `PAT` or `SCIM`.
    kind: TokenKind,
    /// `null` if unknown; then it would be blocked.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    ip: Option<IpAddr>,
}

impl Impact {
    /// Returns which of these credentials the policy would block: sessions on [`Surface::Dashboard`], tokens on
    /// [`Surface::Api`].
    pub fn new(policy: &Policy, recent: impl IntoIterator<Item = RecentUse>) -> Self {
        let mut impact = Self::default();
        for RecentUse { credential, id, is_admin, ip } in recent {
            let surface = match credential {
                UsedCredential::Session(_) => Surface::Dashboard,
                UsedCredential::Pat | UsedCredential::ScimToken => Surface::Api,
            };
            if policy.decide(ip, surface, is_admin).decision == Decision::Allow {
                continue;
            }
            match credential {
                UsedCredential::Session(user_id) => impact.sessions.push(BlockedSession { id, user_id, ip }),
                UsedCredential::Pat => impact.tokens.push(BlockedToken { id, kind: TokenKind::Pat, ip }),
                UsedCredential::ScimToken => {
                    impact.tokens.push(BlockedToken { id, kind: TokenKind::Scim, ip });
                }
            }
        }
        impact
    }
}
