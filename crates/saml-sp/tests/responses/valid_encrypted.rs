//! Assertions that are encrypted to us.

use crate::{
    factory::{BARE, Build, DEFAULT, SAML2, Swap},
    keys::OURS,
    seal::{
        Content::{self, Aes128Gcm, Aes192Gcm, Aes256Gcm},
        Seal,
        Transport::{self, Mgf1p, Oaep},
    },
    sign::Hash,
    valid::Valid,
};

pub(crate) fn all() -> Vec<Valid> {
    let sealed = |content: Content, transport: Transport| {
        Build::encrypted().sealing(|seal| (seal.content, seal.transport) = (content, transport))
    };
    let in_style = |style, assertion: bool, response: bool| Build {
        sealed: Some(Seal::usual()),
        ..Build::signed(style, assertion, response)
    };
    let to = |recipients: &[usize]| {
        Build::encrypted().sealing(|seal| {
            seal.recipients = recipients.iter().map(|one| OURS[*one].certificate.clone()).collect();
        })
    };
    let sha1 = Some(Hash::Sha1);
    vec![
        Valid::built("AES-128-GCM, original OAEP", &sealed(Aes128Gcm, Mgf1p(None))),
        Valid::built("AES-192-GCM, original OAEP", &sealed(Aes192Gcm, Mgf1p(None))),
        Valid::built("AES-256-GCM, original OAEP", &sealed(Aes256Gcm, Mgf1p(None))),
        Valid::built("original OAEP, SHA-1 declared", &sealed(Aes256Gcm, Mgf1p(sha1))),
        Valid::built("original OAEP, SHA-256", &sealed(Aes256Gcm, Mgf1p(Some(Hash::Sha256)))),
        Valid::built("OAEP of 1.1, SHA-256 twice", &sealed(Aes256Gcm, Oaep(Hash::Sha256, Hash::Sha256))),
        Valid::built("OAEP of 1.1, SHA-256 and SHA-1", &sealed(Aes128Gcm, Oaep(Hash::Sha256, Hash::Sha1))),
        Valid::built(
            "OAEP of 1.1, SHA-512 and SHA-384",
            &sealed(Aes128Gcm, Oaep(Hash::Sha512, Hash::Sha384)),
        ),
        Valid::built("encrypted, the response signed", &in_style(SAML2, false, true)),
        Valid::built("encrypted, both signed", &in_style(SAML2, true, true)),
        Valid::built("encrypted, as Entra writes", &in_style(DEFAULT, true, false)),
        Valid::built("encrypted, without prefixes", &in_style(BARE, true, true)),
        Valid::built("to the next key", &to(&[1])),
        Valid::built("to both keys", &to(&[0, 1])),
        Valid::built("to both keys, reversed", &to(&[1, 0])),
        Valid::built("the key next to the data", &Build::encrypted().sealing(|seal| seal.beside = true)),
        Valid::built("values in lines", &Build::encrypted().sealing(|seal| seal.wraps = true)),
        Valid::of(
            "the assertion with a declaration of XML",
            Build::assertion_signed().whole(
                &Seal::usual()
                    .seal("saml", format!("<?xml version=\"1.0\"?>\n{}\n", Build::assertion_signed().lone())),
            ),
        )
        .but_second("it reads what it has decrypted in the place where that was"),
        Valid::built(
            "an encrypted NameID",
            &Build::assertion_signed().with_encrypted_id(&Seal::usual(), |name_id| name_id),
        ),
        Valid::built(
            "an encrypted NameID in an encrypted assertion",
            &Build::encrypted().with_encrypted_id(&Seal::usual(), |name_id| name_id),
        ),
        Valid::of(
            "short forms under the encryption",
            Build::assertion_signed().whole(&Seal::usual().seal(
                "saml",
                Build::assertion_signed().lone().all("></saml:SubjectConfirmationData>", "/>"),
            )),
        ),
    ]
}
