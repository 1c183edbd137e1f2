//! Configuration checks of a connection that need no sign-in.

use kernel::Timestamp;
use oidc_rp::ClientAuth;
use saml_sp::{CertificateStatus, Finding, FindingOutcome, Findings, SetupCheck, TenantSetup, day};

use super::provider::OidcProvider;

impl OidcProvider {
    /// Runs all checks that need no sign-in.
    pub fn findings(&self, tenant: &TenantSetup, now: Timestamp) -> Vec<Finding> {
        let mut findings = Findings::of_tenant(tenant, &self.email_domains);
        findings.add(SetupCheck::Metadata, self.metadata_problems(), "metadata and keys are up to date");
        findings.add(SetupCheck::Client, self.client_problems(), "its settings fit the provider's metadata");
        findings.add(
            SetupCheck::Keys,
            self.key_problems(now),
            "our key is valid for more than 30 days, or not used",
        );
        findings.0
    }

    /// Returns the details of the checks that did not pass.
    pub fn warnings(&self, tenant: &TenantSetup, now: Timestamp) -> Vec<String> {
        Finding::warnings(self.findings(tenant, now))
    }

    /// Returns whether users can sign in, as far as the settings show.
    pub fn is_usable(&self) -> bool {
        self.client_problems().iter().all(|(outcome, _)| *outcome != FindingOutcome::Failed)
    }

    fn metadata_problems(&self) -> Vec<(FindingOutcome, String)> {
        let Some((at, problem)) = &self.refresh.failed else { return Vec::new() };
        let problem = format!(
            "metadata: could not be used on {}: {problem}. The previous metadata and keys stay in effect",
            day(*at)
        );
        vec![(FindingOutcome::Warning, problem)]
    }

    fn client_problems(&self) -> Vec<(FindingOutcome, String)> {
        let mut problems = Vec::new();
        let (settings, metadata) = (&self.settings, &self.metadata);
        if !metadata.client_auth.contains(&settings.token_endpoint_auth_method) {
            let problem = format!(
                "tokenEndpointAuthMethod: the provider's metadata does not list {}, so it may refuse it",
                settings.token_endpoint_auth_method.as_str()
            );
            problems.push((FindingOutcome::Warning, problem));
        }
        if !self.algorithms().iter().any(|algorithm| metadata.algorithms.contains(algorithm)) {
            let problem =
                "signingAlgorithms: the provider uses none of these algorithms, so nobody can sign in";
            problems.push((FindingOutcome::Failed, problem.to_owned()));
        }
        if settings.use_user_info && metadata.userinfo_endpoint.is_none() {
            let problem = "useUserInfo: the provider has no UserInfo endpoint, so nobody can sign in";
            problems.push((FindingOutcome::Failed, problem.to_owned()));
        }
        if settings.sign_out_at_provider && metadata.end_session_endpoint.is_none() {
            let problem =
                "signOutAtProvider: the provider has no logout endpoint, so users stay signed in there";
            problems.push((FindingOutcome::Warning, problem.to_owned()));
        }
        problems
    }

    fn key_problems(&self, now: Timestamp) -> Vec<(FindingOutcome, String)> {
        let certificate = &self.keys.active.certificate;
        let is_used = self.settings.token_endpoint_auth_method == ClientAuth::PrivateKeyJwt;
        if !is_used || CertificateStatus::of(certificate, now) == CertificateStatus::Valid {
            return Vec::new();
        }
        let problem = format!(
            "relyingParty.certificates: the active certificate expires on {}; rotate the key",
            day(certificate.not_after())
        );
        vec![(FindingOutcome::Warning, problem)]
    }
}
