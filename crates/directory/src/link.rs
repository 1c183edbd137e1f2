//! Invitation and reset links.

use kernel::{Ctx, Email, StoreResult, Timestamp, UserId};

use crate::{
    people::{Person, Role},
    store::LinkStore,
};

const HOUR: i64 = 60 * 60_000;

/// The purpose of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// To set the first password and sign in: 72 hours.
    Invitation,
    /// To set a new password: one hour.
    Reset,
}

impl LinkKind {
    /// Returns the stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invitation => "INVITATION",
            Self::Reset => "RESET",
        }
    }

    /// Parses a stored name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Invitation, Self::Reset].into_iter().find(|kind| kind.as_str() == text)
    }

    /// Returns the lifetime in hours.
    pub fn hours(self) -> i64 {
        match self {
            Self::Invitation => 72,
            Self::Reset => 1,
        }
    }
}

/// A stored link. Only the person has its text; storage finds it by the hash.
///
/// A link is valid only for the address and role that it was issued for. Both are stored with it and compared when it
/// is redeemed, so even a writer that changes a user without deleting the links leaves no valid link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    /// The purpose of the link.
    pub kind: LinkKind,
    /// The user that the link signs in.
    pub user: UserId,
    /// The sign-in address it was issued for, as [`Email::key`]; `None` for a user without one.
    pub email_key: Option<String>,
    /// The role it was issued for.
    pub role: Role,
    /// Creation time.
    pub created_at: Timestamp,
}

impl Link {
    /// Creates a link for a person's current address and role.
    pub fn new(hash: [u8; 32], kind: LinkKind, person: &Person, now: Timestamp) -> Self {
        Self {
            hash,
            kind,
            user: person.id.clone(),
            email_key: person.email.as_ref().map(Email::key),
            role: person.role,
            created_at: now,
        }
    }

    /// Returns when the link expires.
    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus_millis(self.kind.hours() * HOUR)
    }

    /// Whether the person still matches the link: active, with the same address and role.
    pub fn is_for(&self, person: &Person) -> bool {
        person.active
            && self.user == person.id
            && self.email_key == person.email.as_ref().map(Email::key)
            && self.role == person.role
    }
}

/// Redeems the link with this hash once, for a person whose row is locked. Returns `None` if the link is unknown,
/// expired, or was issued for another address or role. A refused link is not consumed.
pub async fn redeem_link(
    ctx: &Ctx,
    store: &mut dyn LinkStore,
    person: &Person,
    hash: &[u8; 32],
) -> StoreResult<Option<Link>> {
    let link = store.link(hash).await?;
    let Some(link) = link.filter(|link| ctx.now < link.expires_at() && link.is_for(person)) else {
        return Ok(None);
    };
    Ok(store.take_link(hash).await?.then_some(link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::Source;
    use kernel::{Env, ManualEnv};

    #[test]
    fn a_link_is_for_one_address_and_one_role() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let person = Person {
            id: UserId::new(&env),
            user_name: "ada".into(),
            email: Some("Ada@example.com".parse().unwrap()),
            display_name: None,
            title: None,
            department: None,
            phone_numbers: Vec::new(),
            role: Role::Member,
            active: true,
            source: Source::Invited,
            break_glass: false,
            created_at: env.now(),
            updated_at: env.now(),
        };
        let link = Link::new([1; 32], LinkKind::Invitation, &person, env.now());
        assert!(link.is_for(&person));
        assert!(link.is_for(&Person { email: Some("ada@EXAMPLE.com".parse().unwrap()), ..person.clone() }));
        for other in [
            Person { email: Some("lovelace@example.com".parse().unwrap()), ..person.clone() },
            Person { email: None, ..person.clone() },
            Person { role: Role::Admin, ..person.clone() },
            Person { active: false, ..person.clone() },
            Person { id: UserId::new(&env), ..person.clone() },
        ] {
            assert!(!link.is_for(&other), "{other:?}");
        }
    }
}
