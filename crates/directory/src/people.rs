//! People as the operator makes them.

use std::str::FromStr;

use async_trait::async_trait;
use kernel::{Ctx, Email, StoreError, Timestamp, UserId};
use serde::Serialize;

use crate::Error;

/// What a person may do in the tenant. SCIM never changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Role {
    /// Sets policies, reads the log, connects identity providers.
    Admin,
    /// Everybody else.
    Member,
}

impl Role {
    /// As written in the database, the API and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "ADMIN",
            Self::Member => "MEMBER",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Admin, Self::Member]
            .into_iter()
            .find(|role| role.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("write ADMIN or MEMBER, not {text}"))
    }
}

/// A person the operator makes: the user name is the e-mail address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// `usr_…`
    pub id: UserId,
    /// User name and sign-in address.
    pub email: Email,
    /// What the person may do.
    pub role: Role,
    /// When the person was made.
    pub created_at: Timestamp,
}

/// What the operator chooses.
#[derive(Debug, Clone)]
pub struct NewPerson {
    /// User name and sign-in address.
    pub email: Email,
    /// What the person may do.
    pub role: Role,
}

/// Where one tenant's people are kept.
#[async_trait]
pub trait PeopleStore: Send {
    /// Keeps a new, active person; `false` when the user name or the address is taken.
    async fn insert_person(&mut self, person: &Person) -> Result<bool, StoreError>;
}

/// Makes an active person in the tenant of `ctx`.
pub async fn create_person(ctx: &Ctx, store: &mut dyn PeopleStore, new: NewPerson) -> Result<Person, Error> {
    let person = Person { id: UserId::new(&*ctx.env), email: new.email, role: new.role, created_at: ctx.now };
    if store.insert_person(&person).await? {
        Ok(person)
    } else {
        Err(Error::EmailTaken(person.email.to_string()))
    }
}
