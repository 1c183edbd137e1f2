//! LogoutRequests whose NameID is encrypted to us.

use std::io::Write as _;

use data_encoding::BASE64;
use flate2::{Compression, write::DeflateEncoder};
use openssl::sign::Signer;
use saml_sp::{Against, Incoming, LogoutRequest, Reason, examine_logout_request};

use crate::{
    factory::{SAML, SAML2, Swap, field, xmlns},
    keys::{IDP, NEXT, OTHER, OURS},
    seal::Seal,
    sign::{Hash, Signing},
    world::{IDP_ENTITY, NOW, WORLD},
};

const NAME_ID: &str = "<saml:NameID xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\">ada-1</saml:NameID>";

/// Returns a LogoutRequest with this subject.
fn request(subject: &str) -> String {
    format!(
        "<samlp:LogoutRequest{}{} ID=\"_l1\" Version=\"2.0\" IssueInstant=\"{}\" Destination=\"{}\"><saml:Issuer>{IDP_ENTITY}</saml:Issuer>{subject}<samlp:SessionIndex>s1</samlp:SessionIndex></samlp:LogoutRequest>",
        xmlns("samlp", "urn:oasis:names:tc:SAML:2.0:protocol"),
        xmlns("saml", SAML),
        *NOW,
        WORLD.service.slo_url,
    )
}

/// Returns the query of the HTTP-Redirect binding with this message, signed by OpenSSL.
fn query(xml: &str) -> String {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
    deflate.write_all(xml.as_bytes()).unwrap();
    let text = BASE64.encode(&deflate.finish().unwrap());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("SAMLRequest", &text);
    query.append_pair("SigAlg", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256");
    let signed = query.finish();
    let mut signer = Signer::new(Hash::Sha256.openssl(), &IDP.private).unwrap();
    let signature = BASE64.encode(&signer.sign_oneshot_to_vec(signed.as_bytes()).unwrap());
    let rest = form_urlencoded::Serializer::new(String::new()).append_pair("Signature", &signature).finish();
    format!("{signed}&{rest}")
}

/// Examines a request with this subject in both bindings, with the same outcome.
fn examined(subject: &str) -> Result<LogoutRequest, Reason> {
    let xml = request(subject);
    let against = Against { provider: &WORLD.provider, service: &WORLD.service, keys: &*OURS, now: *NOW };
    let examine = |incoming: Incoming<'_>| {
        let examined = examine_logout_request(incoming, &against);
        examined.map(|request| request.get().clone()).map_err(|refusal| refusal.reason)
    };
    let form = examine(Incoming::Field(&field(Signing::usual(SAML2.ds).sign(&xml, "_l1"))));
    assert_eq!(form, examine(Incoming::Query(&query(&xml))), "{subject}");
    form
}

#[test]
fn encrypted_name_id_is_read_in_both_bindings() {
    let plain = examined(NAME_ID).unwrap();
    assert_eq!((plain.name_id.as_str(), plain.session_indexes.as_slice()), ("ada-1", &["s1".to_owned()][..]));
    for recipient in &*OURS {
        let seal = Seal { recipients: vec![recipient.certificate.clone()], ..Seal::usual() };
        assert_eq!(examined(&seal.seal_id(NAME_ID)).unwrap(), plain);
    }
    assert_eq!(examined(&Seal { beside: true, ..Seal::usual() }.seal_id(NAME_ID)).unwrap(), plain);
}

#[test]
fn hostile_encrypted_name_ids_are_refused() {
    let sealed = |change: fn(&mut Seal), plain: &str| {
        let mut seal = Seal::usual();
        change(&mut seal);
        examined(&seal.seal_id(plain)).unwrap_err()
    };
    for (change, plain) in [
        ((|seal| seal.recipients = vec![OTHER.certificate.clone()]) as fn(&mut Seal), NAME_ID),
        (|seal| seal.recipients = vec![NEXT.certificate.clone()], NAME_ID),
        (|seal| seal.bend = |sealed| sealed[20] ^= 1, NAME_ID),
        (|seal| seal.bend_key = |secret| secret.truncate(8), NAME_ID),
        (|_| (), "not XML"),
    ] {
        assert_eq!(sealed(change, plain), Reason::Undecryptable, "{plain}");
    }
    let other = NAME_ID.all("NameID", "Issuer");
    let twice = Seal::usual().seal_id(&Seal::usual().seal_id(NAME_ID));
    for subject in [Seal::usual().seal_id(&other), twice] {
        examined(&subject).unwrap_err();
    }
}
