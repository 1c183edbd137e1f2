//! Verifies the signatures of messages in queries (SAML bindings, section 3.4.4.1).

use super::{
    Verified,
    shape::Algorithm,
    signer::{verify_der, verify_signature},
};
use crate::{
    certificate::Certificate,
    redirect::SignedQuery,
    refusal::{Reason, Refusal},
};

/// Returns the message of a query that one of these certificates has signed.
pub(crate) fn verify_query(query: SignedQuery, pinned: &[&Certificate]) -> Result<Verified<String>, Refusal> {
    let algorithm = Algorithm::read(&query.algorithm).ok_or_else(|| {
        let found: String = query.algorithm.chars().take(120).collect();
        Refusal::new(Reason::SignatureAlgorithm, format!("SigAlg: {found} is not supported"))
    })?;
    let fitting: Vec<_> = pinned.iter().copied().filter(|one| one.kind() == algorithm.kind()).collect();
    let signed = query.signed.as_bytes();
    let has_signed = |certificate: &Certificate| {
        verify_signature(algorithm, &query.value, signed, certificate).unwrap_or(false)
            // OpenSAML writes signatures of ECDSA as DER in queries, where no standard says how.
            || verify_der(algorithm, &query.value, signed, certificate).unwrap_or(false)
    };
    if !fitting.iter().copied().any(has_signed) {
        return Err(super::by_none("query", &fitting));
    }
    Ok(Verified(query.message))
}
