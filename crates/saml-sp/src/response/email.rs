//! Determines the email address in an assertion.

use kernel::Email;

use super::claims::{Claims, NameId};
use crate::{
    provider::Provider,
    refusal::{Reason, Refusal},
};

const ADDRESS: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";

/// Common names of email attributes.
const USUAL: [&str; 7] = [
    "email",
    "mail",
    "Email",
    "emailAddress",
    "emailaddress",
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
];

/// Returns the email address, which must be in one of the provider's domains.
pub(super) fn of(claims: &Claims, provider: &Provider) -> Result<Email, Refusal> {
    let (place, values) = match &provider.mapping.email {
        Some(name) => (format!("the attribute {name}"), values(claims, &[name])?),
        None => match &claims.name_id {
            Some(NameId { format: Some(format), value }) if format == ADDRESS => {
                ("the NameID".to_owned(), vec![value.clone()])
            }
            _ => ("the common email attributes".to_owned(), values(claims, &USUAL)?),
        },
    };
    let mut keys: Vec<String> = values.iter().map(|value| value.to_ascii_lowercase()).collect();
    keys.sort();
    keys.dedup();
    let received = || claims.attributes.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let text = match (values.first(), keys.len()) {
        (Some(text), 1) => text,
        (Some(_), _) => {
            return Err(Refusal::new(
                Reason::ManyEmails,
                format!("{place}: {} values that differ", values.len()),
            ));
        }
        (None, _) => {
            let detail = format!("there is no email address in {place}; attributes received: {}", received());
            return Err(Refusal::new(Reason::NoEmail, detail));
        }
    };
    let malformed =
        || Refusal::new(Reason::BadEmail, format!("the value in {place} is not an email address"));
    let email: Email = text.parse().map_err(|_| malformed())?;
    let (_, domain) = email.as_str().rsplit_once('@').ok_or_else(malformed)?;
    if !provider.email_domains.iter().any(|known| domain.eq_ignore_ascii_case(known.as_str())) {
        let detail = format!("{domain} is not a domain of this SSO connection");
        return Err(Refusal::new(Reason::ForeignDomain, detail));
    }
    Ok(email)
}

/// Returns all values of the attributes with these names. Fails if one is not plain text.
fn values(claims: &Claims, names: &[&str]) -> Result<Vec<String>, Refusal> {
    let wanted = claims.attributes.iter().filter(|attribute| names.contains(&attribute.name.as_str()));
    let text = |value: &Option<String>| {
        let odd =
            || Refusal::new(Reason::MixedText, "a value of the email attribute contains more than text");
        value.clone().ok_or_else(odd)
    };
    wanted.flat_map(|attribute| &attribute.values).map(text).collect()
}
