//! What an administrator has to do.

use std::collections::HashMap;

use kernel::{StoreResult, Timestamp};
use saml_sp::{Finding, FindingOutcome, ProviderId, ProviderStore};
use sign_in::sso::oidc::OidcStore;
use store::Tx;
use tokens::{Pat, ScimToken, ScimTokenStore, removals::RemovalStore};
use webhooks::{DisabledReason, Subscription};

/// Milliseconds of a day.
pub(super) const DAY: i64 = 24 * 3_600_000;
/// Days before their expiry from which tokens are shown.
const DAYS: i64 = 7;
/// Maximum number of tokens that are shown.
pub(super) const TOKENS: usize = 5;

/// Returns the time until which tokens that expire are shown.
pub(super) fn horizon(now: Timestamp) -> Timestamp {
    now.plus_millis(DAYS * DAY)
}

/// Problems, most urgent first.
pub(super) type Problems = Vec<ProblemRow>;

/// Something that an administrator has to do, with a link to the page where it is done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProblemRow {
    pub(super) title: String,
    pub(super) detail: String,
    pub(super) path: String,
    /// Whether something does not work now; otherwise it may soon not work.
    pub(super) is_failure: bool,
}

/// The findings of an SSO connection.
pub(super) struct ConnectionFindings {
    pub(super) id: ProviderId,
    pub(super) name: String,
    pub(super) findings: Vec<Finding>,
}

impl ConnectionFindings {
    /// Returns the findings of all SSO connections of a tenant.
    pub(super) async fn all(tx: &mut Tx, now: Timestamp) -> StoreResult<Vec<Self>> {
        let setup = sign_in::sso::tenant_setup(tx).await?;
        let saml = tx.providers().await?.into_iter().map(|provider| Self {
            findings: provider.findings(&setup, now),
            id: provider.id,
            name: provider.name,
        });
        let mut all: Vec<_> = saml.collect();
        all.extend(tx.oidc_providers().await?.into_iter().map(|provider| Self {
            findings: provider.findings(&setup, now),
            id: provider.id,
            name: provider.name,
        }));
        Ok(all)
    }
}

/// The paused SCIM tokens of a tenant, with the numbers of users who wait for a decision.
pub(super) async fn paused_tokens(tx: &mut Tx) -> StoreResult<Vec<(ScimToken, u64)>> {
    let mut paused = Vec::new();
    for token in tx.scim_tokens().await?.into_iter().filter(|token| token.removals_paused_at.is_some()) {
        let held = tx.count_held_removals(&token.id).await?;
        paused.push((token, held));
    }
    Ok(paused)
}

/// Returns the problem of a SCIM token whose removals are paused.
pub(super) fn of_paused_token((token, held): (ScimToken, u64)) -> ProblemRow {
    ProblemRow {
        title: token.name,
        detail: if held == 1 {
            "This SCIM token removes too many users. 1 removal waits for your decision.".to_owned()
        } else {
            format!("This SCIM token removes too many users. {held} removals wait for your decision.")
        },
        path: super::super::scim::PATH.to_owned(),
        is_failure: true,
    }
}

/// Returns the problems of SSO connections and webhooks, and the personal access tokens that expire soon. `deliveries` are
/// the numbers of attempts in the last 24 hours that succeeded and failed.
pub(super) fn problems(
    connections: Vec<ConnectionFindings>,
    webhooks: &[Subscription],
    deliveries: &HashMap<String, (i64, i64)>,
    expiring: &[(Pat, String)],
    now: Timestamp,
) -> Problems {
    let mut problems: Vec<_> =
        webhooks.iter().filter_map(|webhook| of_webhook(webhook, deliveries)).collect();
    for connection in connections {
        let findings = connection.findings.into_iter();
        problems.extend(findings.filter(|finding| finding.outcome != FindingOutcome::Passed).map(
            |finding| ProblemRow {
                title: connection.name.clone(),
                detail: finding.detail,
                path: format!("{}?provider={}", super::super::sso::PATH, connection.id),
                is_failure: finding.outcome == FindingOutcome::Failed,
            },
        ));
    }
    problems.extend(expiring.iter().map(|(token, owner)| of_token(token, owner, now)));
    problems.sort_by_key(|problem| !problem.is_failure);
    problems
}

fn of_webhook(webhook: &Subscription, deliveries: &HashMap<String, (i64, i64)>) -> Option<ProblemRow> {
    let fails =
        deliveries.get(webhook.id.as_str()).is_some_and(|&(succeeded, failed)| succeeded == 0 && failed > 0);
    let detail = match webhook.disabled_reason {
        None if fails && webhook.enabled => "All attempts in the last 24 hours failed.",
        None => return None,
        Some(DisabledReason::Gone) => "Disabled, because the receiver answered 410 Gone.",
        Some(DisabledReason::Failing) => "Disabled, because no delivery succeeded for five days.",
    };
    Some(ProblemRow {
        title: webhook.name.clone(),
        detail: detail.to_owned(),
        path: format!("{}?id={}", super::super::webhooks::PATH, webhook.id),
        is_failure: true,
    })
}

fn of_token(token: &Pat, owner: &str, now: Timestamp) -> ProblemRow {
    let left = token.expires_at.map_or(0, |expiry| expiry.unix_millis() - now.unix_millis());
    let expiry = match left / DAY {
        0 => "within 24 hours".to_owned(),
        1 => "in 1 day".to_owned(),
        days => format!("in {days} days"),
    };
    ProblemRow {
        title: token.name.clone(),
        detail: format!(
            "This personal access token of {owner} expires {expiry}. Ask the owner to create a new one before then."
        ),
        path: format!("{}?id={}", super::super::people::PATH, token.user),
        is_failure: false,
    }
}
