//! Encryption proves nothing about the sender, because our public key is public. Every failure returns the same
//! error.

use saml_sp::Reason::{self, BadDigest, BadSignature, MixedText, NotOneAssertion, Undecryptable, Unsigned};

use crate::{
    factory::{Build, SAML2, Swap, USUAL},
    hostile::{Hostile, TRAP, VICTIM},
    keys::{ATTACKER, OTHER, OURS},
    seal::{Content, Seal, Transport},
    sign::Hash,
};

pub(crate) fn all() -> Vec<Hostile> {
    [algorithms(), bytes(), plaintexts(), trusted(), shapes(), name_ids()].into_iter().flatten().collect()
}

fn of(name: &str, build: &Build, reason: Reason) -> Hostile {
    Hostile::built(name, build, reason)
}

/// Returns the default response with changed encryption.
fn sealed(change: impl Fn(&mut Seal)) -> Build {
    Build::encrypted().sealing(change)
}

fn algorithms() -> Vec<Hostile> {
    let no = |name: &str, build: &Build| of(name, build, Undecryptable);
    let method = |from: &str, to: &str| sealed(|seal| seal.change(from, to));
    let aes = "http://www.w3.org/2009/xmlenc11#aes256-gcm";
    let mut cases = vec![
        no("AES-CBC", &sealed(|seal| seal.content = Content::Aes128Cbc)),
        no(
            "AES-CBC in a signed response",
            &Build {
                sealed: Some(Seal { content: Content::Aes128Cbc, ..Seal::usual() }),
                ..Build::response_signed()
            },
        ),
        no("RSA of PKCS#1 1.5", &sealed(|seal| seal.transport = Transport::Pkcs1)),
        no("declares PKCS#1 1.5, but is OAEP", &method("xmlenc#rsa-oaep-mgf1p", "xmlenc#rsa-1_5")),
        no(
            "declares OAEP, but is PKCS#1 1.5",
            &sealed(|seal| {
                seal.transport = Transport::Pkcs1;
                seal.change("xmlenc#rsa-1_5", "xmlenc#rsa-oaep-mgf1p");
            }),
        ),
        no(
            "declares SHA-256, but is SHA-1",
            &sealed(|seal| {
                seal.transport = Transport::Mgf1p(Some(Hash::Sha1));
                seal.change(
                    "http://www.w3.org/2000/09/xmldsig#sha1",
                    "http://www.w3.org/2001/04/xmlenc#sha256",
                );
            }),
        ),
        no(
            "a digest of OAEP that is unknown",
            &sealed(|seal| {
                seal.transport = Transport::Mgf1p(Some(Hash::Sha1));
                seal.change(
                    "http://www.w3.org/2000/09/xmldsig#sha1",
                    "http://www.w3.org/2001/04/xmldsig-more#md5",
                );
            }),
        ),
        no(
            "a mask that is unknown",
            &sealed(|seal| {
                seal.transport = Transport::Oaep(Hash::Sha256, Hash::Sha256);
                seal.change("mgf1sha256", "mgf1md5");
            }),
        ),
        no(
            "parameters of OAEP",
            &method("rsa-oaep-mgf1p\">", "rsa-oaep-mgf1p\"><xenc:OAEPparams>AAAA</xenc:OAEPparams>"),
        ),
        no(
            "no method of the content",
            &method(&format!("<xenc:EncryptionMethod Algorithm=\"{aes}\"></xenc:EncryptionMethod>"), ""),
        ),
        no(
            "no method of the key",
            &method(
                "<xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p\"></xenc:EncryptionMethod>",
                "",
            ),
        ),
        no("declares AES-128, but is AES-256", &method("aes256-gcm", "aes128-gcm")),
    ];
    for other in [
        "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
        "http://www.w3.org/2001/04/xmlenc#tripledes-cbc",
        "http://www.w3.org/2001/04/xmlenc#kw-aes256",
        "",
    ] {
        cases.push(no(&format!("the content by {other}"), &method(aes, other)));
    }
    cases
}

fn bytes() -> Vec<Hostile> {
    let no = |name: &str, bend: fn(&mut Vec<u8>)| of(name, &sealed(|seal| seal.bend = bend), Undecryptable);
    let key =
        |name: &str, bend: fn(&mut Vec<u8>)| of(name, &sealed(|seal| seal.bend_key = bend), Undecryptable);
    vec![
        no("a tag of 12 bytes", |sealed| sealed.truncate(sealed.len() - 4)),
        no("a tag of one byte", |sealed| sealed.truncate(sealed.len() - 15)),
        no("no tag", |sealed| sealed.truncate(sealed.len() - 16)),
        no("a bit of the tag", |sealed| *sealed.last_mut().unwrap() ^= 1),
        no("a tag of zeros", |sealed| {
            let start = sealed.len() - 16;
            sealed[start..].fill(0);
        }),
        no("a bit of the content", |sealed| sealed[40] ^= 1),
        no("a bit of the nonce", |sealed| sealed[0] ^= 1),
        no("a nonce of 8 bytes", |sealed| drop(sealed.drain(..4))),
        no("only a nonce and a tag", |sealed| sealed.truncate(28)),
        no("only a nonce", |sealed| sealed.truncate(12)),
        no("27 bytes", |sealed| sealed.truncate(27)),
        no("one byte", |sealed| sealed.truncate(1)),
        no("no bytes", Vec::clear),
        no("one more byte", |sealed| sealed.push(0)),
        key("another key", |key| key.fill(0)),
        key("a key that is too short", |key| key.truncate(16)),
        key("a key that is too long", |key| key.extend([0; 16])),
        key("a key of one byte", |key| key.truncate(1)),
    ]
}

/// Decrypted content that is invalid.
fn plaintexts() -> Vec<Hostile> {
    let lone = Build::assertion_signed().lone();
    let unsigned = Build::unsigned(USUAL);
    let plain = |name: &str, text: &str, reason: Reason| {
        Hostile::of(name, unsigned.whole(&Seal::usual().seal("saml", text)), reason)
    };
    let evil =
        unsigned.assertion.swap(">ada@corp.example</saml:NameID>", &format!(">{VICTIM}</saml:NameID>"));
    let forged = Build::assertion_signed()
        .within(">ada@corp.example</saml:NameID>", &format!(">{VICTIM}</saml:NameID>"))
        .signing(|signing| signing.by(&ATTACKER, Hash::Sha256));
    let doctype = format!("<!DOCTYPE x SYSTEM \"{}/x\">{lone}", TRAP.1);
    let name = ">ada@corp.example</saml:NameID>";
    vec![
        plain("unsigned in an unsigned response", &evil, Unsigned),
        plain("signed by an attacker", &forged.lone(), BadSignature),
        plain(
            "changed before it was encrypted",
            &lone.swap(name, &format!(">{VICTIM}</saml:NameID>")),
            BadDigest,
        ),
        plain("two assertions", &lone.repeat(2), Undecryptable),
        plain(
            "a forged assertion in the Advice",
            &lone.swap("</saml:Conditions>", &format!("</saml:Conditions><saml:Advice>{evil}</saml:Advice>")),
            NotOneAssertion,
        ),
        plain(
            "a signed one within an unsigned one",
            &evil.swap("</saml:Conditions>", &format!("</saml:Conditions><saml:Advice>{lone}</saml:Advice>")),
            NotOneAssertion,
        ),
        plain("a response", &Build::assertion_signed().xml(), Reason::MisplacedSignature),
        plain("text", "ada@corp.example", Undecryptable),
        plain("text before it", &format!("x{lone}"), Undecryptable),
        plain("nothing", "", Undecryptable),
        plain("a comment after it", &format!("{lone}<!-- -->"), Undecryptable),
        plain("a DOCTYPE", &doctype, Undecryptable),
        plain("an instruction", &format!("<?x?>{lone}"), Undecryptable),
        plain(
            "19,000 comments",
            &lone.swap("<saml:Subject>", &format!("{}<saml:Subject>", "<!---->".repeat(13_000))),
            Undecryptable,
        ),
        plain("a NUL", &format!("{lone}\0"), Undecryptable),
        plain(
            "a NameID",
            &format!(
                "<saml:NameID xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\">{VICTIM}</saml:NameID>"
            ),
            NotOneAssertion,
        ),
        plain(
            "prefixes that are only declared outside",
            &lone.first(" xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\"", ""),
            Undecryptable,
        ),
        plain(
            "a comment in the NameID",
            &lone.swap(name, ">ada@corp.<!-- -->example</saml:NameID>"),
            MixedText,
        ),
        plain("encrypted twice", &Seal::usual().seal("saml", &lone), Reason::BadId),
        Hostile::of(
            "bytes that are not UTF-8",
            unsigned.whole(&Seal::usual().seal("saml", [lone.as_bytes(), b"\xff"].concat())),
            Undecryptable,
        ),
    ]
}

/// The response is signed, so only the structure of the decrypted content is wrong.
fn trusted() -> Vec<Hostile> {
    let usual = Build::unsigned(USUAL).assertion;
    let name = ">ada@corp.example</saml:NameID>";
    let forged = Build::assertion_signed().signing(|signing| signing.by(&ATTACKER, Hash::Sha256));
    let trusted = |name: &str, text: &str, reason: Reason| {
        Hostile::of(
            format!("in a signed response, {name}"),
            Build::response_signed().whole(&Seal::usual().seal("saml", text)),
            reason,
        )
    };
    vec![
        trusted("two assertions", &usual.repeat(2), Undecryptable),
        trusted("text", VICTIM, Undecryptable),
        trusted(
            "a comment in the NameID",
            &usual.swap(name, ">ada@corp.<!-- -->example</saml:NameID>"),
            MixedText,
        ),
        trusted("signed by an attacker", &forged.lone(), BadSignature),
        trusted(
            "a signature of another form",
            &Build::assertion_signed().lone().swap("#_a1\"", "#_a2\""),
            Reason::SignatureShape,
        ),
        Hostile::of(
            "replaced in a signed response",
            {
                let seal = |text: &str| Seal::usual().seal("saml2", text);
                let build = Build::signed(SAML2, false, true);
                let xml = build.whole(&seal(&build.assertion));
                let (_, genuine) = xml.cut("<saml2:EncryptedAssertion", "</saml2:EncryptedAssertion>");
                xml.swap(
                    &genuine,
                    &seal(
                        &build
                            .assertion
                            .swap("ada@corp.example</saml2:NameID>", &format!("{VICTIM}</saml2:NameID>")),
                    ),
                )
            },
            BadDigest,
        ),
    ]
}

/// Encrypted NameIDs in signed assertions.
fn name_ids() -> Vec<Hostile> {
    let of = |name: &str, seal: &Seal, change: &dyn Fn(String) -> String, reason: Reason| {
        let build = Build::assertion_signed().with_encrypted_id(seal, change);
        Hostile::built(format!("an encrypted NameID, {name}"), &build, reason)
    };
    let plain = |name: &str, change: &dyn Fn(String) -> String, reason: Reason| {
        of(name, &Seal::usual(), change, reason)
    };
    let to_other = Seal { recipients: vec![OTHER.certificate.clone()], ..Seal::usual() };
    let cbc = Seal { content: Content::Aes128Cbc, ..Seal::usual() };
    let usual = Build::assertion_signed().with_encrypted_id(&Seal::usual(), |name_id| name_id).xml();
    let (_, genuine) = usual.cut("<saml:EncryptedID", "</saml:EncryptedID>");
    let forged =
        "<saml:NameID xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\">root@corp.example</saml:NameID>";
    vec![
        of("to another recipient", &to_other, &|name_id| name_id, Undecryptable),
        of("AES-CBC", &cbc, &|name_id| name_id, Undecryptable),
        plain("of another name", &|name_id| name_id.all("NameID", "BaseID"), Undecryptable),
        plain("text", &|_| VICTIM.into(), Undecryptable),
        plain("two names", &|name_id| name_id.repeat(2), Undecryptable),
        plain("a DOCTYPE", &|name_id| format!("<!DOCTYPE a>{name_id}"), Undecryptable),
        plain("a comment in it", &|name_id| name_id.swap("corp.", "corp.<!-- -->"), MixedText),
        plain("an element in it", &|name_id| name_id.swap("corp.", "corp.<a/>"), MixedText),
        plain("encrypted twice", &|name_id| Seal::usual().seal_id(&name_id), Undecryptable),
        Hostile::of(
            "an encrypted NameID, replaced after the signature",
            usual.swap(&genuine, &Seal::usual().seal_id(forged)),
            BadDigest,
        ),
    ]
}

fn shapes() -> Vec<Hostile> {
    let no = |name: &str, build: &Build| of(name, build, Undecryptable);
    let method = |from: &str, to: &str| sealed(|seal| seal.change(from, to));
    let to =
        |recipients: Vec<saml_sp::Certificate>| sealed(move |seal| seal.recipients.clone_from(&recipients));
    let (ours, theirs) = (&OURS[0].certificate, &OTHER.certificate);
    vec![
        no("to another recipient", &to(vec![theirs.clone()])),
        no("to five recipients, us last", &to([vec![theirs.clone(); 4], vec![ours.clone()]].concat())),
        no("to five recipients, us first", &to([vec![ours.clone()], vec![theirs.clone(); 4]].concat())),
        no("without recipients", &to(Vec::new())),
        no("keys in both places, five", &{
            let mut build = to(vec![ours.clone(); 4]);
            let key = Seal { beside: true, ..Seal::usual() }
                .seal("saml", "x")
                .cut("<xenc:EncryptedKey", "</xenc:EncryptedKey>")
                .1;
            build.sealed.as_mut().unwrap().change(
                "</saml:EncryptedAssertion>",
                &format!("{}</saml:EncryptedAssertion>", key.swap("_k1", "_k9")),
            );
            build.sealed.as_mut().unwrap().recipients.truncate(4);
            build
        }),
        no("the key by URL", &{
            let mut build = sealed(|seal| seal.recipients = Vec::new());
            let info = format!(
                "<ds:KeyInfo><ds:RetrievalMethod URI=\"{}/key\"></ds:RetrievalMethod></ds:KeyInfo>",
                TRAP.1
            );
            build.sealed.as_mut().unwrap().change("<ds:KeyInfo></ds:KeyInfo>", &info);
            build
        }),
        no(
            "the content by URL",
            &sealed(|seal| {
                seal.recipients = vec![OURS[0].certificate.clone()];
                seal.change("</ds:KeyInfo><xenc:CipherData><xenc:CipherValue>", &format!("</ds:KeyInfo><xenc:CipherData><xenc:CipherReference URI=\"{}/x\"></xenc:CipherReference></xenc:CipherData><xenc:CipherData><xenc:CipherValue>", TRAP.1));
            }),
        ),
        no(
            "no EncryptedData",
            &method("xenc:EncryptedData ", "xenc:Data ")
                .sealing(|seal| seal.change("</xenc:EncryptedData>", "</xenc:Data>")),
        ),
        no(
            "an unknown element next to the data",
            &method("</xenc:EncryptedData>", "</xenc:EncryptedData><x></x>"),
        ),
        no(
            "EncryptedData twice",
            &method(
                "<xenc:EncryptedData ",
                "<xenc:EncryptedData xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\"></xenc:EncryptedData><xenc:EncryptedData ",
            ),
        ),
        no(
            "the content is not base64",
            &method(
                "</ds:KeyInfo><xenc:CipherData><xenc:CipherValue>",
                "</ds:KeyInfo><xenc:CipherData><xenc:CipherValue>%",
            ),
        ),
        Hostile::of(
            "a comment in the content",
            Build::encrypted().xml().swap(
                "</ds:KeyInfo><xenc:CipherData><xenc:CipherValue>",
                "</ds:KeyInfo><xenc:CipherData><xenc:CipherValue><!-- -->",
            ),
            MixedText,
        ),
        Hostile::of(
            "the EncryptedAssertion is empty",
            Build::unsigned(USUAL).whole("<saml:EncryptedAssertion></saml:EncryptedAssertion>"),
            Undecryptable,
        ),
        Hostile::of(
            "an assertion in plain text in the EncryptedAssertion",
            Build::assertion_signed().whole(&format!(
                "<saml:EncryptedAssertion>{}</saml:EncryptedAssertion>",
                Build::assertion_signed().lone()
            )),
            NotOneAssertion,
        ),
        Hostile::of(
            "signed around the encryption, by an attacker",
            Build {
                sealed: Some(Seal::usual()),
                ..Build::response_signed().signing(|signing| signing.by(&ATTACKER, Hash::Sha256))
            }
            .xml(),
            BadSignature,
        ),
    ]
}
