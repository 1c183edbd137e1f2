//! Links that are sent to people: an invitation, or a new start after a lost password.

use async_trait::async_trait;
use kernel::{StoreError, Timestamp, UserId};

const HOUR: i64 = 60 * 60_000;

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// To come in for the first time: 72 hours.
    Invitation,
    /// To set a new password: one hour.
    Reset,
}

impl LinkKind {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invitation => "INVITATION",
            Self::Reset => "RESET",
        }
    }

    /// From what is stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Invitation, Self::Reset].into_iter().find(|kind| kind.as_str() == text)
    }

    /// Hours that it is good for.
    pub fn hours(self) -> i64 {
        match self {
            Self::Invitation => 72,
            Self::Reset => 1,
        }
    }
}

/// What is kept of a link. Its text is with the person alone; it is found by the hash of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// SHA-256 of its text.
    pub hash: [u8; 32],
    /// What it is for.
    pub kind: LinkKind,
    /// Whom it lets in.
    pub user: UserId,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Link {
    /// When it ends.
    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus_millis(self.kind.hours() * HOUR)
    }
}

/// Where one tenant's links are kept.
#[async_trait]
pub trait LinkStore: Send {
    /// Keeps a new link in the place of all that the person had.
    async fn replace_links(&mut self, link: &Link) -> Result<(), StoreError>;
    /// The link of this hash.
    async fn link(&mut self, hash: &[u8; 32]) -> Result<Option<Link>, StoreError>;
    /// Takes a link away: of several who try at once one is told `true`.
    async fn take_link(&mut self, hash: &[u8; 32]) -> Result<bool, StoreError>;
    /// Takes all of a person's links away.
    async fn drop_links(&mut self, user: &UserId) -> Result<(), StoreError>;
}
