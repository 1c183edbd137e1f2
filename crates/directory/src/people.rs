//! People in a tenant: their profiles and roles.

use std::str::FromStr;

use kernel::{Ctx, Email, GroupId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    role::{HeldRoles, Role},
    store::PeopleStore,
};

/// Maximum number of characters of a person's names and titles.
const TEXT_MAX: usize = 200;
/// Maximum number of telephone numbers per person.
const MAX_PHONES: usize = 10;

/// Where a person's account comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Source {
    /// Invited, or created by the operator.
    Invited,
    /// Managed by the directory of the tenant: it assigned an external ID over SCIM.
    Scim,
}

impl Source {
    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invited => "INVITED",
            Self::Scim => "SCIM",
        }
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Invited, Self::Scim].into_iter().find(|source| source.as_str() == text);
        known.ok_or_else(|| format!("write INVITED or SCIM, not {text}"))
    }
}

/// Which people to list. `None` does not restrict the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeopleQuery {
    /// Text in the user name, the display name or an email address. Case is ignored.
    pub text: Option<String>,
    /// See [`Person::role`].
    pub role: Option<Role>,
    /// See [`Person::active`].
    pub active: Option<bool>,
    /// Whether the person has a verified second factor.
    pub has_factor: Option<bool>,
    /// See [`Person::source`].
    pub source: Option<Source>,
    /// Whether the person has signed in through an identity provider that sends persistent NameIDs.
    pub uses_sso: Option<bool>,
    /// A group that the person is a member of.
    pub group: Option<GroupId>,
}

impl PeopleQuery {
    /// Returns whether a person who is in these groups, and has no factor and no identity provider, matches.
    pub fn matches(&self, person: &Person, groups: &[GroupId]) -> bool {
        let Self { text, role, active, has_factor, source, uses_sso, group } = self;
        let names = [Some(person.user_name.as_str()), person.display_name.as_deref()];
        let mut names = names.into_iter().chain([person.email.as_ref().map(Email::as_str)]).flatten();
        let text = text.as_ref().map(|text| text.to_lowercase());
        text.is_none_or(|text| names.any(|name| name.to_lowercase().contains(&text)))
            && role.as_ref().is_none_or(|role| *role == person.role)
            && active.is_none_or(|active| active == person.active)
            && source.is_none_or(|source| source == person.source)
            && !has_factor.unwrap_or_default()
            && !uses_sso.unwrap_or_default()
            && group.as_ref().is_none_or(|group| groups.contains(group))
    }
}

/// A telephone number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PhoneNumber {
    /// The number to dial.
    pub value: String,
    /// The type of number, such as `work` or `mobile`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A person in the directory of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// `usr_…`
    pub id: UserId,
    /// The user name, which SCIM identifies the person by.
    pub user_name: String,
    /// The sign-in address, if there is one.
    pub email: Option<Email>,
    /// The name to display.
    pub display_name: Option<String>,
    /// The job title.
    pub title: Option<String>,
    /// The department.
    pub department: Option<String>,
    /// Telephone numbers in the order of importance.
    pub phone_numbers: Vec<PhoneNumber>,
    /// The assigned role. Rules may give others for groups and claims: see [`PeopleStore::held_roles`].
    pub role: Role,
    /// Whether they may sign in.
    pub active: bool,
    /// Where the account comes from.
    pub source: Source,
    /// Whether the person may use a password even if the tenant requires single sign-on.
    pub break_glass: bool,
    /// Creation time.
    pub created_at: Timestamp,
    /// When one of the fields above last changed.
    pub updated_at: Timestamp,
}

impl Person {
    /// Returns the name of the person's account: the address if there is one, otherwise the user name.
    pub fn account(&self) -> &str {
        self.email.as_ref().map_or(self.user_name.as_str(), Email::as_str)
    }

    /// Returns the name to show for the person: the display name if there is one, otherwise the account.
    pub fn name(&self) -> &str {
        self.display_name.as_deref().unwrap_or_else(|| self.account())
    }
}

/// The choices for a new person.
#[derive(Debug, Clone)]
pub struct NewPerson {
    /// User name and sign-in address.
    pub email: Email,
    /// The assigned role.
    pub role: Role,
    /// The name to display.
    pub display_name: Option<String>,
}

/// Changes of a profile. `None` keeps a field, `Some(None)` clears it.
#[derive(Debug, Clone, Default)]
pub struct ProfileChanges {
    /// See [`Person::display_name`].
    pub display_name: Option<Option<String>>,
    /// See [`Person::title`].
    pub title: Option<Option<String>>,
    /// See [`Person::department`].
    pub department: Option<Option<String>>,
    /// See [`Person::phone_numbers`].
    pub phone_numbers: Option<Vec<PhoneNumber>>,
}

/// Creates an active person in the tenant of `ctx`.
pub async fn create_person(ctx: &Ctx, store: &mut dyn PeopleStore, new: NewPerson) -> Result<Person, Error> {
    let display_name = new.display_name.map(|name| text("displayName", &name)).transpose()?;
    let person = Person {
        id: UserId::new(&*ctx.env),
        user_name: new.email.to_string(),
        email: Some(new.email),
        display_name,
        title: None,
        department: None,
        phone_numbers: Vec::new(),
        role: new.role,
        active: true,
        source: Source::Invited,
        break_glass: false,
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    if store.insert_person(&person).await? { Ok(person) } else { Err(Error::EmailTaken(person.user_name)) }
}

/// Returns the person with this id.
pub async fn find_person(store: &mut dyn PeopleStore, id: &UserId) -> Result<Person, Error> {
    store.person(id).await?.ok_or(Error::NotFound)
}

/// Returns the person with this id, to act on the account. Refuses people who have permissions that the acting person
/// lacks.
pub async fn find_to_act_on(
    store: &mut dyn PeopleStore,
    by: &HeldRoles,
    id: &UserId,
) -> Result<Person, Error> {
    let person = find_person(store, id).await?;
    let held = store.held_roles(&person).await?;
    if by.may_act_on(&held) { Ok(person) } else { Err(Error::MorePermissions) }
}

/// Changes a profile. Returns the changed person and the names of the changed fields.
pub async fn change_profile(
    ctx: &Ctx,
    store: &mut dyn PeopleStore,
    id: &UserId,
    changes: ProfileChanges,
) -> Result<(Person, Vec<String>), Error> {
    let before = find_person(store, id).await?;
    let mut after = Person { updated_at: ctx.now, ..before.clone() };
    let line = |name: &'static str, value: Option<String>| value.map(|value| text(name, &value)).transpose();
    if let Some(value) = changes.display_name {
        after.display_name = line("displayName", value)?;
    }
    if let Some(value) = changes.title {
        after.title = line("title", value)?;
    }
    if let Some(value) = changes.department {
        after.department = line("department", value)?;
    }
    if let Some(numbers) = changes.phone_numbers {
        after.phone_numbers = phones(numbers)?;
    }
    let differences = [
        ("displayName", before.display_name != after.display_name),
        ("title", before.title != after.title),
        ("department", before.department != after.department),
        ("phoneNumbers", before.phone_numbers != after.phone_numbers),
    ];
    let changed: Vec<_> =
        differences.iter().filter(|(_, differs)| *differs).map(|(name, _)| (*name).to_owned()).collect();
    if changed.is_empty() {
        return Ok((before, changed));
    }
    store.update_person(&before, &after).await?;
    Ok((after, changed))
}

/// Changes that administrators make to an account. `None` keeps a field.
#[derive(Debug, Clone, Default)]
pub struct AccountChanges {
    /// See [`Person::role`].
    pub role: Option<Role>,
    /// See [`Person::email`].
    pub email: Option<Email>,
    /// See [`Person::active`].
    pub active: Option<bool>,
}

/// Changes a person's role, address and permission to sign in, and returns the result. Writes nothing if nothing
/// changes.
pub async fn change_person(
    ctx: &Ctx,
    store: &mut dyn PeopleStore,
    before: &Person,
    changes: AccountChanges,
) -> Result<Person, Error> {
    let AccountChanges { role, email, active } = changes;
    let mut after = before.clone();
    after.role = role.unwrap_or_else(|| before.role.clone());
    after.active = active.unwrap_or(before.active);
    if let Some(email) = email {
        // If the user name is the old address, it follows the new one.
        if before.email.as_ref().is_some_and(|old| old.as_str() == before.user_name) {
            after.user_name = email.to_string();
        }
        after.email = Some(email);
    }
    if after == *before {
        return Ok(after);
    }
    after.updated_at = ctx.now;
    let was_admin = before.role == Role::Admin && before.active;
    let stays_admin = after.role == Role::Admin && after.active;
    if was_admin && !stays_admin && !store.another_admin(&before.id).await? {
        return Err(Error::LastAdmin);
    }
    let address = after.email.as_ref().map(ToString::to_string);
    if store.update_person(before, &after).await? {
        Ok(after)
    } else {
        Err(Error::EmailTaken(address.unwrap_or_default()))
    }
}

/// Deletes a person. Refuses if no other active administrator is left.
pub async fn delete_person(ctx: &Ctx, store: &mut dyn PeopleStore, person: &Person) -> Result<(), Error> {
    let is_admin = person.role == Role::Admin && person.active;
    if is_admin && !store.another_admin(&person.id).await? {
        return Err(Error::LastAdmin);
    }
    Ok(store.delete_person(person, ctx.now).await?)
}

fn text(name: &'static str, value: &str) -> Result<String, Error> {
    let value = value.trim();
    let length = value.chars().count();
    if (1..=TEXT_MAX).contains(&length) && !value.chars().any(char::is_control) {
        Ok(value.to_owned())
    } else {
        Err(Error::Text(name))
    }
}

fn phones(numbers: Vec<PhoneNumber>) -> Result<Vec<PhoneNumber>, Error> {
    let fits = |number: &PhoneNumber| {
        let short = |text: &str, most: usize| {
            let length = text.chars().count();
            (1..=most).contains(&length) && !text.chars().any(char::is_control)
        };
        short(&number.value, 64) && number.kind.as_deref().is_none_or(|kind| short(kind, 32))
    };
    if numbers.len() <= MAX_PHONES && numbers.iter().all(fits) { Ok(numbers) } else { Err(Error::Phones) }
}
