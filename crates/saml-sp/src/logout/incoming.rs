//! Validates logout messages of identity providers.

use roxmltree::Node;

use super::{LogoutRequest, LogoutResponse, read};
use crate::{
    binding::Incoming,
    encode, message,
    redirect::SignedQuery,
    refusal::{Reason, Refusal},
    response::{Against, pinned},
    signature::{Verified, is_signature, shape, verify, verify_query},
    xml::{self, SAMLP, attribute, elements, is},
};

/// Validates a LogoutRequest: `SAMLRequest` in a form or a query. Takes about a millisecond of CPU and calls C libraries, so
/// run it outside the async threads.
pub fn examine_logout_request(
    incoming: Incoming<'_>,
    against: &Against<'_>,
) -> Result<Verified<LogoutRequest>, Refusal> {
    let (signed, relay_state) = signed(incoming, ("SAMLRequest", "LogoutRequest"), against)?;
    signed.read(|text| {
        let request = read::request(root(&xml::parse(text)?, "LogoutRequest")?, against)?;
        Ok(LogoutRequest { relay_state, ..request })
    })
}

/// Validates a LogoutResponse, like [`examine_logout_request`]. The host compares InResponseTo with its request.
pub fn examine_logout_response(
    incoming: Incoming<'_>,
    against: &Against<'_>,
) -> Result<Verified<LogoutResponse>, Refusal> {
    let (signed, _) = signed(incoming, ("SAMLResponse", "LogoutResponse"), against)?;
    signed.read(|text| read::response(root(&xml::parse(text)?, "LogoutResponse")?, against))
}

/// Returns the root element of a message with the right name.
fn root<'a, 'i>(tree: &'a roxmltree::Document<'i>, name: &str) -> Result<Node<'a, 'i>, Refusal> {
    let root = tree.root_element();
    if !is(root, SAMLP, name) || attribute(root, "Version") != Some("2.0") {
        let detail = format!("the root element is {}, not a SAML 2.0 {name}", root.tag_name().name());
        return Err(Refusal::new(Reason::NotALogout, detail));
    }
    if attribute(root, "ID").is_none() {
        return Err(Refusal::new(Reason::BadId, format!("a {name} must have an ID")));
    }
    Ok(root)
}

/// Returns the text of a message that a pinned certificate has signed, and the RelayState of a query.
fn signed(
    incoming: Incoming<'_>,
    (field, name): (&'static str, &str),
    against: &Against<'_>,
) -> Result<(Verified<String>, Option<String>), Refusal> {
    match incoming {
        Incoming::Query(query) => {
            let mut query = SignedQuery::read(query, field)?;
            let relay_state = query.relay_state.take();
            let tree = xml::parse(&query.message)?;
            message::check(root(&tree, name)?, [None, None])?;
            drop(tree);
            Ok((verify_query(query, &pinned(against)?)?, relay_state))
        }
        Incoming::Field(text) => {
            let text = encode::decode(field, text)?;
            let tree = xml::parse(&text)?;
            let root = root(&tree, name)?;
            let signature = elements(root).nth(1).filter(|node| is_signature(*node));
            message::check(root, [signature, None])?;
            let unsigned = || Refusal::new(Reason::Unsigned, format!("the {name} is not signed"));
            let signature = signature.ok_or_else(unsigned)?;
            shape(root, signature)?;
            Ok((verify(&text, root, signature, &pinned(against)?)?, None))
        }
    }
}
