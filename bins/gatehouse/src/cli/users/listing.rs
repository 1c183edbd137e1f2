//! `gatehouse user list` and `show`.

use credentials::{Factor, FactorStore, SignInStore};
use directory::{PeopleQuery, PeopleStore, Person};
use kernel::{Email, StoreError};
use serde_json::{Value, json};
use store::Tx;

use crate::cli::{
    operator::Operator,
    report::{Columns, Report, Result, details, listing, or_hyphen},
};

/// Users that are read at a time.
const PAGE: i64 = 500;

fn json_of(person: &Person) -> Value {
    json!({
        "id": person.id,
        "userName": person.user_name,
        "email": person.email.as_ref().map(Email::as_str),
        "displayName": person.display_name,
        "role": person.role.as_str(),
        "active": person.active,
        "breakGlass": person.break_glass,
        "createdAt": person.created_at,
    })
}

fn state(person: &Person) -> &'static str {
    if person.active { "active" } else { "disabled" }
}

pub(super) async fn list(tenant: &str, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let read = async |tx: &mut Tx| {
        let mut people: Vec<Person> = Vec::new();
        loop {
            let after = people.last().map(|person| person.id.clone());
            let page = PeopleStore::people(tx, &PeopleQuery::default(), after.as_ref(), PAGE).await?;
            if page.is_empty() {
                return Ok::<_, StoreError>(people);
            }
            people.extend(page);
        }
    };
    let people = office.store.read(tenant.id, read).await?;
    let columns: &Columns<'_, Person> = &[
        ("USER NAME", &|person| person.account().to_owned()),
        ("NAME", &|person| or_hyphen(person.display_name.as_ref())),
        ("ROLE", &|person| person.role.as_str().to_owned()),
        ("STATE", &|person| state(person).to_owned()),
        ("ID", &|person| person.id.to_string()),
    ];
    let empty = format!(
        "{0} has no users yet. Create one with: gatehouse user create --tenant {0} --email admin@example.com --role ADMIN",
        tenant.slug
    );
    Ok(listing("users", &people, json_of, columns, &empty))
}

pub(super) async fn show(tenant: &str, email: &Email, office: &Operator) -> Result<Report> {
    let (tenant, id) = office.user(tenant, email).await?;
    let read = async move |tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        let factors = FactorStore::factors(tx, &id).await?;
        let has_password = tx.password(&id).await?.is_some();
        Ok::<_, directory::Error>((person, factors, has_password))
    };
    let (person, factors, has_password) = office.store.read(tenant.id, read).await?;
    let verified: Vec<_> = factors.iter().filter(|factor| factor.verified_at.is_some()).collect();
    let named = |factor: &&Factor| format!("{} ({})", factor.name, factor.kind().as_str());
    let mut json = json_of(&person);
    if let Value::Object(members) = &mut json {
        members.insert("hasPassword".into(), has_password.into());
        let factor = |factor: &&Factor| json!({ "id": factor.id, "name": factor.name, "type": factor.kind().as_str() });
        members.insert("factors".into(), verified.iter().map(factor).collect());
    }
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let factors: Vec<_> = verified.iter().map(named).collect();
    let lines = details(&[
        ("ID", person.id.to_string()),
        ("User name", person.user_name.clone()),
        ("Email", or_hyphen(person.email.as_ref())),
        ("Name", or_hyphen(person.display_name.as_ref())),
        ("Role", person.role.as_str().to_owned()),
        ("State", state(&person).to_owned()),
        ("Break-glass", yes_or_no(person.break_glass)),
        ("Password", yes_or_no(has_password)),
        ("Factors", if factors.is_empty() { "-".to_owned() } else { factors.join(", ") }),
        ("Created", person.created_at.to_string()),
    ]);
    Ok(Report::new(json, lines))
}
