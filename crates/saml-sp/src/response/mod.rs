//! Validates responses step by step.

mod claims;
mod conditions;
mod count;
mod email;
mod structure;

use kernel::Timestamp;

pub(crate) use self::claims::time;
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
    test_report::{TestReport, TestedResponse},
    xml::{self, SAML, attribute},
};

/// Maximum length of the form field, in characters.
pub const MAX_RESPONSE: usize = encode::MAX_FIELD;
/// The allowed clock skew.
pub(crate) const SKEW_MILLIS: i64 = 60_000;

/// The context that a response is validated in.
pub struct Against<'a> {
    /// The expected identity provider.
    pub provider: &'a Provider,
    /// The expected recipient and audience.
    pub service: &'a ServiceProvider,
    /// The key pairs for decryption.
    pub keys: &'a [KeyPair],
    /// Current time.
    pub now: Timestamp,
}

/// The result of validating a response.
#[derive(Debug)]
pub struct Examined {
    /// The unverified InResponseTo, only used to find the connection test to report to.
    pub says_it_answers: Option<RequestId>,
    /// The checks that passed.
    pub passed: Vec<Step>,
    /// The signed claims, even if a later check failed.
    pub claims: Option<Verified<Claims>>,
    /// The answered request if all checks that need no storage passed, else the reason for rejection.
    pub outcome: Result<RequestId, Refusal>,
}

/// A response that passed all checks that need no storage.
#[derive(Debug)]
pub struct AcceptedResponse {
    /// The answered request.
    pub answers: RequestId,
    /// The signed claims.
    pub claims: Verified<Claims>,
    /// The checks that passed.
    pub passed: Vec<Step>,
}

/// A response that a check without storage refused.
#[derive(Debug)]
pub struct RefusedResponse {
    /// The unverified InResponseTo.
    pub in_response_to: Option<RequestId>,
    /// The signed claims, if the signature was verified.
    pub claims: Option<Verified<Claims>>,
    /// The checks that passed.
    pub passed: Vec<Step>,
    /// The reason for rejection.
    pub refusal: Refusal,
}

impl Examined {
    /// Separates accepted responses from refused ones.
    pub fn into_result(self) -> Result<AcceptedResponse, Box<RefusedResponse>> {
        let Self { says_it_answers: in_response_to, passed, claims, outcome } = self;
        let (claims, refusal) = match (outcome, claims) {
            (Ok(answers), Some(claims)) => return Ok(AcceptedResponse { answers, claims, passed }),
            (Ok(_), None) => (None, unchecked()),
            (Err(refusal), claims) => (claims, refusal),
        };
        Err(Box::new(RefusedResponse { in_response_to, claims, passed, refusal }))
    }
}

impl RefusedResponse {
    /// Returns the report of the connection test that the response belongs to.
    pub fn report(&self, now: Timestamp) -> TestReport {
        let response = TestedResponse {
            passed: &self.passed,
            claims: self.claims.as_ref().map(Verified::get),
            refusal: Some(&self.refusal),
            ..TestedResponse::default()
        };
        TestReport::new(response, now)
    }
}

fn unchecked() -> Refusal {
    Refusal::new(Reason::Missing, "the response was not checked")
}

/// Runs all checks of the form field `SAMLResponse` that need no storage. Takes about a millisecond of CPU and calls
/// C libraries, so run it outside the async threads.
pub fn examine(field: &str, against: &Against<'_>) -> Examined {
    let mut examined =
        Examined { says_it_answers: None, passed: Vec::new(), claims: None, outcome: Err(unchecked()) };
    examined.outcome = run(field, against, &mut examined);
    examined
}

fn run(field: &str, against: &Against<'_>, examined: &mut Examined) -> Result<RequestId, Refusal> {
    let text = encode::decode("SAMLResponse", field)?;
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
    let claims = assertion.read(|signed| claims::read(signed, against.keys))?;
    let verdict = match &outer {
        // The response must be read from the signed bytes.
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

/// The parts of a response that pinned certificates have signed.
struct SignedParts {
    /// The response, if it is signed as a whole.
    outer: Option<Verified<String>>,
    /// The assertion's source for claims.
    assertion: Verified<String>,
}

/// Returns the canonical bytes that claims are read from, signed by a pinned certificate. If response and assertion
/// are both signed, both signatures must be valid.
fn believed(
    text: &str,
    response: &structure::Response<'_, '_>,
    against: &Against<'_>,
    examined: &mut Examined,
) -> Result<SignedParts, Refusal> {
    let pinned = pinned(against)?;
    let outer = match response.signature {
        Some(signature) => Some(verify(text, response.root, signature, &pinned)?),
        None => None,
    };
    let node = response.assertion;
    let assertion = if xml::is(node, SAML, "Assertion") {
        let assertion = structure::assertion(node)?;
        match (assertion.signature, &outer) {
            // Verified in the original document, because the response's canonical form may lack namespaces that its
            // signature keeps.
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

/// Returns the pinned certificates that are valid now.
pub(crate) fn pinned<'a>(against: &Against<'a>) -> Result<Vec<&'a Certificate>, Refusal> {
    let all = &against.provider.idp.certificates;
    let pinned: Vec<&Certificate> = all.iter().filter(|one| one.is_valid_at(against.now)).collect();
    if pinned.is_empty() {
        let detail = format!("none of the {} pinned certificates is valid now", all.len());
        return Err(Refusal::new(Reason::NoCertificate, detail));
    }
    Ok(pinned)
}

/// Decrypts an assertion that is signed itself or contained in a signed response.
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
