//! The redirect with which a provider answers a request (RFC 6749, sections 4.1.2 and 4.1.2.1).

use kernel::Secret;

use crate::{
    discovery::ProviderMetadata,
    refusal::{Reason, Refusal},
};

/// Maximum length of a parameter in bytes.
const MAX_PARAMETER: usize = 4096;
/// The parameters that count. Others are ignored, such as `session_state`.
const KNOWN: [&str; 5] = ["state", "code", "iss", "error", "error_description"];
/// Parameters of flows that are not used, in which tokens pass through the browser.
const TOKENS: [&str; 4] = ["id_token", "access_token", "refresh_token", "response"];

/// The parameters of a redirect.
pub struct Callback {
    /// The state, which finds the request.
    pub state: String,
    outcome: Result<Secret<String>, Refusal>,
    issuer: Option<String>,
}

impl Callback {
    /// Parses the query of the redirect. Fails if a parameter is missing, repeated or longer than 4 KiB, or if the query
    /// has a token.
    pub fn parse(query: &str) -> Result<Self, Refusal> {
        let mut found: [Option<String>; KNOWN.len()] = Default::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if TOKENS.contains(&&*name) {
                let detail =
                    format!("the redirect has the parameter {name}; only the code flow is supported");
                return Err(Refusal::new(Reason::TokenInAddress, detail));
            }
            let places = KNOWN.iter().zip(&mut found);
            let Some((known, place)) = places.into_iter().find(|(known, _)| **known == name) else {
                continue;
            };
            if value.len() > MAX_PARAMETER {
                let detail = format!("the parameter {known} is longer than 4 KiB");
                return Err(Refusal::new(Reason::ParameterTooLong, detail));
            }
            if place.replace(value.into_owned()).is_some() {
                return Err(Refusal::new(
                    Reason::ParameterRepeated,
                    format!("the parameter {known} is repeated"),
                ));
            }
        }
        let [state, code, issuer, error, description] =
            found.map(|value| value.filter(|text| !text.is_empty()));
        let missing =
            |name| Refusal::new(Reason::ParameterMissing, format!("the parameter {name} is missing"));
        let outcome = match (error, code) {
            (None, Some(code)) => Ok(Secret::new(code)),
            (None, None) => Err(missing("code")),
            (Some(error), _) => {
                let description = description.map(|text| format!(": {text}")).unwrap_or_default();
                Err(Refusal::new(Reason::ProviderError, format!("the provider reports {error}{description}")))
            }
        };
        Ok(Self { state: state.ok_or_else(|| missing("state"))?, outcome, issuer })
    }

    /// Returns the code, or the error that the provider reports, after a check that the redirect is from this provider
    /// (RFC 9207).
    pub fn into_code(self, provider: &ProviderMetadata) -> Result<Secret<String>, Refusal> {
        let issuer = &provider.issuer;
        match &self.issuer {
            Some(found) if found == issuer => self.outcome,
            Some(found) => {
                let detail = format!("iss in the redirect is {found:?}, not {issuer:?}");
                Err(Refusal::new(Reason::CallbackIssuer, detail))
            }
            None if provider.has_callback_issuer => {
                let detail = "the redirect has no iss, although the provider announces it";
                Err(Refusal::new(Reason::CallbackIssuerMissing, detail))
            }
            None => self.outcome,
        }
    }
}
