//! Persistent NameIDs: the identity provider's own identifier of a user, pinned at the first sign-in.
//!
//! An email address may be reassigned to another person; a persistent NameID (SAML core §8.3.7) may not. A response
//! with the right address but another persistent NameID is therefore rejected.

use crate::store::SubjectStore;
use std::fmt;

use data_encoding::HEXLOWER;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{
    id::ProviderId,
    refusal::{Reason, Refusal},
    request::sha256,
    response::Claims,
};

/// The NameID format that is pinned.
pub const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

/// SHA-256 of a persistent NameID. It is displayed truncated, which suffices to compare two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject([u8; 32]);

impl Subject {
    /// Returns the persistent NameID of an assertion; `None` if there is none or it is empty.
    pub fn of(claims: &Claims) -> Option<Self> {
        let name_id = claims.name_id.as_ref()?;
        let is_persistent = name_id.format.as_deref() == Some(PERSISTENT) && !name_id.value.trim().is_empty();
        is_persistent.then(|| Self::of_name_id(&name_id.value))
    }

    /// Returns the subject with this persistent NameID.
    pub fn of_name_id(value: &str) -> Self {
        Self(sha256(value.as_bytes()))
    }

    /// Returns the subject of an OpenID provider's user, which is unique together with the issuer.
    pub fn of_oidc(issuer: &str, subject: &str) -> Self {
        Self(sha256(&[issuer.as_bytes(), b"\0", subject.as_bytes()].concat()))
    }

    /// Reads a stored subject.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to store.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", HEXLOWER.encode(self.0.first_chunk::<8>().map_or(&[][..], |start| start)))
    }
}

/// A NameID pinned to a user at one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedSubject {
    /// The provider that issued the NameID.
    pub provider: ProviderId,
    /// Digest of the NameID.
    pub subject: Subject,
    /// When the subject was first seen.
    pub pinned_at: Timestamp,
}

/// The relation of a NameID to the user with the asserted address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectMatch {
    /// The NameID is the pinned one, or there is none to pin.
    Known,
    /// The NameID must be pinned if the sign-in succeeds.
    New(Subject),
}

/// Compares the NameID of an assertion with the one pinned to the user.
///
/// Once a NameID is pinned, responses without a persistent NameID are rejected too: the browser carries the request
/// for the format, so an attacker could change it.
pub async fn recognize(
    store: &mut dyn SubjectStore,
    provider: &ProviderId,
    user: &UserId,
    claims: &Claims,
) -> StoreResult<Result<SubjectMatch, Refusal>> {
    let found = recognize_subject(store, provider, user, Subject::of(claims)).await?;
    Ok(found.map_err(|conflict| Refusal::new(conflict.reason(), conflict.detail(user, "persistent NameID"))))
}

/// A subject contradicts the pinned ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectConflict {
    /// Another subject is pinned to the user.
    Changed {
        /// The pinned subject.
        pinned: PinnedSubject,
        /// The subject of the sign-in, if any.
        received: Option<Subject>,
    },
    /// The subject of the sign-in is pinned to another user.
    OfAnother {
        /// The subject of the sign-in.
        received: Subject,
        /// The user that it is pinned to.
        owner: UserId,
    },
}

impl SubjectConflict {
    fn reason(&self) -> Reason {
        match self {
            Self::Changed { .. } => Reason::SubjectChanged,
            Self::OfAnother { .. } => Reason::SubjectOfAnother,
        }
    }

    /// Explains the conflict about the subject, which the protocol calls `noun`, to an administrator.
    pub fn detail(&self, user: &UserId, noun: &str) -> String {
        match self {
            Self::Changed { pinned, received } => {
                let received = received.map_or_else(|| "none".to_owned(), |received| received.to_string());
                format!(
                    "the {noun} {} was pinned at {}, received: {received}. If the identity provider has renamed this \
                     user, remove the pinned subject of the user; the next sign-in pins the new one",
                    pinned.subject, pinned.pinned_at
                )
            }
            Self::OfAnother { received, owner } => {
                format!("the {noun} {received} is pinned to {owner}, but the email address belongs to {user}")
            }
        }
    }
}

/// Compares the subject of a sign-in with the one pinned to the user, whatever the protocol.
pub async fn recognize_subject<S: SubjectStore + ?Sized>(
    store: &mut S,
    provider: &ProviderId,
    user: &UserId,
    received: Option<Subject>,
) -> StoreResult<Result<SubjectMatch, SubjectConflict>> {
    let pinned = store.pinned_subjects(user).await?.into_iter().find(|pinned| pinned.provider == *provider);
    Ok(match (pinned, received) {
        (None, None) => Ok(SubjectMatch::Known),
        (Some(pinned), Some(received)) if pinned.subject == received => Ok(SubjectMatch::Known),
        (Some(pinned), received) => Err(SubjectConflict::Changed { pinned, received }),
        (None, Some(received)) => match store.subject_owner(provider, &received).await? {
            None => Ok(SubjectMatch::New(received)),
            Some(owner) => Err(SubjectConflict::OfAnother { received, owner }),
        },
    })
}
