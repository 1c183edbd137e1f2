//! Checks the structure of responses and assertions before any cryptography.

use roxmltree::Node;

use crate::{
    message,
    refusal::{Reason, Refusal},
    signature::{is_signature, shape},
    xml::{SAML, SAMLP, attribute, elements, is},
};

/// A response with valid structure.
pub(super) struct Response<'a, 'i> {
    pub(super) root: Node<'a, 'i>,
    pub(super) issuer: Option<Node<'a, 'i>>,
    pub(super) signature: Option<Node<'a, 'i>>,
    /// `Assertion` or `EncryptedAssertion`.
    pub(super) assertion: Node<'a, 'i>,
}

/// An assertion with valid structure.
pub(super) struct Assertion<'a, 'i> {
    pub(super) root: Node<'a, 'i>,
    pub(super) issuer: Node<'a, 'i>,
    pub(super) signature: Option<Node<'a, 'i>>,
    pub(super) subject: Node<'a, 'i>,
    pub(super) conditions: Option<Node<'a, 'i>>,
    pub(super) authn: Vec<Node<'a, 'i>>,
    pub(super) attributes: Vec<Node<'a, 'i>>,
}

fn unexpected(detail: impl AsRef<str>) -> Refusal {
    Refusal::new(Reason::UnexpectedElement, detail)
}

/// Checks a document whose root is a response.
pub(super) fn response<'a, 'i>(root: Node<'a, 'i>) -> Result<Response<'a, 'i>, Refusal> {
    if !is(root, SAMLP, "Response") || attribute(root, "Version") != Some("2.0") {
        let found = format!("the root element is {}, not a SAML 2.0 Response", root.tag_name().name());
        return Err(Refusal::new(Reason::NotAResponse, found));
    }
    let mut children = elements(root).peekable();
    let issuer = children.next_if(|node| is(*node, SAML, "Issuer"));
    let signature = children.next_if(|node| is_signature(*node));
    let _extensions = children.next_if(|node| is(*node, SAMLP, "Extensions"));
    let status = children.next_if(|node| is(*node, SAMLP, "Status"));
    let status = status.ok_or_else(|| {
        unexpected("a Response must have Issuer, Signature, Extensions and Status in this order")
    })?;
    // A response with a failure status is not read any further.
    successful(status)?;
    let assertion =
        children.next().filter(|node| is(*node, SAML, "Assertion") || is(*node, SAML, "EncryptedAssertion"));
    let one = || {
        Refusal::new(
            Reason::NotOneAssertion,
            "a Response must have exactly one Assertion or EncryptedAssertion after its Status",
        )
    };
    let assertion = assertion.ok_or_else(one)?;
    if children.next().is_some() || count_assertions(root) != 1 {
        return Err(one());
    }
    if signature.is_some() && issuer.is_none() {
        return Err(Refusal::new(
            Reason::MisplacedSignature,
            "a signed Response must have an Issuer before its Signature",
        ));
    }
    whole(root, [signature, signature_of(assertion)])?;
    if let Some(signature) = signature {
        shape(root, signature)?;
    }
    if is(assertion, SAML, "Assertion") {
        self::assertion(assertion)?;
    }
    Ok(Response { root, issuer, signature, assertion })
}

/// Checks a decrypted document, which must be exactly one assertion.
pub(super) fn lone_assertion<'a, 'i>(root: Node<'a, 'i>) -> Result<Assertion<'a, 'i>, Refusal> {
    if count_assertions(root) != 1 {
        return Err(Refusal::new(Reason::NotOneAssertion, "the decrypted text is not exactly one Assertion"));
    }
    whole(root, [signature_of(root), None])?;
    assertion(root)
}

/// Checks an assertion at any place in a document.
pub(super) fn assertion<'a, 'i>(root: Node<'a, 'i>) -> Result<Assertion<'a, 'i>, Refusal> {
    if !is(root, SAML, "Assertion") || attribute(root, "Version") != Some("2.0") {
        return Err(Refusal::new(Reason::NotOneAssertion, "not a SAML 2.0 Assertion"));
    }
    let order = || {
        unexpected(
            "an Assertion must have Issuer, Signature, Subject, Conditions, Advice and statements in this order",
        )
    };
    let mut children = elements(root).peekable();
    let issuer = children.next_if(|node| is(*node, SAML, "Issuer")).ok_or_else(order)?;
    let signature = children.next_if(|node| is_signature(*node));
    let subject = children.next_if(|node| is(*node, SAML, "Subject")).ok_or_else(order)?;
    let conditions = children.next_if(|node| is(*node, SAML, "Conditions"));
    let _advice = children.next_if(|node| is(*node, SAML, "Advice"));
    let (mut authn, mut attributes) = (Vec::new(), Vec::new());
    for statement in children {
        if is(statement, SAML, "AuthnStatement") {
            authn.push(statement);
        } else if is(statement, SAML, "AttributeStatement") {
            attributes.push(statement);
        } else {
            return Err(unexpected(format!("unexpected {} in an Assertion", statement.tag_name().name())));
        }
    }
    if let Some(signature) = signature {
        shape(root, signature)?;
    }
    Ok(Assertion { root, issuer, signature, subject, conditions, authn, attributes })
}

/// Returns the signature of an assertion if it is in the right position.
fn signature_of<'a, 'i>(assertion: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
    elements(assertion).nth(1).filter(|node| is_signature(*node) && is(assertion, SAML, "Assertion"))
}

/// Checks the IDs, signatures and text values of all elements in a document.
fn whole(root: Node<'_, '_>, signatures: [Option<Node<'_, '_>>; 2]) -> Result<(), Refusal> {
    message::check(root, signatures)?;
    // A signature refers to its parent by ID, so both must have one.
    let needs_id = [Some(root), root.descendants().find(|node| is(*node, SAML, "Assertion"))];
    if needs_id.into_iter().flatten().any(|node| attribute(node, "ID").is_none()) {
        return Err(Refusal::new(Reason::BadId, "a Response and an Assertion must have an ID"));
    }
    Ok(())
}

/// Counts all assertions, of any version and at any depth, including encrypted ones.
fn count_assertions(root: Node<'_, '_>) -> usize {
    let named = |node: &Node<'_, '_>| {
        node.is_element() && matches!(node.tag_name().name(), "Assertion" | "EncryptedAssertion")
    };
    root.descendants().filter(named).count()
}

/// Checks that the status is Success.
fn successful(status: Node<'_, '_>) -> Result<(), Refusal> {
    let mut children = elements(status);
    let code = children.next().filter(|node| is(*node, SAMLP, "StatusCode"));
    let code = code.ok_or_else(|| unexpected("a Status must begin with a StatusCode"))?;
    let value = attribute(code, "Value").unwrap_or_default();
    if value == "urn:oasis:names:tc:SAML:2.0:status:Success" {
        return Ok(());
    }
    // The status is not verified yet, so only codes of the standard are quoted.
    let known = |value: &&str| {
        let name = value.strip_prefix("urn:oasis:names:tc:SAML:2.0:status:");
        name.is_some_and(|name| name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_alphabetic()))
    };
    let second = elements(code).find_map(|inner| attribute(inner, "Value"));
    let told: Vec<&str> = [Some(value), second].into_iter().flatten().filter(known).collect();
    let said = format!(
        "the identity provider returned {}",
        if told.is_empty() { "a failure".into() } else { told.join(", ") }
    );
    Err(Refusal::new(Reason::NotSuccess, said))
}
