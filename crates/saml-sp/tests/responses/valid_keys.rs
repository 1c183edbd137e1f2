//! Different signed elements and keys.

use crate::{
    factory::{BARE, Build, DEFAULT, SAML2, USUAL},
    keys::{ATTACKER, IDP, NEXT, P256, P384, P521, RSA_3072, RSA_4096},
    sign::{Hash, key_info},
    valid::Valid,
};

pub(crate) fn all() -> Vec<Valid> {
    let usual = Build::assertion_signed;
    let hashed = |hash: Hash| usual().signing(|signing| (signing.hash, signing.digest) = (hash, hash));
    let by = |key, hash: Hash| {
        usual().signing(|signing| {
            signing.by(key, hash);
            signing.digest = hash;
        })
    };
    let with_info = |info: &str| usual().signing(|signing| info.clone_into(&mut signing.key_info));
    vec![
        Valid::built("the assertion is signed", &usual()),
        Valid::built("the response is signed", &Build::response_signed()),
        Valid::built("both are signed", &Build::both_signed()),
        Valid::built("as Okta writes", &Build::signed(SAML2, true, true)),
        Valid::built("as Entra writes", &Build::signed(DEFAULT, true, false)),
        Valid::built("as Entra writes, both signed", &Build::signed(DEFAULT, true, true)),
        Valid::built("without prefixes", &Build::signed(BARE, true, false)),
        Valid::built("without prefixes, the response signed", &Build::signed(BARE, false, true)),
        Valid::built("SHA-384", &hashed(Hash::Sha384)),
        Valid::built("SHA-512", &hashed(Hash::Sha512)),
        Valid::built(
            "SHA-512 over a digest of SHA-256",
            &usual().signing(|signing| signing.hash = Hash::Sha512),
        ),
        Valid::built("RSA of 3072 bits", &by(&RSA_3072, Hash::Sha256)),
        Valid::built("RSA of 4096 bits", &by(&RSA_4096, Hash::Sha512)),
        Valid::built("ECDSA on P-256", &by(&P256, Hash::Sha256)),
        Valid::built("ECDSA on P-384", &by(&P384, Hash::Sha384)),
        Valid::built("ECDSA on P-521", &by(&P521, Hash::Sha512)),
        Valid::built("by the next certificate, which is pinned too", &by(&NEXT, Hash::Sha256)),
        Valid::built("no KeyInfo", &with_info("")),
        Valid::built("an empty KeyInfo", &with_info("<ds:KeyInfo></ds:KeyInfo>")),
        Valid::built(
            "a KeyInfo with a name",
            &with_info("<ds:KeyInfo><ds:KeyName>k1</ds:KeyName></ds:KeyInfo>"),
        ),
        // It is not evaluated, so it does no harm.
        Valid::built("a KeyInfo with another certificate", &with_info(&key_info("ds", &ATTACKER))),
        Valid::built(
            "a KeyInfo with its certificate twice",
            &with_info(&format!("{}<!-- -->", key_info("ds", &IDP)).replace("</ds:X509Data>", &{
                format!(
                    "<ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data>",
                    NEXT.certificate.base64()
                )
            })),
        ),
        Valid::of("signed by bergshamra", by_bergshamra()),
    ]
}

/// Returns a response signed by bergshamra from its own template.
fn by_bergshamra() -> String {
    let template = Build::signed(USUAL, true, false).signing(|signing| signing.key_info.clear()).xml();
    let empty = |text: String, element: &str| {
        let (start, end) = (format!("<ds:{element}>"), format!("</ds:{element}>"));
        let from = text.find(&start).unwrap() + start.len();
        let to = text.find(&end).unwrap();
        format!("{}{}", &text[..from], &text[to..])
    };
    let template = empty(empty(template, "DigestValue"), "SignatureValue");
    let pem = IDP.private.private_key_to_pem_pkcs8().unwrap();
    let mut keys = bergshamra::KeysManager::new();
    keys.add_key(bergshamra::keys::loader::load_rsa_private_pem(&pem).unwrap());
    bergshamra::sign(&bergshamra::DsigContext::new(keys), &template).unwrap()
}
