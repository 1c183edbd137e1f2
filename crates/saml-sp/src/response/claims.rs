//! Reads the claims of an assertion from verified bytes.

use kernel::Timestamp;
use roxmltree::Node;
use serde::{Deserialize, Serialize};

use super::structure;
use crate::{
    keys::KeyPair,
    logout::IdpSession,
    refusal::{Reason, Refusal},
    xml::{self, SAML, XSI, attribute, child, elements, is, named, only_text},
};

/// Maximum number of attributes.
const MAX_ATTRIBUTES: usize = 200;
/// Maximum number of values of all attributes together: more than the groups that any directory sends for one user.
pub const MAX_VALUES: usize = 10_000;

/// The content of a signed assertion, not yet checked against anything but the signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The assertion's ID, unique per issuer.
    pub id: String,
    /// The entity id of the issuer.
    pub issuer: String,
    /// The time of issue.
    pub issue_instant: Timestamp,
    /// NameID of the subject.
    pub name_id: Option<NameId>,
    /// The authentication context class of the first statement.
    pub authn_context: Option<String>,
    /// The session at the identity provider, to end it; `None` without a NameID, or with a blank one.
    pub session: Option<IdpSession>,
    /// The attributes of the subject.
    pub attributes: Vec<Attribute>,
    pub(crate) confirmations: Vec<Confirmation>,
    pub(crate) conditions: Option<Conditions>,
    pub(crate) authn: Vec<Authn>,
}

/// The NameID of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlNameId))]
pub struct NameId {
    /// `urn:oasis:names:tc:SAML:…:nameid-format:…`, if given.
    pub format: Option<String>,
    /// The full text of the NameID.
    pub value: String,
}

/// An attribute of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlAttribute))]
pub struct Attribute {
    /// Attribute name as the identity provider sends it.
    pub name: String,
    /// The values; null instead of a value that is not plain text.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub values: Vec<Option<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Confirmation {
    pub(crate) is_bearer: bool,
    pub(crate) recipient: Option<String>,
    pub(crate) has_not_before: bool,
    pub(crate) not_on_or_after: Option<Timestamp>,
    pub(crate) in_response_to: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conditions {
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) not_on_or_after: Option<Timestamp>,
    /// The audiences of each AudienceRestriction.
    pub(crate) audiences: Vec<Vec<String>>,
    /// The name of an unknown condition.
    pub(crate) unknown: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authn {
    pub(crate) instant: Timestamp,
    pub(crate) session_not_on_or_after: Option<Timestamp>,
    pub(crate) class: Option<String>,
    pub(crate) session_index: Option<String>,
}

/// Reads the claims of a verified document, which is a response with an assertion or an assertion alone. `keys` decrypt a
/// NameID.
pub(super) fn read(signed: &str, keys: &[KeyPair]) -> Result<Claims, Refusal> {
    let tree = xml::parse(signed)?;
    let root = tree.root_element();
    let assertion = if is(root, SAML, "Assertion") {
        structure::lone_assertion(root)?
    } else {
        structure::assertion(structure::response(root)?.assertion)?
    };
    let subject = name_id(assertion.subject, keys)?;
    let authn: Vec<Authn> = assertion.authn.iter().map(|node| statement(*node)).collect::<Result<_, _>>()?;
    Ok(Claims {
        id: attribute(assertion.root, "ID").unwrap_or_default().to_owned(),
        issuer: only_text(assertion.issuer)?.to_owned(),
        issue_instant: time(assertion.root, "IssueInstant")?
            .ok_or_else(|| Refusal::new(Reason::IssueInstant, "the Assertion has no IssueInstant"))?,
        name_id: subject
            .as_ref()
            .map(|subject| NameId { format: subject.format.clone(), value: subject.name_id.clone() }),
        session: subject.filter(|subject| !subject.name_id.trim().is_empty()).map(|subject| IdpSession {
            session_index: authn.iter().find_map(|one| one.session_index.clone()),
            ..subject
        }),
        authn_context: authn.first().and_then(|first| first.class.clone()),
        attributes: attributes(&assertion.attributes)?,
        confirmations: named(assertion.subject, SAML, "SubjectConfirmation")
            .map(confirmation)
            .collect::<Result<_, _>>()?,
        conditions: assertion.conditions.map(conditions).transpose()?,
        authn,
    })
}

/// Reads an attribute with a UTC timestamp.
pub(crate) fn time(node: Node<'_, '_>, name: &str) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = attribute(node, name) else { return Ok(None) };
    let read = text.ends_with('Z').then(|| text.parse().ok()).flatten();
    let malformed =
        || Refusal::new(Reason::OutsideTime, format!("{name} is {text}, which is not a UTC time"));
    read.map(Some).ok_or_else(malformed)
}

fn name_id(subject: Node<'_, '_>, keys: &[KeyPair]) -> Result<Option<IdpSession>, Refusal> {
    let is_id = |node: &Node<'_, '_>| is(*node, SAML, "NameID") || is(*node, SAML, "EncryptedID");
    let is_known = |node: &Node<'_, '_>| is_id(node) || is(*node, SAML, "SubjectConfirmation");
    if let Some(other) = elements(subject).find(|node| !is_known(node)) {
        let found = format!("unexpected {} in a Subject", other.tag_name().name());
        return Err(Refusal::new(Reason::UnexpectedElement, found));
    }
    let mut ids = elements(subject).filter(is_id);
    let Some(node) = ids.next() else { return Ok(None) };
    if ids.next().is_some() {
        return Err(Refusal::new(Reason::UnexpectedElement, "the Subject has two NameIDs"));
    }
    crate::name_id::read(node, keys)
}

fn confirmation(node: Node<'_, '_>) -> Result<Confirmation, Refusal> {
    let data = child(node, SAML, "SubjectConfirmationData");
    let text = |name: &str| data.and_then(|data| attribute(data, name)).map(str::to_owned);
    Ok(Confirmation {
        is_bearer: attribute(node, "Method") == Some("urn:oasis:names:tc:SAML:2.0:cm:bearer"),
        recipient: text("Recipient"),
        has_not_before: text("NotBefore").is_some(),
        not_on_or_after: match data {
            Some(data) => time(data, "NotOnOrAfter")?,
            None => None,
        },
        in_response_to: text("InResponseTo"),
    })
}

fn conditions(node: Node<'_, '_>) -> Result<Conditions, Refusal> {
    let (mut audiences, mut unknown) = (Vec::new(), None);
    for condition in elements(node) {
        let name = condition.tag_name().name();
        // An `xsi:type` may give a known element another meaning.
        let is_plain =
            condition.tag_name().namespace() == Some(SAML) && !condition.has_attribute((XSI, "type"));
        match name {
            "AudienceRestriction" if is_plain => {
                if let Some(other) = elements(condition).find(|child| !is(*child, SAML, "Audience")) {
                    unknown = Some(other.tag_name().name().to_owned());
                }
                let named = named(condition, SAML, "Audience").map(only_text);
                audiences.push(named.map(|text| text.map(str::to_owned)).collect::<Result<_, _>>()?);
            }
            // Every assertion is used only once and never passed on, so these conditions hold anyway.
            "OneTimeUse" | "ProxyRestriction" if is_plain => {}
            _ => unknown = Some(name.to_owned()),
        }
    }
    let (not_before, not_on_or_after) = (time(node, "NotBefore")?, time(node, "NotOnOrAfter")?);
    Ok(Conditions { not_before, not_on_or_after, audiences, unknown })
}

fn statement(node: Node<'_, '_>) -> Result<Authn, Refusal> {
    let class =
        child(node, SAML, "AuthnContext").and_then(|context| child(context, SAML, "AuthnContextClassRef"));
    let missing = || Refusal::new(Reason::NoAuthnStatement, "an AuthnStatement has no AuthnInstant");
    Ok(Authn {
        instant: time(node, "AuthnInstant")?.ok_or_else(missing)?,
        session_not_on_or_after: time(node, "SessionNotOnOrAfter")?,
        class: class.map(|class| only_text(class).map(str::to_owned)).transpose()?,
        session_index: attribute(node, "SessionIndex").map(str::to_owned),
    })
}

fn attributes(statements: &[Node<'_, '_>]) -> Result<Vec<Attribute>, Refusal> {
    let bound = |count: usize, most: usize, what: &str| {
        let refusal = || Refusal::new(Reason::OutOfBounds, format!("more than {most} {what}"));
        (count <= most).then_some(()).ok_or_else(refusal)
    };
    let (mut read, mut count): (Vec<Attribute>, usize) = (Vec::new(), 0);
    for node in statements.iter().flat_map(|statement| elements(*statement)) {
        if is(node, SAML, "EncryptedAttribute") {
            continue;
        }
        let name = attribute(node, "Name").filter(|_| is(node, SAML, "Attribute"));
        let name = name.ok_or_else(|| Refusal::new(Reason::UnexpectedElement, "an Attribute has no Name"))?;
        let values =
            named(node, SAML, "AttributeValue").map(|value| only_text(value).ok().map(str::to_owned));
        let values: Vec<_> = values.collect();
        count += values.len();
        bound(count, MAX_VALUES, "attribute values")?;
        // Repeated attributes are merged.
        if let Some(known) = read.iter_mut().find(|known| known.name == name) {
            known.values.extend(values);
            continue;
        }
        // Checked in the loop, because each name is compared with all previous ones.
        bound(read.len() + 1, MAX_ATTRIBUTES, "attributes")?;
        read.push(Attribute { name: name.to_owned(), values });
    }
    Ok(read)
}
