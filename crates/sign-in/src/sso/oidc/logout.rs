//! Ends sessions that an OpenID provider has ended (Back-Channel Logout 1.0).

use audit::{Audited, Event, Unaudited, events::oidc::OidcLogoutRefused};
use kernel::{Ctx, Timestamp};
use oidc_rp::{
    EndedSessions, ExpectedLogout, KeySet, LogoutToken, Reason, Refusal, Verified, examine_logout,
};
use ring::digest::{SHA256, digest};
use saml_sp::Subject;

use super::provider::OidcProvider;
use crate::{
    error::Error,
    provider_session::EndedAtProvider,
    sso::{SsoStorage, logout::end_sessions},
};

impl OidcProvider {
    /// Validates a logout token with these keys.
    pub fn examine_logout(
        &self,
        token: &str,
        keys: &KeySet,
        now: Timestamp,
    ) -> Result<Verified<LogoutToken>, Refusal> {
        let expected = ExpectedLogout {
            issuer: &self.metadata.issuer,
            client_id: &self.settings.client_id,
            algorithms: self.algorithms(),
            now,
        };
        examine_logout(token, keys, &expected)
    }
}

/// Returns the audit event of a refused logout token.
pub fn logout_refusal_event(provider: &OidcProvider, refusal: &Refusal) -> Event {
    let data = OidcLogoutRefused {
        step: refusal.step().as_str().to_owned(),
        reason: refusal.reason.as_str().to_owned(),
        detail: refusal.detail.clone(),
        suppressed: None,
    };
    Event::new(provider.id.as_str(), &data)
}

/// Ends the sessions that a logout token names, and returns their number. Each token is consumed once; a repeated one is
/// refused, and the caller records the refusal.
pub async fn log_out<S: SsoStorage>(
    ctx: &Ctx,
    store: &mut S,
    provider: &OidcProvider,
    token: &Verified<LogoutToken>,
) -> Result<Audited<Result<usize, Refusal>>, Error> {
    let token = token.get();
    if !store.remember_assertion(&provider.id, &hash(&token.id), token.remember_until).await? {
        let refusal = Refusal::new(Reason::LogoutUsed, "this logout token was already used");
        return Ok(Audited::without(Err(refusal), Unaudited::NothingChanged));
    }
    let subject_of = |subject: &str| *Subject::of_oidc(&provider.metadata.issuer, subject).as_bytes();
    let ended = match token.ended() {
        Some(EndedSessions::Session(session)) => EndedAtProvider::Session {
            session: session_hash(&provider.metadata.issuer, session),
            subject: token.subject().map(subject_of),
        },
        Some(EndedSessions::Subject(subject)) => EndedAtProvider::Subject(subject_of(subject)),
        None => return Err(Error::internal("a logout token without session and subject was accepted")),
    };
    let ended = end_sessions(ctx, store, &provider.id, &ended).await?;
    Ok(ended.map(Ok))
}

/// Returns the hash that identifies a session of a provider.
pub(in crate::sso) fn session_hash(issuer: &str, session: &str) -> [u8; 32] {
    hash(&[issuer, session].join("\0"))
}

/// Returns the SHA-256 of an identifier, as storage keeps it.
fn hash(text: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    hash
}
