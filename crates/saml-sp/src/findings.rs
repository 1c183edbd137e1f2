//! Configuration checks of a provider that need no sign-in. A provider lists them as warnings, and a connection test
//! reports them first.

use std::collections::BTreeSet;

use kernel::Timestamp;
use serde::Serialize;

use crate::{
    certificate::Certificate,
    domain::EmailDomain,
    provider::{Provider, Source},
};

/// Warn this many days before something expires.
const SOON_DAYS: i64 = 30;
const DAY: i64 = 86_400_000;

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlCheckOutcome))]
pub enum FindingOutcome {
    /// Nothing has to be changed.
    Passed,
    /// It works, and may not be meant so or not for long.
    Warning,
    /// Nobody can sign in like this.
    Failed,
}

/// Checks of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlSetupCheckName))]
pub enum SetupCheck {
    /// The tenant allows single sign-on.
    SignInPolicy,
    /// The tenant has verified the domains.
    Domains,
    /// The identity provider's certificates are valid.
    Certificates,
    /// The metadata can be read and is valid.
    Metadata,
    /// Requests are signed if the identity provider wants that.
    Requests,
    /// Our own certificate is valid.
    Keys,
    /// The client accepts users of the organization only. OpenID Connect only.
    Client,
}

/// A check of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlSetupCheck))]
pub struct Finding {
    /// `SIGN_IN_POLICY`, `DOMAINS`, `CERTIFICATES`, `METADATA`, `REQUESTS` or `KEYS`; for OpenID Connect `SIGN_IN_POLICY`,
    /// `DOMAINS`, `METADATA`, `CLIENT` or `KEYS`.
    pub check: SetupCheck,
    /// Whether something has to be changed.
    pub outcome: FindingOutcome,
    /// The finding and how to fix it.
    pub detail: String,
}

/// Validity of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlCertificateStatus))]
pub enum CertificateStatus {
    /// For more than 30 days.
    Valid,
    /// Within 30 days.
    Expiring,
    /// No longer valid.
    Expired,
    /// Valid from a later time on.
    NotYetValid,
}

impl CertificateStatus {
    /// Returns the validity of a certificate at this time.
    pub fn of(certificate: &Certificate, now: Timestamp) -> Self {
        let left = certificate.not_after().unix_millis() - now.unix_millis();
        if left < 0 {
            Self::Expired
        } else if now < certificate.not_before() {
            Self::NotYetValid
        } else if left < SOON_DAYS * DAY {
            Self::Expiring
        } else {
            Self::Valid
        }
    }
}

/// Collects the findings of each check: its problems, or one that it passed.
#[derive(Debug, Default)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    /// Returns the findings about the tenant's settings for a connection with these domains.
    pub fn of_tenant(tenant: &TenantSetup, email_domains: &[EmailDomain]) -> Self {
        let mut findings = Self::default();
        findings.add(SetupCheck::SignInPolicy, policy(tenant), "single sign-on is allowed");
        let problems = domains(email_domains, tenant);
        findings.add(SetupCheck::Domains, problems, "the sign-in page finds it by email address");
        findings
    }

    /// Adds the problems of a check, or that it passed.
    pub fn add(&mut self, check: SetupCheck, problems: Vec<(FindingOutcome, String)>, well: &str) {
        if problems.is_empty() {
            self.0.push(Finding { check, outcome: FindingOutcome::Passed, detail: well.to_owned() });
        }
        self.0.extend(problems.into_iter().map(|(outcome, detail)| Finding { check, outcome, detail }));
    }
}

/// Settings of the tenant that the checks depend on.
#[derive(Debug, Clone)]
pub struct TenantSetup {
    /// Domains that the tenant has verified.
    pub verified: BTreeSet<EmailDomain>,
    /// Whether the sign-in policy allows single sign-on.
    pub is_sso_allowed: bool,
}

impl Provider {
    /// Runs all checks that need no sign-in.
    pub fn findings(&self, tenant: &TenantSetup, now: Timestamp) -> Vec<Finding> {
        let mut findings = Findings::of_tenant(tenant, &self.email_domains);
        let well = "all are valid for more than 30 days";
        findings.add(SetupCheck::Certificates, certificates(self, now), well);
        findings.add(SetupCheck::Metadata, metadata(self, now), "it is up to date, or not used");
        findings.add(SetupCheck::Requests, requests(self), "they are signed, or need no signature");
        findings.add(SetupCheck::Keys, keys(self, now), "it is valid for more than 30 days");
        findings.0
    }

    /// Returns the details of the checks that did not pass.
    pub fn warnings(&self, tenant: &TenantSetup, now: Timestamp) -> Vec<String> {
        Finding::warnings(self.findings(tenant, now))
    }
}

impl Finding {
    /// Returns the details of the checks that did not pass.
    pub fn warnings(findings: Vec<Self>) -> Vec<String> {
        let problems = findings.into_iter().filter(|one| one.outcome != FindingOutcome::Passed);
        problems.map(|one| one.detail).collect()
    }
}

fn policy(tenant: &TenantSetup) -> Vec<(FindingOutcome, String)> {
    if tenant.is_sso_allowed {
        return Vec::new();
    }
    let problem = "signInMode is CREDENTIALS_ONLY: nobody can sign in through an identity provider; allow single sign-on in the sign-in policy";
    vec![(FindingOutcome::Failed, problem.into())]
}

fn domains(email_domains: &[EmailDomain], tenant: &TenantSetup) -> Vec<(FindingOutcome, String)> {
    let unverified: Vec<_> = email_domains
        .iter()
        .filter(|domain| !tenant.verified.contains(*domain))
        .map(ToString::to_string)
        .collect();
    if unverified.is_empty() {
        return Vec::new();
    }
    let problem = format!(
        "emailDomains: {} not verified; add the DNS record so that the sign-in page finds this connection, and use loginUrl until then",
        some(&unverified)
    );
    vec![(FindingOutcome::Warning, problem)]
}

/// Maximum names in a sentence.
const NAMED: usize = 5;

fn some(names: &[String]) -> String {
    let (first, rest) = names.split_at(names.len().min(NAMED));
    let first = first.join(", ");
    match (first.contains(", "), rest.len()) {
        (false, 0) => format!("{first} is"),
        (true, 0) => format!("{first} are"),
        (_, more) => format!("{first} and {more} more are"),
    }
}

fn certificates(provider: &Provider, now: Timestamp) -> Vec<(FindingOutcome, String)> {
    let all = &provider.idp.certificates;
    let odd = all.iter().enumerate().filter_map(|(index, certificate)| {
        let problem = match CertificateStatus::of(certificate, now) {
            CertificateStatus::Valid => return None,
            CertificateStatus::Expiring => format!("expires on {}", day(certificate.not_after())),
            CertificateStatus::Expired => format!("expired on {}", day(certificate.not_after())),
            CertificateStatus::NotYetValid => {
                format!("is not valid before {}", day(certificate.not_before()))
            }
        };
        Some((FindingOutcome::Warning, format!("certificates[{index}]: {problem}")))
    });
    let mut odd: Vec<_> = odd.collect();
    if !all.iter().any(|certificate| certificate.is_valid_at(now)) {
        let problem = "certificates: none is valid now, so nobody can sign in; add a valid certificate or newer metadata";
        odd.push((FindingOutcome::Failed, problem.into()));
    }
    odd
}

fn metadata(provider: &Provider, now: Timestamp) -> Vec<(FindingOutcome, String)> {
    let mut odd = Vec::new();
    if let Some((at, problem)) = &provider.refresh.failed {
        odd.push((
            FindingOutcome::Warning,
            format!(
                "metadataUrl: could not be used on {}: {problem}. The previous metadata stays in effect",
                day(*at)
            ),
        ));
    }
    // Metadata that is refreshed every few hours is typically valid for a few days only, so warn one day before.
    let days = if matches!(provider.source, Source::MetadataUrl(_)) { 1 } else { SOON_DAYS };
    if let Some(ends) = provider.valid_until.filter(|ends| *ends < now.plus_millis(days * DAY)) {
        let word = if ends < now { "was valid until" } else { "is valid until" };
        let problem = format!("metadata: {word} {}; provide newer metadata", day(ends));
        odd.push((FindingOutcome::Warning, problem));
    }
    odd
}

fn requests(provider: &Provider) -> Vec<(FindingOutcome, String)> {
    let mut problems = Vec::new();
    if provider.refresh.wants_signed_requests && !provider.sign_requests {
        let problem = "signRequests: the metadata requires signed requests, but they are not signed; the identity provider may refuse them";
        problems.push((FindingOutcome::Warning, problem.into()));
    }
    if provider.sign_out_at_provider && provider.idp.logout.is_none() {
        let problem = "signOutAtProvider: the metadata has no single logout service, so users stay signed in at the identity provider";
        problems.push((FindingOutcome::Warning, problem.into()));
    }
    problems
}

fn keys(provider: &Provider, now: Timestamp) -> Vec<(FindingOutcome, String)> {
    let certificate = &provider.keys.active.certificate;
    if CertificateStatus::of(certificate, now) == CertificateStatus::Valid {
        return Vec::new();
    }
    let problem = format!(
        "serviceProvider.certificates: the active certificate expires on {}; rotate it",
        day(certificate.not_after())
    );
    vec![(FindingOutcome::Warning, problem)]
}

/// Returns only the date.
pub fn day(time: Timestamp) -> String {
    time.to_string().chars().take_while(|c| *c != 'T').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        change::create,
        testing::{VALID_DAYS, World, fields},
    };

    fn tenant(verified: &[&str]) -> TenantSetup {
        let verified = verified.iter().map(|domain| domain.parse().unwrap()).collect();
        TenantSetup { verified, is_sso_allowed: true }
    }

    async fn provider(world: &mut World, days: &[i64]) -> Provider {
        let certificates: Vec<_> = days.iter().map(|days| world.certificate(*days)).collect();
        let certificates: Vec<_> = certificates.iter().collect();
        let new = world.wanted(&["corp.example"], fields(&certificates));
        let ctx = world.ctx();
        create(&ctx, &mut world.store, new).await.unwrap()
    }

    /// Returns the checks that did not pass, with their outcome.
    fn problems(
        provider: &Provider,
        tenant: &TenantSetup,
        now: Timestamp,
    ) -> Vec<(SetupCheck, FindingOutcome)> {
        let findings = provider.findings(tenant, now).into_iter();
        let problems = findings.filter(|one| one.outcome != FindingOutcome::Passed);
        problems.map(|one| (one.check, one.outcome)).collect()
    }

    #[tokio::test]
    async fn a_sound_configuration_passes_every_check() {
        use SetupCheck::{Certificates, Domains, Keys, Metadata, Requests, SignInPolicy};
        let mut world = World::new();
        let made = provider(&mut world, &[100]).await;
        let (tenant, now) = (tenant(&["corp.example"]), world.now());
        let checks: Vec<_> = made.findings(&tenant, now).iter().map(|one| one.check).collect();
        assert_eq!(checks, [SignInPolicy, Domains, Certificates, Metadata, Requests, Keys]);
        assert_eq!(made.warnings(&tenant, now), Vec::<String>::new());
    }

    #[tokio::test]
    async fn each_problem_of_a_configuration_is_found() {
        let mut world = World::new();
        let mut made = provider(&mut world, &[100, 20, VALID_DAYS + 5]).await;
        let (mut setup, now) = (tenant(&[]), world.now());
        setup.is_sso_allowed = false;
        made.sign_requests = false;
        made.refresh.wants_signed_requests = true;
        made.sign_out_at_provider = true;
        made.refresh.failed = Some((now, "the server answered 503".into()));
        made.valid_until = Some(now.plus_millis(10 * DAY));
        let found = problems(&made, &setup, now);
        let expected = [
            (SetupCheck::SignInPolicy, FindingOutcome::Failed),
            (SetupCheck::Domains, FindingOutcome::Warning),
            (SetupCheck::Certificates, FindingOutcome::Warning),
            (SetupCheck::Certificates, FindingOutcome::Warning),
            (SetupCheck::Metadata, FindingOutcome::Warning),
            (SetupCheck::Metadata, FindingOutcome::Warning),
            (SetupCheck::Requests, FindingOutcome::Warning),
            (SetupCheck::Requests, FindingOutcome::Warning),
        ];
        assert_eq!(found, expected);
        // Metadata that is refreshed every few hours is valid for days only.
        made.source = Source::MetadataUrl("https://idp.example.com/metadata".into());
        assert_eq!(problems(&made, &setup, now).len(), expected.len() - 1);
        // Our own certificate expires with time, and so do all of the identity provider's.
        let late = now.plus_millis((VALID_DAYS + 100) * DAY);
        let found = problems(&made, &setup, late);
        assert!(found.contains(&(SetupCheck::Certificates, FindingOutcome::Failed)), "{found:?}");
        assert!(found.contains(&(SetupCheck::Keys, FindingOutcome::Warning)), "{found:?}");
    }

    #[test]
    fn a_sentence_names_five_domains_at_most() {
        let names: Vec<_> = (1..=7).map(|number| format!("{number}.example")).collect();
        assert_eq!(some(&names[..1]), "1.example is");
        assert_eq!(some(&names[..2]), "1.example, 2.example are");
        assert!(some(&names).ends_with("5.example and 2 more are"));
    }
}
