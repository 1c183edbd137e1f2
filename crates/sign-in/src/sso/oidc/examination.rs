//! The checks of an answer, from the redirect to the email address. The host sends the requests between them.

use kernel::{Email, Secret, Timestamp};
use oidc_rp::{
    Callback, Claims, CodeExchange, EmailClaim, Examined, Expected, KeySet, Reason, Refusal, RequestSecrets,
    Step, TokenRequest, TokenResponse, UserInfo, Verified, examine, read_email,
};
use saml_sp::{Attribute, KeyError, SealKey, TestReport};
use serde_json::Value;

use super::{
    provider::{OidcProvider, RelyingParty},
    request::OidcRequest,
};

/// An answer whose request was claimed.
pub struct Redirected {
    /// The provider.
    pub provider: OidcProvider,
    /// The claimed request.
    pub request: OidcRequest,
    /// The secrets of the request.
    pub secrets: RequestSecrets,
}

/// The result of examining an answer.
pub struct ExaminedResponse {
    /// The checks that passed.
    pub passed: Vec<Step>,
    /// The claims of the ID token, if its signature is valid.
    pub claims: Option<Claims>,
    /// The email address of the user who signs in, or the reason for refusing the answer.
    pub outcome: Result<Email, Refusal>,
    /// The response of the UserInfo endpoint, where the connection uses it.
    pub user_info: Option<UserInfo>,
    /// See [`OidcProvider::seal_logout_hint`].
    pub logout_hint: Option<String>,
}

impl ExaminedResponse {
    /// Reports a failure before there was an ID token, after these checks.
    pub fn failed(passed: Vec<Step>, refusal: Refusal) -> Self {
        Self::new(passed, None, Err(refusal))
    }

    /// Reports the outcome after these checks.
    pub fn new(passed: Vec<Step>, claims: Option<Claims>, outcome: Result<Email, Refusal>) -> Self {
        Self { passed, claims, outcome, user_info: None, logout_hint: None }
    }
}

impl Redirected {
    /// Returns the request that exchanges the code of a redirect.
    pub fn token_request(
        &self,
        env: &dyn kernel::Env,
        ours: &RelyingParty,
        code: &Secret<String>,
        seal: &dyn SealKey,
    ) -> Result<TokenRequest, KeyError> {
        let settings = &self.provider.settings;
        let credential = self.provider.credential(seal)?;
        let audience = settings.client_assertion_audience.as_ref().unwrap_or(&self.provider.metadata.issuer);
        let code_verifier = self.secrets.code_verifier();
        let exchange = CodeExchange {
            client_id: &settings.client_id,
            assertion_audience: audience,
            redirect_uri: &ours.redirect_uri,
            code,
            code_verifier: &code_verifier,
        };
        TokenRequest::new(env, exchange, &credential.credential()).map_err(|_| KeyError("used to sign"))
    }

    /// Returns the code of a redirect, after the check that it is from the provider.
    pub fn code(&self, callback: Callback) -> Result<Secret<String>, Refusal> {
        callback.into_code(&self.provider.metadata)
    }
}

/// What an ID token is checked against.
pub struct TokenCheck<'t> {
    /// The answer.
    pub redirected: &'t Redirected,
    /// The code of the redirect.
    pub code: &'t Secret<String>,
    /// The tokens.
    pub tokens: &'t TokenResponse,
    /// Current time.
    pub now: Timestamp,
}

impl TokenCheck<'_> {
    /// Validates the ID token with these keys.
    pub fn examine(&self, keys: &KeySet) -> Examined {
        let Redirected { provider, request, secrets } = self.redirected;
        let settings = &provider.settings;
        let required: Vec<_> =
            settings.required_claims.iter().map(|(name, values)| (name.clone(), values.clone())).collect();
        let expected = Expected {
            issuer: &provider.metadata.issuer,
            client_id: &settings.client_id,
            algorithms: provider.algorithms(),
            nonce: &secrets.nonce(),
            requested_at: request.created_at,
            max_age: settings.max_age,
            acr_values: &settings.acr_values,
            required_claims: &required,
            code: self.code,
            access_token: &self.tokens.access_token,
            now: self.now,
        };
        examine(self.tokens.id_token.expose(), keys, &expected)
    }

    /// Reads the email address from the claims of a valid ID token, and from UserInfo where the connection uses it.
    pub fn read_email(
        &self,
        mut passed: Vec<Step>,
        claims: &Verified<Claims>,
        user_info: Option<Result<UserInfo, Refusal>>,
    ) -> ExaminedResponse {
        let provider = &self.redirected.provider;
        let shown = Some(claims.get().clone());
        let user_info = match user_info.transpose() {
            Ok(user_info) => user_info,
            Err(refusal) => return ExaminedResponse::new(passed, shown, Err(refusal)),
        };
        if user_info.is_some() {
            passed.push(Step::UserInfo);
        }
        let (name, is_trusted) = (&*provider.settings.email_claim, provider.settings.trust_email_claim);
        let domains = provider.email_domains.iter().map(saml_sp::EmailDomain::as_str);
        let outcome = read_email(claims, user_info.as_ref(), EmailClaim { name, is_trusted }, domains);
        ExaminedResponse { user_info, ..ExaminedResponse::new(passed, shown, outcome) }
    }
}

/// Returns the refusal of an answer whose request could not be claimed.
pub(super) fn unclaimed(reason: Reason) -> Refusal {
    let detail = match reason {
        Reason::RequestUsed => "this request was already answered",
        Reason::OtherBrowser => "the request was started in another browser, or the browser lost its cookie",
        _ => {
            "no pending request to this provider has this state; the sign-in may have taken longer than 10 minutes, or the \
             connection was changed meanwhile"
        }
    };
    Refusal::new(reason, detail)
}

/// Returns the checks that apply to a provider, in order.
pub(super) fn checks(provider: &OidcProvider) -> impl Iterator<Item = &'static str> {
    let uses_user_info = provider.settings.use_user_info;
    let all = Step::ALL.iter().filter(move |step| uses_user_info || **step != Step::UserInfo);
    all.map(|step| step.as_str())
}

/// Returns the report of a connection test without an answer.
pub fn unanswered_report(provider: &OidcProvider, now: Timestamp) -> TestReport {
    TestReport::unanswered_checks(checks(provider), now)
}

/// Maximum length of a claim in a report, in characters.
const MAX_SHOWN: usize = 500;

/// Returns the claims of an ID token for a report: lists as several values, objects as JSON.
pub(super) fn shown_claims(claims: &Claims) -> Vec<Attribute> {
    let text = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(text.chars().take(MAX_SHOWN).collect())
    };
    let values = |value: &Value| match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => vec![text(value)],
    };
    // Nonce and hashes belong to this sign-in and say nothing about the user.
    let is_shown = |name: &str| !matches!(name, "nonce" | "at_hash" | "c_hash" | "s_hash");
    let shown = claims.all.iter().filter(|(name, _)| is_shown(name));
    shown.map(|(name, value)| Attribute { name: name.clone(), values: values(value) }).collect()
}
