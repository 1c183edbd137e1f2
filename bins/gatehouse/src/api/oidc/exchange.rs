//! Exchanges the code of a redirect for an ID token, and examines it.

use std::{sync::Arc, time::Duration};

use gate::{access::Visitor, errors::Problem};
use kernel::{Secret, TenantId};
use oidc_rp::{Callback, Claims, Examined, KeySet, Reason, Refusal, Step, TokenResponse, UserInfo, Verified};
use sign_in::sso::oidc::{ExaminedResponse, Redirected, TokenCheck, TokenKind};

use tokio::time::timeout;

use super::{keys::TokenIssuer, provider::relying_party};
use crate::{api::site::Site, area_metrics, oidc_client};

/// Time limit of all requests to a provider during one sign-in.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// An answer whose request was claimed, and what is needed to examine it.
pub(super) struct Exchange<'a> {
    pub(super) site: &'a Site,
    pub(super) visitor: &'a Visitor,
    pub(super) tenant: &'a TenantId,
    pub(super) redirected: Arc<Redirected>,
}

/// The tokens of a sign-in, and the code that they were exchanged for.
struct Received {
    code: Secret<String>,
    tokens: TokenResponse,
}

impl Exchange<'_> {
    /// Exchanges the code and runs all checks up to the email address, within [`TIME_LIMIT`].
    pub(super) async fn examine(&self, callback: Callback) -> Result<ExaminedResponse, Problem> {
        let Ok(examined) = timeout(TIME_LIMIT, Box::pin(self.run(callback))).await else {
            let detail = format!("the provider did not respond within {} s", TIME_LIMIT.as_secs());
            let refusal = Refusal::new(Reason::TokenEndpoint, detail);
            return Ok(ExaminedResponse::failed(vec![Step::Callback, Step::Request], refusal));
        };
        examined
    }

    async fn run(&self, callback: Callback) -> Result<ExaminedResponse, Problem> {
        let code = match self.redirected.code(callback) {
            Ok(code) => code,
            Err(refusal) => return Ok(ExaminedResponse::failed(vec![Step::Request], refusal)),
        };
        let mut passed = vec![Step::Callback, Step::Request];
        let tokens = match self.tokens(&code).await? {
            Ok(tokens) => tokens,
            Err(refusal) => return Ok(ExaminedResponse::failed(passed, refusal)),
        };
        passed.push(Step::TokenRequest);
        let received = Arc::new(Received { code, tokens });
        let examined = self.examine_token(&received).await?;
        passed.extend(&examined.passed);
        let shown = examined.shown_claims().cloned();
        let claims = match examined.into_result() {
            Ok(claims) => claims,
            Err(refusal) => return Ok(ExaminedResponse::new(passed, shown, Err(refusal))),
        };
        let user_info = self.user_info(&received, &claims).await?;
        let check = self.check(&received);
        let mut examined = check.read_email(passed, &claims, user_info);
        let (provider, seal) = (&self.redirected.provider, self.site.pipeline.keys.saml());
        let hint = provider.seal_logout_hint(&seal, &received.tokens.id_token);
        examined.logout_hint = hint.map_err(Problem::unexpected)?;
        Ok(examined)
    }

    async fn tokens(&self, code: &Secret<String>) -> Result<Result<TokenResponse, Refusal>, Problem> {
        let provider = &self.redirected.provider;
        let (env, ours) = (self.visitor.shared_env(), relying_party(self.site, &provider.id));
        let (seal, redirected, code) =
            (self.site.pipeline.keys.saml(), Arc::clone(&self.redirected), code.clone());
        // A client assertion is signed with RSA.
        let work = move || redirected.token_request(&*env, &ours, &code, &seal);
        let request = self.visitor.without_slot(self.site.saml.compute(work)).await??;
        let request = request.map_err(Problem::unexpected)?;
        let (client, endpoint) = (&self.site.webhooks.exchanges, &provider.metadata.token_endpoint);
        let answer = self.visitor.without_slot(oidc_client::exchange(client, endpoint, request)).await?;
        Ok(answer.and_then(|answer| TokenResponse::parse(answer.status, &answer.body)))
    }

    fn check<'c>(&'c self, received: &'c Received) -> TokenCheck<'c> {
        TokenCheck {
            redirected: &self.redirected,
            code: &received.code,
            tokens: &received.tokens,
            now: self.visitor.env().now(),
        }
    }

    /// Validates the ID token.
    async fn examine_token(&self, received: &Arc<Received>) -> Result<Examined, Problem> {
        let (redirected, received) = (Arc::clone(&self.redirected), Arc::clone(received));
        let now = self.visitor.env().now();
        let check = move |keys: &KeySet| {
            let (code, tokens) = (&received.code, &received.tokens);
            let started = std::time::Instant::now();
            let examined = TokenCheck { redirected: &redirected, code, tokens, now }.examine(keys);
            area_metrics::oidc_examined(started.elapsed());
            examined
        };
        let is_unknown = |examined: &Examined| examined.refusal.as_ref().is_some_and(Refusal::may_be_new_key);
        let (site, visitor, tenant) = (self.site, self.visitor, self.tenant);
        let kind = TokenKind::IdToken;
        let issuer = TokenIssuer { site, visitor, tenant, provider: &self.redirected.provider, kind };
        issuer.check(check, is_unknown).await
    }

    /// Asks the UserInfo endpoint, if the connection uses it.
    async fn user_info(
        &self,
        received: &Received,
        claims: &Verified<Claims>,
    ) -> Result<Option<Result<UserInfo, Refusal>>, Problem> {
        let provider = &self.redirected.provider;
        if !provider.settings.use_user_info {
            return Ok(None);
        }
        let Some(url) = &provider.metadata.userinfo_endpoint else {
            let detail = "the provider's metadata has no userinfo_endpoint";
            return Ok(Some(Err(Refusal::new(Reason::UserInfoEndpoint, detail))));
        };
        let (client, token) = (&self.site.webhooks.client, &received.tokens.access_token);
        let answer = self.visitor.without_slot(oidc_client::user_info(client, url, token)).await?;
        Ok(Some(answer.and_then(|answer| {
            let content_type = answer.content_type.unwrap_or_default();
            UserInfo::parse(answer.status, &content_type, &answer.body, claims)
        })))
    }
}
