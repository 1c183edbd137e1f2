//! Validates the settings of an SSO connection before anything is changed.

use std::collections::{BTreeMap, BTreeSet};

use oidc_rp::{Algorithm, ClientAuth, Prompt};
use saml_sp::{EmailDomain, ProviderError, check_name, field, is_printable, parse_domains};
use serde::{Deserialize, Serialize};

/// Maximum length of a client ID, a claim's name or value, and an authentication context, in characters.
const MAX_WORD: usize = 256;
/// Maximum length of an audience in characters.
const MAX_AUDIENCE: usize = 1024;
/// Maximum number of scopes.
const MAX_SCOPES: usize = 20;
/// Maximum number of accepted authentication context classes.
const MAX_CONTEXTS: usize = 10;
/// Maximum number of required claims, and of accepted values of one.
const MAX_REQUIRED: (usize, usize) = (10, 20);
/// Maximum of `max_age`: one year.
const MAX_AGE: u32 = 31_536_000;

/// Issuers that sign in users of any organization, and the claim that names the organization.
const SHARED_ISSUERS: [(&str, &str); 1] = [("https://accounts.google.com", "hd")];

/// The settings of an administrator, apart from name, domains and secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OidcSettings {
    /// Our client ID at the provider.
    pub client_id: String,
    /// How we authenticate at the token endpoint.
    pub token_endpoint_auth_method: ClientAuth,
    /// The audience of client assertions; the issuer by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_assertion_audience: Option<String>,
    /// The requested scopes besides `openid`.
    pub scopes: Vec<String>,
    /// The parameter `prompt` of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// How long ago the user may have signed in at the provider, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<u32>,
    /// The accepted authentication context classes; empty for any.
    pub acr_values: Vec<String>,
    /// Claims that must have one of these values.
    pub required_claims: BTreeMap<String, Vec<String>>,
    /// The claim with the email address.
    pub email_claim: String,
    /// Whether the provider vouches for every address in the claim.
    pub trust_email_claim: bool,
    /// Whether claims are read from the UserInfo endpoint too.
    pub use_user_info: bool,
    /// Whether a sign-out continues at the provider, which ends its session too.
    #[serde(default)]
    pub sign_out_at_provider: bool,
    /// The accepted signature algorithms of ID tokens; by default those of the provider's metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_algorithms: Option<Vec<Algorithm>>,
}

/// The settings of a connection, as supplied.
#[derive(Debug, Clone)]
pub struct OidcChange {
    /// 1 to 100 printable characters.
    pub name: String,
    /// 1 to 100 domains.
    pub email_domains: Vec<String>,
    /// The issuer, exactly as the provider names it.
    pub issuer: String,
    /// The other settings.
    pub settings: OidcSettings,
}

/// A validated [`OidcChange`].
#[derive(Debug, Clone)]
pub struct CheckedOidcChange {
    pub(super) name: String,
    pub(super) email_domains: Vec<EmailDomain>,
    pub(super) issuer: String,
    pub(super) settings: OidcSettings,
}

impl CheckedOidcChange {
    /// Returns the issuer.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the other settings.
    pub fn settings(&self) -> &OidcSettings {
        &self.settings
    }
}

impl OidcChange {
    /// Validates every field.
    pub fn checked(self) -> Result<CheckedOidcChange, ProviderError> {
        check_name(&self.name)?;
        let email_domains = parse_domains(&self.email_domains)?;
        // The error begins with the field's name.
        if let Err(error) = oidc_rp::metadata_url(&self.issuer) {
            let error = error.to_string();
            return Err(field("issuer", error.strip_prefix("issuer: ").unwrap_or(&error)));
        }
        self.settings.check()?;
        self.check_organization()?;
        Ok(CheckedOidcChange { name: self.name, email_domains, issuer: self.issuer, settings: self.settings })
    }
}

impl OidcChange {
    /// Checks that the provider signs in users of one organization only.
    fn check_organization(&self) -> Result<(), ProviderError> {
        let shared = SHARED_ISSUERS.iter().find(|(issuer, _)| *issuer == self.issuer);
        match shared {
            Some((issuer, claim)) if !self.settings.required_claims.contains_key(*claim) => {
                let problem = format!(
                    "{issuer} signs in users of any organization; require the claim {claim} with your domain"
                );
                Err(field("requiredClaims", problem))
            }
            _ => Ok(()),
        }
    }
}

impl OidcSettings {
    fn check(&self) -> Result<(), ProviderError> {
        check_text("clientId", &self.client_id, MAX_WORD)?;
        if let Some(audience) = &self.client_assertion_audience {
            check_text("clientAssertionAudience", audience, MAX_AUDIENCE)?;
        }
        check_scopes(&self.scopes)?;
        if self.max_age.is_some_and(|seconds| seconds > MAX_AGE) {
            return Err(field("maxAge", format!("write 0 to {MAX_AGE} seconds")));
        }
        check_list("acrValues", &self.acr_values, MAX_CONTEXTS, is_token)?;
        self.check_required_claims()?;
        check_text("emailClaim", &self.email_claim, MAX_WORD)?;
        match &self.signing_algorithms {
            Some(algorithms) if algorithms.is_empty() => {
                Err(field("signingAlgorithms", "name at least one algorithm, or leave it out"))
            }
            Some(algorithms) if algorithms.iter().collect::<BTreeSet<_>>().len() < algorithms.len() => {
                Err(field("signingAlgorithms", "name each algorithm once"))
            }
            _ => Ok(()),
        }
    }

    fn check_required_claims(&self) -> Result<(), ProviderError> {
        let (most_claims, most_values) = MAX_REQUIRED;
        if self.required_claims.len() > most_claims {
            return Err(field("requiredClaims", format!("write at most {most_claims} claims")));
        }
        for (name, values) in &self.required_claims {
            check_text("requiredClaims", name, MAX_WORD)?;
            let path = format!("requiredClaims.{name}");
            if values.is_empty() {
                return Err(field(path, "write at least one accepted value"));
            }
            check_list(&path, values, most_values, |text| is_printable(text, MAX_WORD))?;
        }
        Ok(())
    }
}

fn check_text(name: &str, text: &str, most: usize) -> Result<(), ProviderError> {
    if is_printable(text, most) {
        return Ok(());
    }
    Err(field(name, format!("write 1 to {most} printable characters, no space at either end")))
}

fn is_token(text: &str) -> bool {
    is_printable(text, MAX_WORD) && !text.contains(char::is_whitespace)
}

fn check_scopes(scopes: &[String]) -> Result<(), ProviderError> {
    // RFC 6749, section 3.3.
    let is_scope = |text: &str| {
        is_token(text) && text.bytes().all(|byte| (b'!'..=b'~').contains(&byte) && !b"\"\\".contains(&byte))
    };
    check_list("scopes", scopes, MAX_SCOPES, is_scope)?;
    match scopes.iter().position(|scope| scope == "openid") {
        Some(index) => Err(field(format!("scopes[{index}]"), "leave out openid, which is always requested")),
        None => Ok(()),
    }
}

fn check_list(
    path: &str,
    texts: &[String],
    most: usize,
    is_sound: impl Fn(&str) -> bool,
) -> Result<(), ProviderError> {
    if texts.len() > most {
        return Err(field(path, format!("write at most {most} values")));
    }
    let mut seen = BTreeSet::new();
    for (index, text) in texts.iter().enumerate() {
        let at = format!("{path}[{index}]");
        if !is_sound(text) {
            return Err(field(at, "write a value without spaces and control characters"));
        }
        if !seen.insert(text) {
            return Err(field(at, format!("{text} is already in the list")));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns valid settings.
    pub(in crate::sso) fn change() -> OidcChange {
        OidcChange {
            name: "Corp".into(),
            email_domains: vec!["corp.example".into()],
            issuer: "https://login.corp.example".into(),
            settings: OidcSettings {
                client_id: "gatehouse".into(),
                token_endpoint_auth_method: ClientAuth::PrivateKeyJwt,
                client_assertion_audience: None,
                scopes: vec!["email".into()],
                prompt: None,
                max_age: None,
                acr_values: Vec::new(),
                required_claims: BTreeMap::new(),
                email_claim: "email".into(),
                trust_email_claim: false,
                use_user_info: false,
                sign_out_at_provider: false,
                signing_algorithms: None,
            },
        }
    }

    #[test]
    fn errors_name_the_invalid_field() {
        let refused = |edit: fn(&mut OidcChange)| {
            let mut change = change();
            edit(&mut change);
            change.checked().err().unwrap().to_string()
        };
        change().checked().unwrap();
        assert!(refused(|c| c.name.clear()).starts_with("name: "));
        assert!(refused(|c| c.email_domains.clear()).starts_with("emailDomains: "));
        for issuer in
            ["http://login.corp.example", "login", "https://a.example/?b", "https://a.example/#b", ""]
        {
            let mut change = change();
            change.issuer = issuer.into();
            let error = change.checked().err().unwrap().to_string();
            assert!(error.starts_with("issuer: write ") || error.starts_with("issuer: "), "{error}");
            assert_eq!(error.matches("issuer: ").count(), 1, "{error}");
        }
        assert!(refused(|c| c.settings.client_id.clear()).starts_with("clientId: "));
        assert!(refused(|c| c.settings.client_id = "a\u{7f}".into()).starts_with("clientId: "));
        assert!(refused(|c| c.settings.scopes = vec!["a b".into()]).starts_with("scopes[0]: "));
        assert!(refused(|c| c.settings.scopes = vec!["a\"".into()]).starts_with("scopes[0]: "));
        assert!(
            refused(|c| c.settings.scopes.push("openid".into())).starts_with("scopes[1]: leave out openid")
        );
        assert!(refused(|c| c.settings.scopes = vec!["a".into(); 2]).starts_with("scopes[1]: a is already"));
        assert!(
            refused(|c| c.settings.scopes = (0..21).map(|n| n.to_string()).collect()).starts_with("scopes: ")
        );
        assert!(refused(|c| c.settings.max_age = Some(MAX_AGE + 1)).starts_with("maxAge: "));
        assert!(refused(|c| c.settings.acr_values = vec![String::new()]).starts_with("acrValues[0]: "));
        let none = "requiredClaims.hd: write at least one";
        assert!(refused(|c| c.settings.required_claims = [("hd".into(), vec![])].into()).starts_with(none));
        assert!(refused(|c| c.settings.email_claim.clear()).starts_with("emailClaim: "));
        assert!(
            refused(|c| c.settings.signing_algorithms = Some(vec![]))
                .starts_with("signingAlgorithms: name at ")
        );
        let twice = |c: &mut OidcChange| c.settings.signing_algorithms = Some(vec![Algorithm::ES256; 2]);
        assert!(refused(twice).starts_with("signingAlgorithms: name each "));
        let google = |c: &mut OidcChange| c.issuer = "https://accounts.google.com".into();
        assert!(refused(google).starts_with("requiredClaims: https://accounts.google.com signs in users"));
        let mut workspace = change();
        google(&mut workspace);
        workspace.settings.required_claims = [("hd".into(), vec!["corp.example".into()])].into();
        workspace.checked().unwrap();
        let audience = |c: &mut OidcChange| c.settings.client_assertion_audience = Some(" a".into());
        assert!(refused(audience).starts_with("clientAssertionAudience: "));
    }
}
