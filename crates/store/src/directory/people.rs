//! People, stored in the same rows as SCIM users.

use async_trait::async_trait;
use diesel::{dsl, prelude::*, sql_types::Bool};
use diesel_async::RunQueryDsl;
use directory::{HeldRoles, PeopleQuery, PeopleStore, Person, PhoneNumber, Source, Tenant};
use kernel::{Email, StoreError, StoreResult, Timestamp, UserId};
use scim_core::{
    Filter, User, UserStore, fold,
    schema::{ENTERPRISE_USER, USERS},
};
use serde_json::{Map, Value, json};
use stepup::StepUpStore;

use crate::{
    Tx,
    db::{change, lock, read},
    directory::{
        held_roles::{AssignedRow, HeldRow, columns_of},
        tenants::TenantRow,
    },
    error::corrupt,
    prepared::{Kept, Prepared},
    schema::{tenants, user_roles, users},
    scim_core::{
        filter::{FilterScope, Kind, SqlCondition},
        users::UserRow,
    },
};

/// A user's row with the columns that SCIM does not have.
#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
struct PersonRow {
    #[diesel(embed)]
    user: UserRow,
    #[diesel(embed)]
    role: AssignedRow,
    break_glass: bool,
}

impl TryFrom<PersonRow> for Person {
    type Error = StoreError;

    fn try_from(row: PersonRow) -> StoreResult<Self> {
        let user = User::try_from(row.user)?;
        let source = if user.external_id.is_some() { Source::Scim } else { Source::Invited };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let phones = user.attributes.get("phoneNumbers").and_then(Value::as_array).into_iter().flatten();
        let phone_numbers = phones
            .filter_map(|phone| {
                let value = phone.get("value")?.as_str()?.to_owned();
                Some(PhoneNumber { value, kind: text(phone.get("type")) })
            })
            .collect();
        let enterprise = user.attributes.get(ENTERPRISE_USER.id);
        Ok(Self {
            email: user.sign_in_email(),
            display_name: text(user.attributes.get("displayName")),
            title: text(user.attributes.get("title")),
            department: text(enterprise.and_then(|members| members.get("department"))),
            phone_numbers,
            role: row.role.assigned()?,
            active: user.active,
            source,
            break_glass: row.break_glass,
            created_at: user.created,
            updated_at: user.last_modified,
            id: user.id,
            user_name: user.user_name,
        })
    }
}

/// Applies a person's attributes to the SCIM user. Attributes that a person does not have are kept.
fn apply_person(before: &User, person: &Person) -> User {
    let mut attributes = before.attributes.map().clone();
    set(&mut attributes, "displayName", person.display_name.as_deref());
    set(&mut attributes, "title", person.title.as_deref());
    let department = person.department.as_deref();
    if department.is_some() || attributes.contains_key(ENTERPRISE_USER.id) {
        let members = attributes.entry(ENTERPRISE_USER.id).or_insert_with(|| json!({}));
        if let Some(members) = members.as_object_mut() {
            set(members, "department", department);
            if members.is_empty() {
                attributes.remove(ENTERPRISE_USER.id);
            }
        }
    }
    let known = attributes.get("phoneNumbers").and_then(Value::as_array).cloned().unwrap_or_default();
    let same = |phone: &Value, number: &PhoneNumber| {
        phone.get("value").and_then(Value::as_str) == Some(&number.value)
            && phone.get("type").and_then(Value::as_str) == number.kind.as_deref()
    };
    let phones: Vec<Value> = person
        .phone_numbers
        .iter()
        .map(|number| {
            known.iter().find(|phone| same(phone, number)).cloned().unwrap_or_else(|| json!(number))
        })
        .collect();
    if phones.is_empty() {
        attributes.remove("phoneNumbers");
    } else {
        attributes.insert("phoneNumbers".into(), phones.into());
    }
    if person.email != before.sign_in_email()
        && let Some(email) = &person.email
    {
        set_sign_in_email(&mut attributes, email);
    }
    User {
        id: before.id.clone(),
        user_name: person.user_name.clone(),
        external_id: before.external_id.clone(),
        active: person.active,
        attributes: attributes.into(),
        created: before.created,
        last_modified: person.updated_at,
        groups: Vec::new(),
    }
}

fn set(members: &mut Map<String, Value>, name: &str, value: Option<&str>) {
    match value {
        Some(value) => members.insert(name.to_owned(), value.into()),
        None => members.remove(name),
    };
}

/// Sets the primary address, replacing the previous one.
fn set_sign_in_email(attributes: &mut Map<String, Value>, email: &Email) {
    let is = |email: &Value, name: &str| match name {
        "primary" => email.get("primary").and_then(Value::as_bool).unwrap_or_default(),
        _ => email.get("type").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("work")),
    };
    let mut emails = attributes.get("emails").and_then(Value::as_array).cloned().unwrap_or_default();
    let place = emails.iter().position(|email| is(email, "primary"));
    let place = place.or_else(|| emails.iter().position(|email| is(email, "work")));
    let place = place.or(if emails.is_empty() { None } else { Some(0) });
    let new = json!({ "value": email.as_str(), "type": "work", "primary": true });
    emails.retain(|kept| {
        kept.get("value").and_then(Value::as_str) != Some(email.as_str()) || is(kept, "primary")
    });
    match place.and_then(|place| emails.get_mut(place)) {
        Some(old) => *old = new,
        None => emails.push(new),
    }
    attributes.insert("emails".into(), emails.into());
}

/// Returns the filter for people with this text in a name or an address.
fn containing(text: &str) -> StoreResult<Filter> {
    let text = Value::from(text);
    let filter = format!("userName co {text} or displayName co {text} or emails.value co {text}");
    Filter::parse(&USERS, &filter).map_err(|_| StoreError::Aborted("the text cannot be searched for"))
}

/// Returns the condition for everything that SCIM cannot filter by.
fn restriction(query: &PeopleQuery) -> SqlCondition {
    let PeopleQuery { text: _, role, active, has_factor, source, uses_sso, group } = query;
    let mut out = SqlCondition::new();
    out.sql("1 = 1");
    if let Some(role) = role {
        let (role, other) = columns_of(role);
        out.sql(" AND users.role = ");
        out.text(role);
        match other {
            Some(other) => {
                out.sql(" AND users.other_role = ");
                out.text(other);
            }
            None if role == "MEMBER" => out.sql(" AND users.other_role IS NULL"),
            None => {}
        }
    }
    if let Some(active) = active {
        out.sql(if *active { " AND users.active = TRUE" } else { " AND users.active = FALSE" });
    }
    if let Some(source) = source {
        out.sql(match source {
            Source::Invited => " AND users.external_id IS NULL",
            Source::Scim => " AND users.external_id IS NOT NULL",
        });
    }
    let mut has = |wanted: Option<bool>, rows: &str| {
        if let Some(wanted) = wanted {
            let not = if wanted { "" } else { "NOT " };
            out.sql(&format!(" AND {not}EXISTS (SELECT 1 FROM {rows}"));
            out.sql(" AND mine.tenant_id = users.tenant_id AND mine.user_id = users.id)");
        }
    };
    has(*has_factor, "factors AS mine WHERE mine.verified_at IS NOT NULL");
    has(*uses_sso, "saml_subjects AS mine WHERE TRUE");
    if let Some(group) = group {
        out.sql(" AND EXISTS (SELECT 1 FROM group_members AS mine WHERE mine.group_id = ");
        out.text(group.as_str());
        out.sql(" AND mine.tenant_id = users.tenant_id AND mine.user_id = users.id)");
    }
    out.finish()
}

impl Tx {
    /// Writes the assigned role and the permission to sign in by password.
    async fn set_role(&mut self, person: &Person) -> StoreResult<()> {
        let row = user_roles::table.find((self.tenant.as_str(), person.id.as_str()));
        let (role, other) = columns_of(&person.role);
        let set = (
            user_roles::role.eq(role),
            user_roles::other_role.eq(other),
            user_roles::break_glass.eq(person.break_glass),
        );
        change!(self, c => Prepared(diesel::update(row).set(set)).execute(c).await)?;
        Ok(())
    }

    /// Returns those of these people who are not deleted, ordered by id.
    pub async fn people_of(&mut self, ids: &[UserId]) -> StoreResult<Vec<Person>> {
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            .filter(users::id.eq_any(ids.iter().map(UserId::as_str)))
            .filter(users::deleted_at.is_null())
            .order(users::id);
        let rows: Vec<PersonRow> = read!(self, c => query.select(PersonRow::as_select()).load(c).await)?;
        rows.into_iter().map(Person::try_from).collect()
    }

    /// Returns a person and the tenant with one statement.
    pub async fn person_with_tenant(&mut self, id: &UserId) -> StoreResult<Option<(Person, Tenant)>> {
        let query = users::table
            .inner_join(tenants::table.on(tenants::id.eq(users::tenant_id)))
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            .filter(users::id.eq(id.as_str()))
            .filter(users::deleted_at.is_null());
        let row: Option<(PersonRow, TenantRow)> = read!(self, c => Kept(query
            .select((PersonRow::as_select(), TenantRow::as_select()))
            .limit(1))
            .get_result(c).await.optional())?;
        row.map(|(person, tenant)| Ok((person.try_into()?, tenant.try_into()?))).transpose()
    }
}

#[async_trait]
impl PeopleStore for Tx {
    async fn insert_person(&mut self, person: &Person) -> StoreResult<bool> {
        let bare = User {
            id: person.id.clone(),
            user_name: person.user_name.clone(),
            external_id: None,
            active: person.active,
            attributes: Map::new().into(),
            created: person.created_at,
            last_modified: person.created_at,
            groups: Vec::new(),
        };
        let mut user = apply_person(&bare, person);
        if let Some(email) = &person.email {
            let mut attributes = user.attributes.into_map();
            set_sign_in_email(&mut attributes, email);
            user.attributes = attributes.into();
        }
        let (role, other) = columns_of(&person.role);
        let is_free = self.insert_user_as(&user, role).await?;
        if is_free && other.is_some() {
            self.set_role(person).await?;
        }
        Ok(is_free)
    }

    async fn person(&mut self, id: &UserId) -> StoreResult<Option<Person>> {
        let query =
            users::table.find((self.tenant.as_str(), id.as_str())).filter(users::deleted_at.is_null());
        let row: Option<PersonRow> = lock!(self, for_update, first, query.select(PersonRow::as_select()))?;
        row.map(Person::try_from).transpose()
    }

    async fn user_of_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            .filter(users::sign_in_email_key.eq(key))
            .select(users::id);
        let id: Option<String> = read!(self, c => query.first(c).await.optional())?;
        id.map(|id| id.parse().map_err(|error| corrupt("users.id", error))).transpose()
    }

    async fn people(
        &mut self,
        query: &PeopleQuery,
        after: Option<&UserId>,
        limit: i64,
    ) -> StoreResult<Vec<Person>> {
        let filter = query.text.as_deref().map(containing).transpose()?;
        let scope = FilterScope { kind: Kind::Users, dialect: self.db.dialect(), tenant: &self.tenant };
        let query = users::table
            .filter(scope.matching(filter.as_ref()))
            .filter(restriction(query))
            .filter(users::id.gt(after.map_or("", UserId::as_str)))
            .order(users::id)
            .limit(limit);
        let rows: Vec<PersonRow> = read!(self, c => query.select(PersonRow::as_select()).load(c).await)?;
        rows.into_iter().map(Person::try_from).collect()
    }

    async fn update_person(&mut self, before: &Person, after: &Person) -> StoreResult<bool> {
        let Some(user) = self.user_for_update(&before.id).await? else {
            return Err(StoreError::Aborted("the tenant has no user with this ID"));
        };
        let changed = apply_person(&user, after);
        let (old, new) = (user.sign_in_email(), changed.sign_in_email());
        if let Some(new) = new.filter(|new| old.as_ref().map(Email::key) != Some(new.key()))
            && self.user_of_sign_in_email(&new.key()).await?.is_some()
        {
            return Ok(false);
        }
        let renamed = fold(&user.user_name) != fold(&changed.user_name);
        if renamed && self.user_of_name(&fold(&changed.user_name)).await?.is_some() {
            return Ok(false);
        }
        self.update_user(&user, &changed).await?;
        if (&before.role, before.break_glass) != (&after.role, after.break_glass) {
            self.set_role(after).await?;
        }
        if before.role != after.role {
            self.void_invitations(&after.id).await?;
            // Step-up tokens were issued for the previous role.
            self.revoke_grants(&after.id, after.updated_at).await?;
        }
        Ok(true)
    }

    async fn delete_person(&mut self, person: &Person, at: Timestamp) -> StoreResult<()> {
        match self.user_for_update(&person.id).await? {
            Some(user) => self.delete_user(&user, at).await,
            None => Err(StoreError::Aborted("the tenant has no user with this ID")),
        }
    }

    async fn held_roles(&mut self, person: &Person) -> StoreResult<HeldRoles> {
        let query = users::table.find((self.tenant.as_str(), person.id.as_str()));
        let row: Option<HeldRow> =
            read!(self, c => query.select(HeldRow::of(&self.tenant)).first(c).await.optional())?;
        row.ok_or(StoreError::Aborted("the tenant has no user with this ID"))?.held()
    }

    async fn another_admin(&mut self, than: &UserId) -> StoreResult<bool> {
        let tenant = tenants::table.find(self.tenant.as_str()).select(tenants::id);
        let _locked: Option<String> = lock!(self, for_update, first, tenant)?;
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            // A literal instead of a parameter, so that the planner can use the partial index on administrators.
            .filter(dsl::sql::<Bool>("users.role = 'ADMIN'"))
            .filter(users::active.eq(true))
            .filter(users::deleted_at.is_null())
            .filter(users::id.ne(than.as_str()))
            .select(users::id);
        let other: Option<String> = read!(self, c => query.first(c).await.optional())?;
        Ok(other.is_some())
    }
}
