//! What an administrator has to do.

use kernel::Timestamp;
use saml_sp::{FindingOutcome, Provider, TenantSetup};
use webhooks::{DisabledReason, Subscription};

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

/// Returns the problems of SSO connections and webhooks.
pub(super) fn problems(
    providers: &[Provider],
    webhooks: &[Subscription],
    setup: &TenantSetup,
    now: Timestamp,
) -> Problems {
    let mut problems: Vec<_> = webhooks.iter().filter_map(of_webhook).collect();
    for provider in providers {
        let findings = provider.findings(setup, now).into_iter();
        problems.extend(findings.filter(|finding| finding.outcome != FindingOutcome::Passed).map(
            |finding| ProblemRow {
                title: provider.name.clone(),
                detail: finding.detail,
                path: format!("{}?provider={}", super::super::sso::PATH, provider.id),
                is_failure: finding.outcome == FindingOutcome::Failed,
            },
        ));
    }
    problems.sort_by_key(|problem| !problem.is_failure);
    problems
}

fn of_webhook(webhook: &Subscription) -> Option<ProblemRow> {
    let detail = match webhook.disabled_reason? {
        DisabledReason::Gone => "Disabled, because the receiver answered 410 Gone.",
        DisabledReason::Failing => "Disabled, because no delivery succeeded for five days.",
    };
    Some(ProblemRow {
        title: webhook.name.clone(),
        detail: detail.to_owned(),
        path: format!("{}?id={}", super::super::webhooks::PATH, webhook.id),
        is_failure: true,
    })
}
