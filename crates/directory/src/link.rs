//! Links that are sent to people: an invitation, or a new start after a lost password.

use kernel::{Ctx, Email, StoreResult, Timestamp, UserId};

use crate::{
    people::{Person, Role},
    store::LinkStore,
};

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
///
/// A link is valid only for the address and the role it was issued for: both are kept with it and compared when it is
/// redeemed. A writer that changes a user and forgets the user's links cannot leave one that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// SHA-256 of its text.
    pub hash: [u8; 32],
    /// What it is for.
    pub kind: LinkKind,
    /// Whom it lets in.
    pub user: UserId,
    /// The sign-in address it was issued for, as [`Email::key`]; `None` for a user without one.
    pub email_key: Option<String>,
    /// The role it was issued for.
    pub role: Role,
    /// Creation time.
    pub created_at: Timestamp,
}

impl Link {
    /// A link for a person as they are now.
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

    /// When it ends.
    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus_millis(self.kind.hours() * HOUR)
    }

    /// Whether the person still is who the link was issued for: active, with the same address and role.
    pub fn is_for(&self, person: &Person) -> bool {
        person.active
            && self.user == person.id
            && self.email_key == person.email.as_ref().map(Email::key)
            && self.role == person.role
    }
}

/// Redeems the link of this hash for a person whose row is locked, once; `None` where the link is unknown, has ended, or was
/// issued for another address or role. A link that is refused stays as it was.
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
