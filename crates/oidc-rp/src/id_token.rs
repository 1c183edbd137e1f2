//! Validates ID tokens step by step (OpenID Connect Core, section 3.1.3.7).

use data_encoding::BASE64URL_NOPAD;
use kernel::{Secret, Timestamp, constant_time_eq};
use serde_json::Value;

use crate::{
    algorithm::Algorithm,
    claims::Claims,
    jws::{SignedToken, Verified},
    keys::KeySet,
    refusal::{Reason, Refusal, Step},
};

/// The allowed clock skew.
pub(crate) const SKEW_MILLIS: i64 = 60_000;
/// How long before the request a token may say it was issued. Entra dates tokens back by five minutes. That the token belongs
/// to the request follows from its nonce.
const BACKDATED_MILLIS: i64 = 600_000;

/// The values that an ID token must match.
#[derive(Clone, Copy)]
pub struct Expected<'e> {
    /// The issuer, compared exactly.
    pub issuer: &'e str,
    /// Our client ID.
    pub client_id: &'e str,
    /// The algorithms that the connection allows.
    pub algorithms: &'e [Algorithm],
    /// The nonce of the request.
    pub nonce: &'e str,
    /// When the request was created.
    pub requested_at: Timestamp,
    /// How long ago the user may have signed in, in seconds; `None` for any time. 0 requires a sign-in after the request,
    /// apart from the clock skew.
    pub max_age: Option<u32>,
    /// The accepted authentication context classes; empty for any.
    pub acr_values: &'e [String],
    /// Claims that must have one of these strings as their value. For Google, whose issuer is the same for all accounts,
    /// require `hd`, and for the shared issuers of Entra `tid`.
    pub required_claims: &'e [(String, Vec<String>)],
    /// The code that was exchanged for the token.
    pub code: &'e Secret<String>,
    /// The access token that came with the ID token.
    pub access_token: &'e Secret<String>,
    /// Current time.
    pub now: Timestamp,
}

/// The result of validating an ID token.
#[derive(Debug)]
pub struct Examined {
    /// The checks that passed.
    pub passed: Vec<Step>,
    /// The reason for refusing the token.
    pub refusal: Option<Refusal>,
    claims: Option<Verified<Claims>>,
}

impl Examined {
    /// Returns the claims for display, also those of a refused token, if its signature is valid.
    pub fn shown_claims(&self) -> Option<&Claims> {
        self.claims.as_ref().map(Verified::get)
    }

    /// Returns the claims of a valid token, or the reason for refusing it.
    pub fn into_result(self) -> Result<Verified<Claims>, Refusal> {
        match (self.refusal, self.claims) {
            (None, Some(claims)) => Ok(claims),
            (Some(refusal), _) => Err(refusal),
            (None, None) => Err(Refusal::new(Reason::NoIdToken, "the token was not checked")),
        }
    }
}

/// Validates an ID token from the token endpoint.
pub fn examine(token: &str, keys: &KeySet, expected: &Expected<'_>) -> Examined {
    let mut examined = Examined { passed: Vec::new(), claims: None, refusal: None };
    examined.refusal = run(token, keys, expected, &mut examined).err();
    examined
}

fn run(token: &str, keys: &KeySet, expected: &Expected<'_>, examined: &mut Examined) -> Result<(), Refusal> {
    let token = SignedToken::parse(token, &["JWT"])?;
    examined.passed.push(Step::Structure);
    let payload = match token.verify(keys, expected.algorithms) {
        // The payload is read after its signature was verified.
        Err(refusal) if refusal.step() == Step::Claims => {
            examined.passed.push(Step::Signature);
            return Err(refusal);
        }
        other => other?,
    };
    examined.passed.push(Step::Signature);
    let algorithm = payload.get().algorithm;
    let verified = payload.read(|signed| Claims::read(signed.members))?;
    let claims = examined.claims.insert(verified).get();
    examined.passed.push(Step::Claims);
    for (step, check) in CHECKS {
        check(claims, expected, algorithm)?;
        examined.passed.push(step);
    }
    Ok(())
}

type Check = fn(&Claims, &Expected<'_>, Algorithm) -> Result<(), Refusal>;

const CHECKS: [(Step, Check); 4] = [
    (Step::Addressing, check_addressing),
    (Step::Validity, check_validity),
    (Step::Binding, check_binding),
    (Step::Authentication, check_authentication),
];

fn check_addressing(claims: &Claims, expected: &Expected<'_>, _: Algorithm) -> Result<(), Refusal> {
    if claims.issuer != expected.issuer {
        let detail = format!("iss is {:?}, not {:?}", claims.issuer, expected.issuer);
        return Err(Refusal::new(Reason::Issuer, detail));
    }
    // Other audiences would have to be trusted (OpenID Connect Core, section 3.1.3.7, number 3). We trust none.
    if claims.audiences.as_slice() != [expected.client_id] {
        let detail = format!("aud is {:?}, not {:?} alone", claims.audiences, expected.client_id);
        return Err(Refusal::new(Reason::Audience, detail));
    }
    if let Some(party) = claims.authorized_party.as_ref().filter(|party| *party != expected.client_id) {
        let detail = format!("azp is {party:?}, not {:?}", expected.client_id);
        return Err(Refusal::new(Reason::AuthorizedParty, detail));
    }
    for (name, accepted) in expected.required_claims {
        let found = claims.all.get(name).and_then(Value::as_str);
        if !found.is_some_and(|found| accepted.iter().any(|one| one == found)) {
            let detail = format!("{name} is {found:?}; required is one of {accepted:?}");
            return Err(Refusal::new(Reason::RequiredClaim, detail));
        }
    }
    Ok(())
}

fn check_validity(claims: &Claims, expected: &Expected<'_>, _: Algorithm) -> Result<(), Refusal> {
    let latest = expected.now.plus_millis(SKEW_MILLIS);
    if claims.expires_at.plus_millis(SKEW_MILLIS) <= expected.now {
        return Err(Refusal::new(Reason::Expired, format!("exp is {}", claims.expires_at)));
    }
    if let Some(start) = claims.not_before.filter(|start| *start > latest) {
        return Err(Refusal::new(Reason::NotYetValid, format!("nbf is {start}")));
    }
    let earliest = expected.requested_at.plus_millis(-BACKDATED_MILLIS);
    if claims.issued_at > latest || claims.issued_at < earliest {
        let detail = format!(
            "iat is {}; the request is of {}, and it is {} now",
            claims.issued_at, expected.requested_at, expected.now
        );
        return Err(Refusal::new(Reason::IssuedAt, detail));
    }
    if let Some(end) = claims.session_ends.filter(|end| *end <= expected.now) {
        return Err(Refusal::new(Reason::SessionOver, format!("session_expiry is {end}")));
    }
    Ok(())
}

fn check_binding(claims: &Claims, expected: &Expected<'_>, algorithm: Algorithm) -> Result<(), Refusal> {
    let found = match &claims.nonce {
        Some(nonce) if constant_time_eq(nonce.as_bytes(), expected.nonce.as_bytes()) => None,
        Some(_) => Some("of another request"),
        None => Some("missing"),
    };
    if let Some(found) = found {
        return Err(Refusal::new(Reason::Nonce, format!("nonce is {found}")));
    }
    for (name, hash, value) in [
        ("at_hash", &claims.access_token_hash, expected.access_token),
        ("c_hash", &claims.code_hash, expected.code),
    ] {
        let computed = BASE64URL_NOPAD.encode(&algorithm.half_hash(value.expose()));
        if hash.as_ref().is_some_and(|hash| *hash != computed) {
            return Err(Refusal::new(Reason::Hash, format!("{name} does not match the token response")));
        }
    }
    Ok(())
}

fn check_authentication(claims: &Claims, expected: &Expected<'_>, _: Algorithm) -> Result<(), Refusal> {
    let latest = expected.now.plus_millis(SKEW_MILLIS);
    if let Some(auth_time) = claims.auth_time.filter(|auth_time| *auth_time > latest) {
        return Err(Refusal::new(Reason::AuthTime, format!("auth_time is {auth_time}, in the future")));
    }
    if let Some(max_age) = expected.max_age {
        let Some(auth_time) = claims.auth_time else {
            let detail = "auth_time is missing, although the request had max_age";
            return Err(Refusal::new(Reason::AuthTime, detail));
        };
        let oldest = if max_age == 0 {
            expected.requested_at
        } else {
            expected.now.plus_millis(-1000 * i64::from(max_age))
        };
        if auth_time < oldest.plus_millis(-SKEW_MILLIS) {
            let detail = format!("auth_time is {auth_time}; the request had max_age {max_age}");
            return Err(Refusal::new(Reason::AuthTime, detail));
        }
    }
    let is_accepted = claims.acr.as_ref().is_some_and(|acr| expected.acr_values.contains(acr));
    if !expected.acr_values.is_empty() && !is_accepted {
        let detail = format!("acr is {:?}; accepted are {:?}", claims.acr, expected.acr_values);
        return Err(Refusal::new(Reason::Acr, detail));
    }
    Ok(())
}
