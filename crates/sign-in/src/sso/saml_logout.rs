//! Ends sessions that a SAML identity provider has ended, and keeps what ends its sessions.

use audit::{Audited, Event, Unaudited, events::saml::SamlLogoutRefused};
use kernel::{Ctx, Secret, Timestamp};
use saml_sp::{
    IdpSession, KeyError, LogoutRequest, LogoutService, Provider, Reason, Refusal, SealKey, Verified,
};

use super::{SsoStorage, logout::end_sessions};
use crate::{
    error::Error,
    provider_session::{EndedAtProvider, ProviderSession},
};

/// Marks a sealed session of an identity provider.
const SESSION_MARK: &str = "idp session";
/// Marks a sealed token that starts a logout.
const LOGOUT_MARK: &str = "saml logout";
/// Milliseconds until a token that starts a logout expires.
const LOGOUT_MILLIS: i64 = 300_000;
/// Maximum length of a session as JSON, so that a token fits into a URL, in bytes.
const MAX_SESSION: usize = 2048;

/// Returns the session at the identity provider that a response names, for storage with the session here. It is sealed too
/// if users are signed out at the identity provider.
pub fn provider_session(
    provider: &Provider,
    seal: &dyn SealKey,
    session: &IdpSession,
) -> Result<ProviderSession, KeyError> {
    let is_used = provider.sign_out_at_provider && provider.idp.logout.is_some();
    let text = serde_json::to_string(session).unwrap_or_default();
    let is_used = is_used && (1..=MAX_SESSION).contains(&text.len());
    let sealed = is_used.then(|| sealed(provider, seal, &[SESSION_MARK, &provider.idp.entity_id, &text]));
    Ok(ProviderSession {
        provider: provider.id.clone(),
        subject: session.subject_hash(),
        session: session.session_hash(),
        logout_hint: sealed.transpose()?,
    })
}

/// Returns a token with which a browser starts the logout at the identity provider within five minutes. `None` if users are
/// not signed out there, or the session is of another identity provider.
pub fn logout_token(
    provider: &Provider,
    seal: &dyn SealKey,
    session: &ProviderSession,
    now: Timestamp,
) -> Option<String> {
    if !provider.sign_out_at_provider || provider.idp.logout.is_none() {
        return None;
    }
    let text = opened(provider, seal, session.logout_hint.as_deref()?)?;
    let [mark, entity_id, session] = parts(&text)?;
    if mark != SESSION_MARK || entity_id != provider.idp.entity_id {
        return None;
    }
    let expires_at = now.plus_millis(LOGOUT_MILLIS).to_string();
    sealed(provider, seal, &[LOGOUT_MARK, &expires_at, session]).ok()
}

/// Returns the logout service and the session of a token from [`logout_token`] that has not expired.
pub fn read_logout_token<'p>(
    provider: &'p Provider,
    seal: &dyn SealKey,
    token: &str,
    now: Timestamp,
) -> Option<(&'p LogoutService, IdpSession)> {
    let text = opened(provider, seal, token)?;
    let [mark, expires_at, session] = parts(&text)?;
    let is_valid = mark == LOGOUT_MARK && expires_at.parse().is_ok_and(|end: Timestamp| now < end);
    let session = is_valid.then(|| serde_json::from_str(session).ok())??;
    Some((provider.idp.logout.as_ref()?, session))
}

fn sealed(provider: &Provider, seal: &dyn SealKey, parts: &[&str]) -> Result<String, KeyError> {
    seal.seal(&provider.id, &Secret::new(parts.join("\0").into_bytes()))
}

fn opened(provider: &Provider, seal: &dyn SealKey, sealed: &str) -> Option<String> {
    String::from_utf8(seal.open(&provider.id, sealed).ok()?.expose().clone()).ok()
}

fn parts(text: &str) -> Option<[&str; 3]> {
    let mut parts = text.splitn(3, '\0');
    Some([parts.next()?, parts.next()?, parts.next()?])
}

/// Returns the audit event of a refused logout message.
pub fn saml_logout_refusal_event(provider: &Provider, refusal: &Refusal) -> Event {
    let data = SamlLogoutRefused {
        step: refusal.step().as_str().to_owned(),
        reason: refusal.reason.as_str().to_owned(),
        detail: refusal.detail.clone(),
        suppressed: None,
    };
    Event::new(provider.id.as_str(), &data)
}

/// Ends the sessions that a LogoutRequest names, and returns their number. Each request is consumed once; a repeated one is
/// refused, and the caller records the refusal.
pub async fn saml_log_out<S: SsoStorage>(
    ctx: &Ctx,
    store: &mut S,
    provider: &Provider,
    request: &Verified<LogoutRequest>,
) -> Result<Audited<Result<usize, Refusal>>, Error> {
    let request = request.get();
    if !store.remember_assertion(&provider.id, &request.id_hash(), request.remember_until).await? {
        let refusal = Refusal::new(Reason::LogoutUsed, "this logout request was already used");
        return Ok(Audited::without(Err(refusal), Unaudited::NothingChanged));
    }
    let subject = request.subject_hash();
    let named = request.session_hashes().into_iter();
    let mut ended: Vec<_> =
        named.map(|session| EndedAtProvider::Session { session, subject: Some(subject) }).collect();
    if ended.is_empty() {
        ended.push(EndedAtProvider::Subject(subject));
    }
    let (mut count, mut events) = (0, Vec::new());
    for ended in ended {
        let (ended, recorded) = end_sessions(ctx, store, &provider.id, &ended).await?.into_parts();
        count += ended;
        events.extend(recorded);
    }
    Ok(Audited::of_changes(Ok(count), events))
}
