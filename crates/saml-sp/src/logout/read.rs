//! Reads the content of verified logout messages.

use roxmltree::Node;

use super::{IdpSession, LogoutRequest, LogoutResponse};
use crate::{
    name_id,
    refusal::{Reason, Refusal},
    request::sha256,
    response::{Against, SKEW_MILLIS, time},
    signature::is_signature,
    xml::{SAML, SAMLP, attribute, elements, is, only_text},
};

/// For how long after its issue a message is accepted, if it names no end itself.
const LIFETIME_MILLIS: i64 = 600_000;
/// Maximum number of different SessionIndex values.
const MAX_INDEXES: usize = 10;

fn unexpected(detail: impl AsRef<str>) -> Refusal {
    Refusal::new(Reason::UnexpectedElement, detail)
}

/// Checks destination, issuer and time of issue, and returns the elements after Issuer, Signature and Extensions.
fn addressed<'a, 'i>(
    root: Node<'a, 'i>,
    against: &Against<'_>,
) -> Result<impl Iterator<Item = Node<'a, 'i>>, Refusal> {
    let quoted = |text: &str| text.chars().take(120).collect::<String>();
    let (slo, entity_id) = (&against.service.slo_url, &against.provider.idp.entity_id);
    let found = attribute(root, "Destination");
    if found != Some(slo) {
        let found = quoted(found.unwrap_or("missing"));
        return Err(Refusal::new(Reason::Destination, format!("Destination is {found}; expected {slo}")));
    }
    let mut children = elements(root).peekable();
    let issuer = children.next_if(|node| is(*node, SAML, "Issuer"));
    let issuer = issuer.map(only_text).transpose()?.unwrap_or("missing");
    if issuer != entity_id {
        let detail = format!("the Issuer is {}; expected {entity_id}", quoted(issuer));
        return Err(Refusal::new(Reason::Issuer, detail));
    }
    children.next_if(|node| is_signature(*node));
    children.next_if(|node| is(*node, SAMLP, "Extensions"));
    let missing = || Refusal::new(Reason::IssueInstant, "the message has no IssueInstant");
    let issued = time(root, "IssueInstant")?.ok_or_else(missing)?;
    let earliest = against.now.plus_millis(-LIFETIME_MILLIS - SKEW_MILLIS);
    if issued < earliest || issued > against.now.plus_millis(SKEW_MILLIS) {
        let detail = format!("the message was issued at {issued}; the time is {}", against.now);
        return Err(Refusal::new(Reason::IssueInstant, detail));
    }
    Ok(children)
}

/// Reads a LogoutRequest.
pub(super) fn request(root: Node<'_, '_>, against: &Against<'_>) -> Result<LogoutRequest, Refusal> {
    let mut children = addressed(root, against)?;
    if let Some(end) = time(root, "NotOnOrAfter")?.filter(|end| against.now >= end.plus_millis(SKEW_MILLIS)) {
        let detail = format!("NotOnOrAfter was {end}; the time is {}", against.now);
        return Err(Refusal::new(Reason::OutsideTime, detail));
    }
    let order = || unexpected("a LogoutRequest must have a NameID or EncryptedID after its Issuer");
    let subject = children.next().ok_or_else(order)?;
    let subject = name_id::read(subject, against.keys)?.ok_or_else(order)?;
    if subject.name_id.trim().is_empty() {
        return Err(unexpected("the NameID is empty"));
    }
    let mut session_indexes: Vec<String> = Vec::new();
    for node in children {
        if !is(node, SAMLP, "SessionIndex") {
            let name = node.tag_name().name();
            return Err(unexpected(format!("unexpected {name} in a LogoutRequest")));
        }
        let index = only_text(node)?;
        if session_indexes.iter().any(|known| known == index) {
            continue;
        }
        if session_indexes.len() == MAX_INDEXES {
            let detail = format!("more than {MAX_INDEXES} SessionIndex values");
            return Err(Refusal::new(Reason::OutOfBounds, detail));
        }
        session_indexes.push(index.to_owned());
    }
    Ok(LogoutRequest {
        id: attribute(root, "ID").unwrap_or_default().to_owned(),
        remember_until: against.now.plus_millis(LIFETIME_MILLIS + 4 * SKEW_MILLIS),
        name_id: subject.name_id,
        session_indexes,
        relay_state: None,
    })
}

/// Reads a LogoutResponse.
pub(super) fn response(root: Node<'_, '_>, against: &Against<'_>) -> Result<LogoutResponse, Refusal> {
    let mut children = addressed(root, against)?;
    let status = children.next().filter(|node| is(*node, SAMLP, "Status"));
    let status = status.ok_or_else(|| unexpected("a LogoutResponse must have a Status after its Issuer"))?;
    if let Some(other) = children.next() {
        let name = other.tag_name().name();
        return Err(unexpected(format!("unexpected {name} in a LogoutResponse")));
    }
    let code = elements(status).next().filter(|node| is(*node, SAMLP, "StatusCode"));
    let code = code.ok_or_else(|| unexpected("a Status must begin with a StatusCode"))?;
    let second = elements(code).next().and_then(|inner| attribute(inner, "Value"));
    // A partial logout may be reported below a success.
    let is_success = attribute(code, "Value") == Some(super::outgoing::SUCCESS) && second.is_none();
    Ok(LogoutResponse { in_response_to: attribute(root, "InResponseTo").map(str::to_owned), is_success })
}

impl LogoutRequest {
    /// Returns the SHA-256 of the ID, by which to remember the request.
    pub fn id_hash(&self) -> [u8; 32] {
        sha256(self.id.as_bytes())
    }

    /// Returns the hash of the user; see [`IdpSession::subject_hash`].
    pub fn subject_hash(&self) -> [u8; 32] {
        sha256(self.name_id.as_bytes())
    }

    /// Returns the hashes of the sessions; see [`IdpSession::session_hash`].
    pub fn session_hashes(&self) -> Vec<[u8; 32]> {
        self.session_indexes.iter().map(|index| session_hash(&self.name_id, index)).collect()
    }
}

impl IdpSession {
    /// Returns the SHA-256 of the NameID's text, under which the session is found at logout. Identity providers do not
    /// repeat the attributes of the NameID reliably, and the text is unique at the provider.
    pub fn subject_hash(&self) -> [u8; 32] {
        sha256(self.name_id.as_bytes())
    }

    /// Returns the hash of NameID and SessionIndex. Sessions of several users may have the same SessionIndex (SAML core,
    /// section 2.7.2).
    pub fn session_hash(&self) -> Option<[u8; 32]> {
        self.session_index.as_ref().map(|index| session_hash(&self.name_id, index))
    }
}

fn session_hash(name_id: &str, index: &str) -> [u8; 32] {
    sha256([name_id, index].join("\0").as_bytes())
}
