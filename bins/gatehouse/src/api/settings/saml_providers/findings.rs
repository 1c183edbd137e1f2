//! Configuration checks of an SSO connection. The connection lists them as warnings, and a test reports them first.

use crate::api::openapi::values;
use std::collections::BTreeSet;

use credentials::{SignInMode, SignInStore};
use kernel::{StoreResult, Timestamp};
use saml_sp::{Certificate, DomainStore, EmailDomain, Provider, Source};
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

/// Warn this many days before something expires.
const SOON_DAYS: i64 = 30;
const DAY: i64 = 86_400_000;

/// Tenant settings that the checks of an SSO connection need.
#[derive(Debug, Clone)]
pub(crate) struct ProviderContext {
    /// Domains that the tenant has verified.
    pub(crate) verified: BTreeSet<EmailDomain>,
    /// Allowed ways to sign in.
    pub(crate) mode: SignInMode,
}

impl ProviderContext {
    /// Reads the context in this transaction, and locks the tenant. Lock the connection first, as a sign-in does.
    /// Another order deadlocks on PostgreSQL.
    pub(crate) async fn of(tx: &mut Tx) -> StoreResult<Self> {
        let verified = tx.verified_domains().await?.into_iter().map(|domain| domain.domain).collect();
        Ok(Self { verified, mode: tx.sign_in_policy().await?.sign_in_mode })
    }
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schema(as = SamlCheckOutcome)]
pub(crate) enum Outcome {
    Passed,
    /// It works, and may not be meant so or not for long.
    Warning,
    /// Nobody can sign in like this.
    Failed,
}

/// A check of the configuration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SamlSetupCheck)]
pub(crate) struct Finding {
    /// `SIGN_IN_POLICY`, `DOMAINS`, `CERTIFICATES`, `METADATA`, `REQUESTS` or `KEYS`.
    #[schema(value_type = values::SamlSetupCheckName)]
    pub(crate) check: &'static str,
    pub(crate) outcome: Outcome,
    /// The finding and how to fix it.
    pub(crate) detail: String,
}

/// Validity of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = SamlCertificateStatus)]
pub(crate) enum Status {
    Valid,
    /// Within 30 days.
    Expiring,
    Expired,
    NotYetValid,
}

impl Status {
    pub(crate) fn of(certificate: &Certificate, now: Timestamp) -> Self {
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
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, check: &'static str, odd: Vec<(Outcome, String)>, well: &str) {
        if odd.is_empty() {
            self.0.push(Finding { check, outcome: Outcome::Passed, detail: well.to_owned() });
        }
        self.0.extend(odd.into_iter().map(|(outcome, detail)| Finding { check, outcome, detail }));
    }
}

/// Runs all checks that need no sign-in.
pub(crate) fn findings(provider: &Provider, around: &ProviderContext, now: Timestamp) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    findings.add("SIGN_IN_POLICY", policy(around), "single sign-on is allowed");
    findings.add("DOMAINS", domains(provider, around), "the sign-in page finds it by email address");
    findings.add("CERTIFICATES", certificates(provider, now), "all are valid for more than 30 days");
    findings.add("METADATA", metadata(provider, now), "it is up to date, or not used");
    findings.add("REQUESTS", requests(provider), "they are signed, or need no signature");
    findings.add("KEYS", keys(provider, now), "it is valid for more than 30 days");
    findings.0
}

/// Returns the details of the checks that did not pass.
pub(crate) fn warnings(provider: &Provider, around: &ProviderContext, now: Timestamp) -> Vec<String> {
    let odd = findings(provider, around, now).into_iter().filter(|one| one.outcome != Outcome::Passed);
    odd.map(|one| one.detail).collect()
}

fn policy(around: &ProviderContext) -> Vec<(Outcome, String)> {
    if around.mode != SignInMode::CredentialsOnly {
        return Vec::new();
    }
    let problem = "signInMode is CREDENTIALS_ONLY: nobody can sign in through an identity provider; allow single sign-on in the sign-in policy";
    vec![(Outcome::Failed, problem.into())]
}

fn domains(provider: &Provider, around: &ProviderContext) -> Vec<(Outcome, String)> {
    let unverified: Vec<_> = provider
        .email_domains
        .iter()
        .filter(|domain| !around.verified.contains(*domain))
        .map(ToString::to_string)
        .collect();
    if unverified.is_empty() {
        return Vec::new();
    }
    let problem = format!(
        "emailDomains: {} not verified; add the DNS record so that the sign-in page finds this connection, and use loginUrl until then",
        some(&unverified)
    );
    vec![(Outcome::Warning, problem)]
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

fn certificates(provider: &Provider, now: Timestamp) -> Vec<(Outcome, String)> {
    let all = &provider.idp.certificates;
    let odd = all.iter().enumerate().filter_map(|(index, certificate)| {
        let problem = match Status::of(certificate, now) {
            Status::Valid => return None,
            Status::Expiring => format!("expires on {}", day(certificate.not_after())),
            Status::Expired => format!("expired on {}", day(certificate.not_after())),
            Status::NotYetValid => format!("is not valid before {}", day(certificate.not_before())),
        };
        Some((Outcome::Warning, format!("certificates[{index}]: {problem}")))
    });
    let mut odd: Vec<_> = odd.collect();
    if !all.iter().any(|certificate| certificate.is_valid_at(now)) {
        let problem = "certificates: none is valid now, so nobody can sign in; add a valid certificate or newer metadata";
        odd.push((Outcome::Failed, problem.into()));
    }
    odd
}

fn metadata(provider: &Provider, now: Timestamp) -> Vec<(Outcome, String)> {
    let mut odd = Vec::new();
    if let Some((at, problem)) = &provider.refresh.failed {
        odd.push((
            Outcome::Warning,
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
        odd.push((Outcome::Warning, problem));
    }
    odd
}

fn requests(provider: &Provider) -> Vec<(Outcome, String)> {
    if provider.sign_requests || !provider.refresh.wants_signed_requests {
        return Vec::new();
    }
    let problem = "signRequests: the metadata requires signed requests, but they are not signed; the identity provider may refuse them";
    vec![(Outcome::Warning, problem.into())]
}

fn keys(provider: &Provider, now: Timestamp) -> Vec<(Outcome, String)> {
    let certificate = &provider.keys.active.certificate;
    if Status::of(certificate, now) == Status::Valid {
        return Vec::new();
    }
    let problem = format!(
        "serviceProvider.certificates: the active certificate expires on {}; rotate it",
        day(certificate.not_after())
    );
    vec![(Outcome::Warning, problem)]
}

/// Returns only the date.
fn day(time: Timestamp) -> String {
    time.to_string().chars().take_while(|c| *c != 'T').collect()
}
