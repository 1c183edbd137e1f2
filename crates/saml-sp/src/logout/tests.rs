//! Logout messages of an identity provider, valid and hostile, and our own.

use data_encoding::BASE64;
use kernel::Timestamp;
use openssl::{
    asn1::Asn1Time,
    ec::{EcGroup, EcKey},
    ecdsa::EcdsaSig,
    hash::MessageDigest,
    nid::Nid,
    pkey::PKey,
    sign::Signer,
    x509::X509,
};

use super::*;
use crate::{
    Against, Binding, Certificate, Incoming, KeyPair, LogoutService, Outgoing, Provider, Reason,
    ServiceProvider, create, redirect, signature,
    testing::{World, fields},
    xml::{SAML, SAMLP},
};

const IDP: &str = "https://idp.example.com";
const REQUEST: &str = "SAMLRequest";

/// A provider with a pinned key.
struct Site {
    world: World,
    provider: Provider,
    service: ServiceProvider,
    key: KeyPair,
}

/// A LogoutRequest, of which tests change parts.
#[derive(Clone)]
struct Message {
    name: &'static str,
    attributes: String,
    destination: String,
    issued_at: Timestamp,
    issuer: String,
    content: String,
}

impl Site {
    async fn new() -> Self {
        let mut world = World::new();
        let (ctx, key) = (world.ctx(), KeyPair::generate("idp", world.now()).unwrap());
        let new = world.wanted(&["corp.example"], fields(&[&key.certificate]));
        let provider = create(&ctx, &mut world.store, new).await.unwrap();
        let service = ServiceProvider::of("https://gate.example", &provider.id);
        Self { world, provider, service, key }
    }

    fn message(&self) -> Message {
        Message {
            name: "LogoutRequest",
            attributes: r#"ID="_1" Version="2.0""#.into(),
            destination: self.service.slo_url.clone(),
            issued_at: self.world.now(),
            issuer: format!("<saml:Issuer>{IDP}</saml:Issuer>"),
            content: "<saml:NameID>ada</saml:NameID><samlp:SessionIndex>s1</samlp:SessionIndex>".into(),
        }
    }

    fn against(&self) -> Against<'_> {
        Against { provider: &self.provider, service: &self.service, keys: &[], now: self.world.now() }
    }

    fn request(&self, incoming: Incoming<'_>) -> Result<LogoutRequest, Reason> {
        let examined = examine_logout_request(incoming, &self.against());
        examined.map(|request| request.get().clone()).map_err(|refusal| refusal.reason)
    }

    /// Returns the reasons for refusing a signed message in a form and in a query, which must be the same.
    fn reason(&self, message: &Message) -> Option<Reason> {
        let form = self.request(Incoming::Field(&signed_form(message, &self.key))).err();
        let query = self.request(Incoming::Query(&signed_query(REQUEST, message, &self.key))).err();
        assert_eq!(form, query, "{}", message.content);
        form
    }
}

/// Returns the form field with a message that the key has signed.
fn signed_form(message: &Message, key: &KeyPair) -> String {
    let xml = message.xml(SIGNATURE);
    BASE64.encode(signature::sign(&xml, &[1], "_1", key).unwrap().as_bytes())
}

/// Returns the query with a message that the key has signed.
fn signed_query(field: &'static str, message: &Message, key: &KeyPair) -> String {
    let url = redirect::url("https://x/", (field, &message.xml("")), Some("state"), Some(key)).unwrap();
    url.split_once('?').unwrap().1.to_owned()
}

const SIGNATURE: &str = r##"<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><ds:Reference URI="#_1"><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/></ds:Reference></ds:SignedInfo><ds:SignatureValue/></ds:Signature>"##;

impl Message {
    fn xml(&self, signature: &str) -> String {
        let Self { name, attributes, destination, issued_at, issuer, content } = self;
        format!(
            r#"<samlp:{name} xmlns:samlp="{SAMLP}" xmlns:saml="{SAML}" {attributes} Destination="{destination}" IssueInstant="{issued_at}">{issuer}{signature}{content}</samlp:{name}>"#
        )
    }
}

#[tokio::test]
async fn signed_requests_are_accepted_in_both_bindings() {
    let site = Site::new().await;
    let message = site.message();
    let form = site.request(Incoming::Field(&signed_form(&message, &site.key))).unwrap();
    let query = site.request(Incoming::Query(&signed_query(REQUEST, &message, &site.key))).unwrap();
    assert_eq!((form.relay_state.as_deref(), query.relay_state.as_deref()), (None, Some("state")));
    assert_eq!(form, LogoutRequest { relay_state: None, ..query });
    assert_eq!((form.id.as_str(), form.name_id.as_str()), ("_1", "ada"));
    assert_eq!(form.session_indexes, ["s1"]);
    assert!(form.remember_until > site.world.now().plus_millis(600_000));
    for (content, indexes) in [
        ("<samlp:Extensions/><saml:NameID Format='f' NameQualifier='q'>ada</saml:NameID>", 0),
        (
            "<saml:NameID>ada</saml:NameID><samlp:SessionIndex>1</samlp:SessionIndex><samlp:SessionIndex>2</samlp:SessionIndex>",
            2,
        ),
    ] {
        let message = Message { content: content.into(), ..site.message() };
        let read = site.request(Incoming::Query(&signed_query(REQUEST, &message, &site.key))).unwrap();
        assert_eq!((read.name_id.as_str(), read.session_indexes.len()), ("ada", indexes), "{content}");
    }
}

#[tokio::test]
async fn hostile_requests_are_refused() {
    let site = Site::new().await;
    let good = site.message();
    assert_eq!(site.reason(&good), None);
    let with = |change: &dyn Fn(&mut Message)| {
        let mut message = good.clone();
        change(&mut message);
        site.reason(&message)
    };
    let content = |content: &str| with(&|message| message.content = content.to_owned());
    let now = site.world.now();
    assert_eq!(with(&|m| m.destination = "https://gate.example/other".into()), Some(Reason::Destination));
    assert_eq!(with(&|m| m.issuer = "<saml:Issuer>https://evil</saml:Issuer>".into()), Some(Reason::Issuer));
    assert_eq!(with(&|m| m.issued_at = now.plus_millis(61_000)), Some(Reason::IssueInstant));
    assert_eq!(with(&|m| m.issued_at = now.plus_millis(-661_000)), Some(Reason::IssueInstant));
    assert_eq!(with(&|m| m.issued_at = now.plus_millis(-659_000)), None);
    let over = format!(r#"ID="_1" Version="2.0" NotOnOrAfter="{}""#, now.plus_millis(-61_000));
    assert_eq!(with(&|m| m.attributes.clone_from(&over)), Some(Reason::OutsideTime));
    assert_eq!(with(&|m| m.attributes = r#"ID="_1" Version="1.1""#.into()), Some(Reason::NotALogout));
    assert_eq!(with(&|m| m.name = "LogoutResponse"), Some(Reason::NotALogout));
    assert_eq!(with(&|m| m.name = "AuthnRequest"), Some(Reason::NotALogout));
    assert_eq!(content(""), Some(Reason::UnexpectedElement));
    assert_eq!(content("<samlp:SessionIndex>1</samlp:SessionIndex>"), Some(Reason::UnexpectedElement));
    assert_eq!(content("<saml:BaseID/>"), Some(Reason::UnexpectedElement));
    let two = "<saml:NameID>ada</saml:NameID><saml:NameID>bob</saml:NameID>";
    assert_eq!(content(two), Some(Reason::UnexpectedElement));
    assert_eq!(content("<saml:NameID>a<!-- -->da</saml:NameID>"), Some(Reason::MixedText));
    assert_eq!(content("<saml:NameID>a<b/>da</saml:NameID>"), Some(Reason::MixedText));
    assert_eq!(content("<saml:EncryptedID/>"), Some(Reason::Undecryptable));
    assert_eq!(content("<saml:NameID ID='_1'>ada</saml:NameID>"), Some(Reason::BadId));
    assert_eq!(content("<saml:NameID> </saml:NameID>"), Some(Reason::UnexpectedElement));
    let index = |n: usize| format!("<samlp:SessionIndex>{n}</samlp:SessionIndex>");
    let many = |count: usize| (0..count).map(index).collect::<Vec<_>>().concat();
    let same = index(1).repeat(20);
    assert_eq!(content(&format!("<saml:NameID>ada</saml:NameID>{}{same}", many(10))), None);
    assert_eq!(content(&format!("<saml:NameID>ada</saml:NameID>{}", many(11))), Some(Reason::OutOfBounds));
}

#[tokio::test]
async fn signatures_of_forms_are_required_and_cover_the_message() {
    let site = Site::new().await;
    let good = site.message();
    let foreign = KeyPair::generate("idp", site.world.now()).unwrap();
    let reason = |xml: &str| site.request(Incoming::Field(&BASE64.encode(xml.as_bytes()))).err();
    assert_eq!(reason(&good.xml("")), Some(Reason::Unsigned));
    let by_other = signed_form(&good, &foreign);
    assert_eq!(site.request(Incoming::Field(&by_other)).err(), Some(Reason::BadSignature));
    let signed = signature::sign(&good.xml(SIGNATURE), &[1], "_1", &site.key).unwrap();
    assert_eq!(reason(&signed), None);
    assert_eq!(reason(&signed.replace(">ada<", ">bob<")), Some(Reason::BadDigest));
    let doctype = format!("<!DOCTYPE a>{signed}");
    assert_eq!(reason(&doctype), Some(Reason::ForbiddenMarkup));
    // The signed request inside of another one.
    let wrapped = Message {
        attributes: r#"ID="_2" Version="2.0""#.into(),
        content: format!("<samlp:Extensions>{signed}</samlp:Extensions><saml:NameID>bob</saml:NameID>"),
        ..good.clone()
    };
    assert_eq!(reason(&wrapped.xml("")), Some(Reason::MisplacedSignature));
    let (start, end) = (signed.find("<ds:Signature ").unwrap(), signed.find("</ds:Signature>").unwrap() + 15);
    let signature = signed.get(start..end).unwrap();
    let unsigned = [&signed[..start], &signed[end..]].concat();
    let moved = Message {
        attributes: r#"ID="_2" Version="2.0""#.into(),
        content: format!("<samlp:Extensions>{unsigned}</samlp:Extensions><saml:NameID>bob</saml:NameID>"),
        ..good.clone()
    };
    assert_eq!(reason(&moved.xml(signature)), Some(Reason::SignatureShape));
    let sha1 = signed.replace("2001/04/xmldsig-more#rsa-sha256", "2000/09/xmldsig#rsa-sha1");
    assert_eq!(reason(&sha1), Some(Reason::SignatureAlgorithm));
}

#[tokio::test]
async fn signatures_of_queries_are_required_and_cover_the_message() {
    let site = Site::new().await;
    let good = site.message();
    let foreign = KeyPair::generate("idp", site.world.now()).unwrap();
    let reason = |query: &str| site.request(Incoming::Query(query)).err();
    let query = signed_query(REQUEST, &good, &site.key);
    assert_eq!(reason(&query), None);
    assert_eq!(reason(&signed_query(REQUEST, &good, &foreign)), Some(Reason::BadSignature));
    let unsigned = redirect::url("https://x/", (REQUEST, &good.xml("")), None, None).unwrap();
    assert_eq!(reason(unsigned.split_once('?').unwrap().1), Some(Reason::Unsigned));
    for (from, to) in [
        ("RelayState=state", "RelayState=other"),
        ("&RelayState=state", ""),
        ("SAMLRequest=", "SAMLRequest=%20"),
        ("rsa-sha256", "rsa-sha512"),
    ] {
        let changed = query.replace(from, to);
        assert!(changed != query && reason(&changed).is_some(), "{from}");
    }
    let sha1 = query.replace("2001%2F04%2Fxmldsig-more%23rsa-sha256", "2000%2F09%2Fxmldsig%23rsa-sha1");
    assert_eq!(reason(&sha1), Some(Reason::SignatureAlgorithm));
    // A message signed as a response is no request, also under the other name.
    let as_response = signed_query("SAMLResponse", &good, &site.key);
    assert_eq!(reason(&as_response), Some(Reason::Missing));
    assert_eq!(reason(&as_response.replace("SAMLResponse=", "SAMLRequest=")), Some(Reason::BadSignature));
    // A RelayState whose name is encoded is another parameter.
    let read = site.request(Incoming::Query(&format!("Relay%53tate=evil&{query}"))).unwrap();
    assert_eq!(read.relay_state.as_deref(), Some("state"));
    // Entra ID and ADFS encode with small letters.
    let small = lower_case_query(&good, &site.key);
    assert_eq!(reason(&small), None);
    assert!(small.contains("%2f") && !small.contains("%2F"), "{small}");
    // The order of other parameters does not matter.
    let (signed, signature) = query.rsplit_once("&Signature=").unwrap();
    assert_eq!(reason(&format!("Signature={signature}&x=1&{signed}")), None);
    let inside = Message { content: format!("{SIGNATURE}{}", good.content), ..good.clone() };
    assert_eq!(reason(&signed_query(REQUEST, &inside, &site.key)), Some(Reason::MisplacedSignature));
}

/// Returns a signed query whose percent-encoding has small letters.
fn lower_case_query(message: &Message, key: &KeyPair) -> String {
    let url = redirect::url("x", (REQUEST, &message.xml("")), None, Some(key)).unwrap();
    let unsigned = url.split_once('?').unwrap().1.split("&Signature=").next().unwrap();
    let small = |text: &str| {
        let mut parts = text.split('%');
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |whole, part| {
            let (code, rest) = part.split_at(2);
            format!("{whole}%{}{rest}", code.to_ascii_lowercase())
        })
    };
    let unsigned = small(unsigned);
    let private = PKey::private_key_from_pkcs8(key.private.expose()).unwrap();
    let mut signer = Signer::new(MessageDigest::sha256(), &private).unwrap();
    let signature = BASE64.encode(&signer.sign_oneshot_to_vec(unsigned.as_bytes()).unwrap());
    let signature = url::form_urlencoded::byte_serialize(signature.as_bytes()).collect::<String>();
    format!("{unsigned}&Signature={}", small(&signature))
}

#[tokio::test]
async fn queries_may_be_signed_by_ecdsa_in_both_forms() {
    let mut site = Site::new().await;
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut builder = X509::builder().unwrap();
    builder.set_pubkey(&key).unwrap();
    let seconds = site.world.now().unix_millis() / 1000;
    builder.set_not_before(&Asn1Time::from_unix(seconds).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(seconds + 86_400).unwrap()).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    site.provider.idp.certificates = vec![Certificate::from_der(&builder.build().to_der().unwrap()).unwrap()];
    let url = redirect::url("x", (REQUEST, &site.message().xml("")), None, None).unwrap();
    let algorithm = "http%3A%2F%2Fwww.w3.org%2F2001%2F04%2Fxmldsig-more%23ecdsa-sha256";
    let unsigned = format!("{}&SigAlg={algorithm}", url.split_once('?').unwrap().1);
    let mut signer = Signer::new(MessageDigest::sha256(), &key).unwrap();
    let der = signer.sign_oneshot_to_vec(unsigned.as_bytes()).unwrap();
    let pair = EcdsaSig::from_der(&der).unwrap();
    let plain = [pair.r().to_vec_padded(32).unwrap(), pair.s().to_vec_padded(32).unwrap()].concat();
    for (value, accepted) in
        [(der.clone(), true), (plain, true), (vec![0; 64], false), (der[1..].to_vec(), false)]
    {
        let signature: String =
            url::form_urlencoded::byte_serialize(BASE64.encode(&value).as_bytes()).collect();
        let query = format!("{unsigned}&Signature={signature}");
        assert_eq!(site.request(Incoming::Query(&query)).is_ok(), accepted, "{} bytes", value.len());
    }
}

#[tokio::test]
async fn expired_certificates_sign_nothing() {
    let mut site = Site::new().await;
    let query = signed_query(REQUEST, &site.message(), &site.key);
    let expired: Certificate = site.world.certificate(-1);
    site.provider.idp.certificates = vec![expired];
    assert_eq!(site.request(Incoming::Query(&query)).err(), Some(Reason::NoCertificate));
}

#[tokio::test]
async fn responses_tell_whether_the_logout_was_complete() {
    let site = Site::new().await;
    let response = |status: &str| Message {
        name: "LogoutResponse",
        attributes: r#"ID="_1" Version="2.0" InResponseTo="_2""#.into(),
        content: format!("<samlp:Status>{status}</samlp:Status>"),
        ..site.message()
    };
    let examined = |message: &Message| {
        let query = signed_query("SAMLResponse", message, &site.key);
        let query = examine_logout_response(Incoming::Query(&query), &site.against());
        let form = signed_form(message, &site.key);
        let form = examine_logout_response(Incoming::Field(&form), &site.against());
        let seen = |examined: Result<signature::Verified<LogoutResponse>, crate::Refusal>| {
            examined.map(|response| response.get().clone()).map_err(|refusal| refusal.reason)
        };
        let (query, form) = (seen(query), seen(form));
        assert_eq!(query, form);
        query
    };
    let code = |value: &str, inner: &str| {
        format!(
            "<samlp:StatusCode Value='urn:oasis:names:tc:SAML:2.0:status:{value}'>{inner}</samlp:StatusCode>"
        )
    };
    let full = examined(&response(&code("Success", ""))).unwrap();
    assert_eq!((full.in_response_to.as_deref(), full.is_success), (Some("_2"), true));
    for status in [code("Success", &code("PartialLogout", "")), code("Responder", "")] {
        assert!(!examined(&response(&status)).unwrap().is_success, "{status}");
    }
    assert_eq!(examined(&response("")), Err(Reason::UnexpectedElement));
    assert_eq!(examined(&site.message()), Err(Reason::NotALogout));
    let elsewhere = Message { destination: "https://other".into(), ..response(&code("Success", "")) };
    assert_eq!(examined(&elsewhere), Err(Reason::Destination));
}

/// Returns the message of an outgoing form or URL, as the recipient reads it.
fn sent(outgoing: &Outgoing, field: &str, location: &str) -> (Option<String>, Option<String>) {
    match outgoing {
        Outgoing::Form { action, .. } => {
            assert_eq!(action, location);
            (outgoing.field(field).map(str::to_owned), None)
        }
        Outgoing::Url(url) => (None, url.strip_prefix(&format!("{location}?")).map(str::to_owned)),
    }
}

#[tokio::test]
async fn our_messages_are_valid_for_a_recipient() {
    let site = Site::new().await;
    let session = IdpSession {
        name_id: "ada & co".into(),
        format: Some(crate::PERSISTENT.into()),
        name_qualifier: Some("q".into()),
        sp_name_qualifier: Some("sp".into()),
        session_index: Some("s<1>".into()),
    };
    for binding in Binding::ALL {
        let at = LogoutService {
            binding,
            location: format!("{IDP}/slo"),
            response_location: Some(format!("{IDP}/slo/done")),
        };
        // The identity provider, as it sees us.
        let mut ours = site.provider.clone();
        ours.idp.entity_id.clone_from(&site.service.entity_id);
        let recipient = |slo_url: &str| ServiceProvider { slo_url: slo_url.into(), ..site.service.clone() };
        let started = start_logout(&*site.world.env, &site.service, &at, &session, &site.key).unwrap();
        let service = recipient(&at.location);
        let against = Against { provider: &ours, service: &service, ..site.against() };
        let (form, query) = sent(&started.outgoing, REQUEST, &at.location);
        let incoming =
            form.as_deref().map_or_else(|| Incoming::Query(query.as_deref().unwrap()), Incoming::Field);
        let read = examine_logout_request(incoming, &against).unwrap();
        assert_eq!((read.get().id.as_str(), &read.get().name_id), (started.id.as_str(), &session.name_id));
        assert_eq!(read.get().session_indexes, ["s<1>"]);
        assert_eq!(read.get().subject_hash(), session.subject_hash());
        assert_eq!(read.get().session_hashes().first(), session.session_hash().as_ref());

        for (status, is_success) in [(LogoutStatus::Success, true), (LogoutStatus::Refused, false)] {
            let answered = ("_9", Some("state"));
            let outgoing =
                respond_to_logout(&*site.world.env, &site.service, &at, answered, status, &site.key).unwrap();
            let service = recipient(at.response_url());
            let against = Against { provider: &ours, service: &service, ..site.against() };
            let (form, query) = sent(&outgoing, "SAMLResponse", at.response_url());
            let incoming =
                form.as_deref().map_or_else(|| Incoming::Query(query.as_deref().unwrap()), Incoming::Field);
            let read = examine_logout_response(incoming, &against).unwrap();
            assert_eq!(read.get().in_response_to.as_deref(), Some("_9"));
            assert_eq!(read.get().is_success, is_success);
        }
    }
}
