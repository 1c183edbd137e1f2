//! Responses: believed after every check, step by step.

mod claims;
mod conditions;
mod count;
mod email;
mod structure;

use kernel::Timestamp;

pub use self::{
    claims::{Attribute, Claims, MAX_VALUES, NameId},
    count::{CountedResponse, claim},
};
use crate::{
    certificate::Certificate,
    decrypt, encode,
    keys::KeyPair,
    provider::Provider,
    refusal::{Reason, Refusal, Step},
    request::RequestId,
    service::ServiceProvider,
    signature::{Verified, verify},
    xml::{self, SAML, attribute},
};

/// Characters of the form field at most.
pub const MAX_RESPONSE: usize = encode::MAX_FIELD;
/// Clocks may differ by so much.
pub(crate) const SKEW_MILLIS: i64 = 60_000;

/// What a response is examined against.
pub struct Against<'a> {
    /// Who it has to come from.
    pub provider: &'a Provider,
    /// Who it has to be for.
    pub service: &'a ServiceProvider,
    /// Key pairs that may decrypt the assertion.
    pub keys: &'a [KeyPair],
    /// Current time.
    pub now: Timestamp,
}

/// What became of a response.
#[derive(Debug)]
pub struct Examined {
    /// The request that it says it answers. Believed by nobody: it finds the trial that waits for a report.
    pub says_it_answers: Option<RequestId>,
    /// Checks that it passed.
    pub passed: Vec<Step>,
    /// What is signed, also where a later check failed.
    pub claims: Option<Verified<Claims>>,
    /// The request that it answers, if it passed all checks that need no storage; else why not.
    pub outcome: Result<RequestId, Refusal>,
}

/// Examines the form field `SAMLResponse`: all checks that need no storage. Costs a millisecond of CPU, and calls C
/// libraries: not for a thread that serves requests.
pub fn examine(field: &str, against: &Against<'_>) -> Examined {
    let mut examined = Examined {
        says_it_answers: None,
        passed: Vec::new(),
        claims: None,
        outcome: Err(Refusal::new(Reason::Missing, "nothing was looked at")),
    };
    examined.outcome = run(field, against, &mut examined);
    examined
}

fn run(field: &str, against: &Against<'_>, examined: &mut Examined) -> Result<RequestId, Refusal> {
    let text = encode::decode(field)?;
    examined.passed.push(Step::Encoding);
    let tree = xml::parse(&text)?;
    examined.passed.push(Step::Xml);
    examined.says_it_answers = attribute(tree.root_element(), "InResponseTo").and_then(|id| id.parse().ok());
    let response = match structure::response(tree.root_element()) {
        Err(refusal) if refusal.step() == Step::Status => {
            examined.passed.push(Step::Structure);
            return Err(refusal);
        }
        other => other?,
    };
    examined.passed.extend([Step::Structure, Step::Status]);
    let SignedParts { outer, assertion } = believed(&text, &response, against, examined)?;
    let claims = assertion.read(|signed| claims::read(signed))?;
    let verdict = match &outer {
        // What is signed is read as it was signed.
        Some(outer) => {
            let tree = xml::parse(outer.get())?;
            let response = structure::response(tree.root_element())?;
            conditions::check(&response, true, claims.get(), against, &mut examined.passed)
        }
        None => conditions::check(&response, false, claims.get(), against, &mut examined.passed),
    };
    examined.claims = Some(claims);
    verdict
}

/// What a pinned certificate has signed.
struct SignedParts {
    /// The response, if that is signed as a whole.
    outer: Option<Verified<String>>,
    /// What the assertion is read from.
    assertion: Verified<String>,
}

/// The bytes that claims are read from: canonical, and signed by a pinned certificate. If both are signed, both signatures
/// hold.
fn believed(
    text: &str,
    response: &structure::Response<'_, '_>,
    against: &Against<'_>,
    examined: &mut Examined,
) -> Result<SignedParts, Refusal> {
    let all = &against.provider.idp.certificates;
    let pinned: Vec<&Certificate> = all.iter().filter(|one| one.is_valid_at(against.now)).collect();
    if pinned.is_empty() {
        let detail = format!("none of the {} pinned certificates is valid now", all.len());
        return Err(Refusal::new(Reason::NoCertificate, detail));
    }
    let outer = match response.signature {
        Some(signature) => Some(verify(text, response.root, signature, &pinned)?),
        None => None,
    };
    let node = response.assertion;
    let assertion = if xml::is(node, SAML, "Assertion") {
        let assertion = structure::assertion(node)?;
        match (assertion.signature, &outer) {
            // In the document as it came: the canonical form of what is around it may lack declarations that it keeps.
            (Some(signature), _) => verify(text, assertion.root, signature, &pinned)?,
            (None, Some(outer)) => outer.clone(),
            (None, None) => return Err(unsigned()),
        }
    } else {
        match &outer {
            Some(outer) => {
                let tree = xml::parse(outer.get())?;
                let response = structure::response(tree.root_element())?;
                decrypted(response.assertion, Some(outer), against, &pinned, examined)?
            }
            None => decrypted(node, None, against, &pinned, examined)?,
        }
    };
    examined.passed.push(Step::Signature);
    Ok(SignedParts { outer, assertion })
}

/// An assertion that was encrypted: signed itself, or within a response that is.
fn decrypted(
    encrypted: roxmltree::Node<'_, '_>,
    outer: Option<&Verified<String>>,
    against: &Against<'_>,
    pinned: &[&Certificate],
    examined: &mut Examined,
) -> Result<Verified<String>, Refusal> {
    let plain = decrypt::assertion(encrypted, against.keys)?;
    let tree = xml::parse(&plain).map_err(|_| decrypt::failed())?;
    let lone = structure::lone_assertion(tree.root_element())?;
    examined.passed.push(Step::Decryption);
    match (lone.signature, outer) {
        (Some(signature), _) => verify(&plain, lone.root, signature, pinned),
        (None, Some(outer)) => outer.read(|_| Ok(plain.clone())),
        (None, None) => Err(unsigned()),
    }
}

fn unsigned() -> Refusal {
    Refusal::new(Reason::Unsigned, "neither the response nor the assertion is signed")
}
