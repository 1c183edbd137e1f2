//! Invitation and reset links.

use kernel::{Ctx, Email, StoreResult, Timestamp, UserId};

use crate::{people::Person, role::HeldRoles, store::LinkStore};

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
/// A link is valid only for the address and the roles that it was issued for. Both are stored with it and compared when
/// it is redeemed, so that a person who may issue a link for a member gets no link that works after the
/// member has become an administrator.
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
    /// [`HeldRoles::mark`] of the roles it was issued for.
    pub roles: String,
    /// Creation time.
    pub created_at: Timestamp,
}

impl Link {
    /// Creates a link for a person's current address and roles.
    pub fn new(hash: [u8; 32], kind: LinkKind, person: &Person, held: &HeldRoles, now: Timestamp) -> Self {
        Self {
            hash,
            kind,
            user: person.id.clone(),
            email_key: person.email.as_ref().map(Email::key),
            roles: held.mark(),
            created_at: now,
        }
    }

    /// Returns when the link expires.
    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus_millis(self.kind.hours() * HOUR)
    }

    /// Whether the person still matches the link: active, with the same address and roles.
    pub fn is_for(&self, person: &Person, held: &HeldRoles) -> bool {
        person.active
            && self.user == person.id
            && self.email_key == person.email.as_ref().map(Email::key)
            && self.roles == held.mark()
    }
}

/// Redeems the link with this hash once, for a person whose row is locked. Returns `None` if the link is unknown,
/// expired, or was issued for another address or other roles. A refused link is not consumed.
pub async fn redeem_link(
    ctx: &Ctx,
    store: &mut dyn LinkStore,
    person: &Person,
    held: &HeldRoles,
    hash: &[u8; 32],
) -> StoreResult<Option<Link>> {
    let link = store.link(hash).await?;
    let Some(link) = link.filter(|link| ctx.now < link.expires_at() && link.is_for(person, held)) else {
        return Ok(None);
    };
    Ok(store.take_link(hash).await?.then_some(link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        people::Source,
        permission::{Permission, Permissions},
        role::Role,
    };
    use kernel::{Env, ManualEnv};

    #[test]
    fn a_link_is_for_one_address_and_one_set_of_roles() {
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
        let held = |role, given| HeldRoles::new(role, given, Permissions::NONE);
        let member = held(Role::Member, Vec::new());
        let link = Link::new([1; 32], LinkKind::Invitation, &person, &member, env.now());
        let other_case = Person { email: Some("ada@EXAMPLE.com".parse().unwrap()), ..person.clone() };
        assert!(link.is_for(&person, &member) && link.is_for(&other_case, &member));
        for other in [
            Person { email: Some("lovelace@example.com".parse().unwrap()), ..person.clone() },
            Person { email: None, ..person.clone() },
            Person { active: false, ..person.clone() },
            Person { id: UserId::new(&env), ..person.clone() },
        ] {
            assert!(!link.is_for(&other, &member), "{other:?}");
        }
        for roles in [
            held(Role::Admin, Vec::new()),
            held(Role::Member, vec![Role::Support]),
            HeldRoles::new(Role::Member, Vec::new(), Permissions::of(&[Permission::ReadAudit])),
        ] {
            assert!(!link.is_for(&person, &roles), "{roles:?}");
        }
    }
}
