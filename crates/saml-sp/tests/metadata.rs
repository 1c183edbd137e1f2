//! Metadata as identity providers write it, and invalid metadata.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::format_collect,
    reason = "tests fail by panicking, and readability matters more than speed"
)]

use std::sync::LazyLock;

use kernel::Timestamp;
use openssl::{
    asn1::Asn1Time,
    ec::{EcGroup, EcKey},
    hash::MessageDigest,
    nid::Nid,
    pkey::{PKey, Private},
    rsa::Rsa,
    x509::X509,
};
use saml_sp::{Binding, IdpMetadata, LogoutService, MAX_CERTIFICATES, MAX_METADATA, MetadataError};

const POST: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
const REDIRECT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
const MD: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
const SAMLP: &str = "urn:oasis:names:tc:SAML:2.0:protocol";

/// Base64 of two certificates with RSA keys of 2,048 bits.
static RSA: LazyLock<[String; 2]> = LazyLock::new(|| {
    [0, 1].map(|serial| certificate(&PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap(), serial))
});

fn certificate(key: &PKey<Private>, days: u32) -> String {
    let mut builder = X509::builder().unwrap();
    builder.set_pubkey(key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(100 + days).unwrap()).unwrap();
    let digest =
        if key.id() == openssl::pkey::Id::ED25519 { MessageDigest::null() } else { MessageDigest::sha256() };
    builder.sign(key, digest).unwrap();
    data_encoding::BASE64.encode(&builder.build().to_der().unwrap())
}

fn read(text: &str) -> Result<IdpMetadata, MetadataError> {
    IdpMetadata::read(text, "2026-03-01T12:00:00.000Z".parse().unwrap())
}

fn key(usage: &str, certificate: &str) -> String {
    format!(
        "<md:KeyDescriptor{usage}><ds:KeyInfo xmlns:ds=\"{DS}\"><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"
    )
}

fn service(binding: &str, location: &str) -> String {
    format!("<md:SingleSignOnService Binding=\"{binding}\" Location=\"{location}\"/>")
}

/// Returns metadata with one identity provider with these keys and services.
fn entity(keys: &str, services: &str) -> String {
    format!(
        "<md:EntityDescriptor xmlns:md=\"{MD}\" entityID=\"https://idp.example\"><md:IDPSSODescriptor protocolSupportEnumeration=\"{SAMLP}\">{keys}{services}</md:IDPSSODescriptor></md:EntityDescriptor>"
    )
}

fn usual() -> String {
    entity(&key(" use=\"signing\"", &RSA[0]), &service(POST, "https://idp.example/sso"))
}

#[track_caller]
fn is(text: &str, entity: &str, address: &str, certificates: usize) -> IdpMetadata {
    let metadata = read(text).unwrap();
    assert_eq!(metadata.idp.entity_id, entity);
    assert_eq!(metadata.idp.sso_url, address);
    assert_eq!(metadata.idp.certificates.len(), certificates);
    assert_eq!(metadata.idp.certificates[0].base64(), RSA[0]);
    metadata
}

#[track_caller]
fn refused(text: &str, expected: impl Fn(&MetadataError) -> bool) {
    match read(text) {
        Ok(read) => panic!("accepted: {:?} of {text}", read.idp),
        Err(error) => assert!(expected(&error), "{error:?} of {text}"),
    }
}

fn lines(certificate: &str) -> String {
    certificate.as_bytes().chunks(64).map(|line| format!("{}\n", str::from_utf8(line).unwrap())).collect()
}

#[test]
fn metadata_of_okta_is_accepted() {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><md:EntityDescriptor entityID=\"http://www.okta.com/exk1\" xmlns:md=\"{MD}\"><md:IDPSSODescriptor WantAuthnRequestsSigned=\"false\" protocolSupportEnumeration=\"{SAMLP}\">{}<md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress</md:NameIDFormat>{}{}</md:IDPSSODescriptor></md:EntityDescriptor>",
        key(" use=\"signing\"", &lines(&RSA[0])),
        service(POST, "https://dev-1.okta.com/app/dev-1_app_1/exk1/sso/saml"),
        service(REDIRECT, "https://dev-1.okta.com/app/redirect"),
    );
    let metadata =
        is(&text, "http://www.okta.com/exk1", "https://dev-1.okta.com/app/dev-1_app_1/exk1/sso/saml", 1);
    assert!(!metadata.wants_signed_requests && metadata.valid_until.is_none());
}

/// Roles of other protocols, many claims, a signature, and a byte order mark.
#[test]
fn metadata_of_entra_and_adfs_is_accepted() {
    let claims: String = (0..60)
        .map(|n| format!("<auth:ClaimType Uri=\"http://claims/{n}\" xmlns:auth=\"http://docs.oasis-open.org/wsfed/authorization/200706\"><auth:DisplayName>Name {n}</auth:DisplayName><auth:Description>The name.</auth:Description></auth:ClaimType>"))
        .collect();
    let bare = |text: String| text.replace("md:", "");
    let role = |kind: &str| {
        format!(
            "<RoleDescriptor xsi:type=\"fed:{kind}\" protocolSupportEnumeration=\"http://docs.oasis-open.org/wsfed/federation/200706\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:fed=\"http://docs.oasis-open.org/wsfed/federation/200706\">{}<fed:ClaimTypesOffered>{claims}</fed:ClaimTypesOffered><fed:PassiveRequestorEndpoint><wsa:EndpointReference xmlns:wsa=\"http://www.w3.org/2005/08/addressing\"><wsa:Address>https://login.example/wsfed</wsa:Address></wsa:EndpointReference></fed:PassiveRequestorEndpoint></RoleDescriptor>",
            bare(key(" use=\"signing\"", &RSA[1]))
        )
    };
    let other = format!(
        "<SPSSODescriptor protocolSupportEnumeration=\"{SAMLP}\"><AssertionConsumerService Binding=\"{POST}\" Location=\"https://login.example/sp\" index=\"0\"/></SPSSODescriptor>"
    );
    let attributes: String = (0..30)
        .map(|n| format!("<Attribute Name=\"http://claims/{n}\" NameFormat=\"urn:oasis:names:tc:SAML:2.0:attrname-format:uri\" FriendlyName=\"Name {n}\" xmlns=\"urn:oasis:names:tc:SAML:2.0:assertion\"/>"))
        .collect();
    let text = format!(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EntityDescriptor ID=\"_1\" entityID=\"https://sts.windows.net/t1/\" xmlns=\"{MD}\"><ds:Signature xmlns:ds=\"{DS}\"><ds:SignedInfo/></ds:Signature>{}{}{other}<IDPSSODescriptor protocolSupportEnumeration=\"{SAMLP}\">{}{}{}{}{}{attributes}</IDPSSODescriptor><ContactPerson contactType=\"support\"/></EntityDescriptor>",
        role("SecurityTokenServiceType"),
        role("ApplicationServiceType"),
        bare(key(" use=\"encryption\"", &RSA[1])),
        bare(key(" use=\"signing\"", &RSA[0])),
        bare(key(" use=\"signing\"", &RSA[1])),
        bare(service(REDIRECT, "https://login.example/saml2")),
        bare(service(POST, "https://login.example/saml2/")),
    );
    is(&text, "https://sts.windows.net/t1/", "https://login.example/saml2/", 2);
}

/// A long comment at the start, two protocols, and many bindings.
#[test]
fn metadata_of_shibboleth_is_accepted() {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!--\n     This is example metadata only.\n-->\n<EntityDescriptor  xmlns=\"{MD}\" xmlns:md=\"{MD}\" xmlns:shibmd=\"urn:mace:shibboleth:metadata:1.0\" entityID=\"https://idp.example.org/idp/shibboleth\">\n    <IDPSSODescriptor protocolSupportEnumeration=\"{SAMLP} urn:oasis:names:tc:SAML:1.1:protocol urn:mace:shibboleth:1.0\">\n        <Extensions>\n            <shibmd:Scope regexp=\"false\">example.org</shibmd:Scope>\n<!-- <mdui:UIInfo> -->\n        </Extensions>\n        <!-- first signing certificate -->\n        {}{}{}\n        {}{}{}{}\n    </IDPSSODescriptor>\n    <AttributeAuthorityDescriptor protocolSupportEnumeration=\"urn:oasis:names:tc:SAML:1.1:protocol\"/>\n</EntityDescriptor>\n<!-- end -->\n",
        key(" use=\"signing\"", &format!("\n{}", lines(&RSA[0]))),
        key(" use=\"signing\"", &lines(&RSA[1])),
        key(" use=\"encryption\"", &lines(&RSA[1])),
        service(
            "urn:mace:shibboleth:1.0:profiles:AuthnRequest",
            "https://idp.example.org/idp/profile/Shibboleth/SSO"
        ),
        service(POST, "https://idp.example.org/idp/profile/SAML2/POST/SSO"),
        service(
            "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST-SimpleSign",
            "https://idp.example.org/idp/profile/SAML2/POST-SimpleSign/SSO"
        ),
        service(REDIRECT, "https://idp.example.org/idp/profile/SAML2/Redirect/SSO"),
    );
    is(
        &text,
        "https://idp.example.org/idp/shibboleth",
        "https://idp.example.org/idp/profile/SAML2/POST/SSO",
        2,
    );
}

#[test]
fn metadata_of_keycloak_is_accepted() {
    let named =
        key(" use=\"signing\"", &RSA[0]).replace("<ds:X509Data>", "<ds:KeyName>k1</ds:KeyName><ds:X509Data>");
    let entity = entity(&named, &service(POST, "https://sso.example/realms/r/protocol/saml"))
        .replace("<md:IDPSSODescriptor ", "<md:IDPSSODescriptor WantAuthnRequestsSigned=\"true\" ");
    let text = format!(
        "<md:EntitiesDescriptor xmlns:md=\"{MD}\" Name=\"urn:keycloak\" validUntil=\"2031-01-01T00:00:00.000Z\">{entity}</md:EntitiesDescriptor>"
    );
    let metadata = is(&text, "https://idp.example", "https://sso.example/realms/r/protocol/saml", 1);
    assert!(metadata.wants_signed_requests);
    assert_eq!(metadata.valid_until, Some("2031-01-01T00:00:00.000Z".parse::<Timestamp>().unwrap()));
    is(&entity, "https://idp.example", "https://sso.example/realms/r/protocol/saml", 1);
}

/// SimpleSAMLphp offers HTTP-POST only if configured.
#[test]
fn metadata_of_simplesamlphp_is_accepted() {
    let keys = key(" use=\"signing\"", &RSA[0]) + &key(" use=\"encryption\"", &RSA[0]);
    let redirect = service(REDIRECT, "https://idp.example/simplesaml/saml2/idp/SSOService.php");
    let address = "https://idp.example/simplesaml/saml2/idp/SSOService.php";
    assert_eq!(
        is(&entity(&keys, &redirect), "https://idp.example", address, 1).idp.sso_binding,
        Binding::Redirect
    );
    let both = redirect + &service(POST, "https://idp.example/simplesaml/saml2/idp/SSOService.php");
    assert_eq!(read(&entity(&keys, &both)).unwrap().idp.sso_binding, Binding::Post);
    is(
        &entity(&keys, &both),
        "https://idp.example",
        "https://idp.example/simplesaml/saml2/idp/SSOService.php",
        1,
    );
}

#[test]
fn keys_without_use_may_sign_and_weak_keys_are_skipped() {
    let sso = service(POST, "https://idp.example/sso");
    is(&entity(&key("", &RSA[0]), &sso), "https://idp.example", "https://idp.example/sso", 1);
    is(&entity(&key("", &RSA[0]).repeat(3), &sso), "https://idp.example", "https://idp.example/sso", 1);
    let weak = certificate(&PKey::from_rsa(Rsa::generate(1024).unwrap()).unwrap(), 0);
    let curve = EcGroup::from_curve_name(Nid::SECP256K1).unwrap();
    let odd = certificate(&PKey::from_ec_key(EcKey::generate(&curve).unwrap()).unwrap(), 0);
    let edwards = certificate(&PKey::generate_ed25519().unwrap(), 0);
    let longer = data_encoding::BASE64
        .encode(&[data_encoding::BASE64.decode(RSA[0].as_bytes()).unwrap(), vec![0]].concat());
    let none = |error: &MetadataError| *error == MetadataError::NoCertificate;
    for bad in [&weak, &odd, &edwards, &longer, "", "AAAA", "no base64", &RSA[0][..400], &RSA[0].repeat(2)] {
        refused(&entity(&key(" use=\"signing\"", bad), &sso), none);
        is(
            &entity(&(key("", bad) + &key("", &RSA[0])), &sso),
            "https://idp.example",
            "https://idp.example/sso",
            1,
        );
    }
    refused(&entity("", &sso), none);
    refused(&entity(&key(" use=\"encryption\"", &RSA[0]), &sso), none);
    refused(&entity(&key(" use=\"Signing\"", &RSA[0]), &sso), none);
    let elsewhere = usual().replace(DS, "urn:x");
    refused(&elsewhere, none);
    let small = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let many = |count: usize| -> String {
        (0..count)
            .map(|_| key("", &certificate(&PKey::from_ec_key(EcKey::generate(&small).unwrap()).unwrap(), 0)))
            .collect()
    };
    assert_eq!(
        read(&entity(&many(MAX_CERTIFICATES), &sso)).unwrap().idp.certificates.len(),
        MAX_CERTIFICATES
    );
    refused(&entity(&many(MAX_CERTIFICATES + 1), &sso), |error| *error == MetadataError::ManyCertificates);
}

#[test]
fn metadata_must_describe_exactly_one_provider() {
    let two = format!(
        "<md:EntitiesDescriptor xmlns:md=\"{MD}\">{}{}</md:EntitiesDescriptor>",
        usual(),
        usual().replace("idp.example", "other.example")
    );
    refused(&two, |error| *error == MetadataError::ManyProviders);
    let role = usual();
    let (_, role) = role.split_once("<md:IDPSSODescriptor").unwrap();
    let (role, _) = role.split_once("</md:EntityDescriptor>").unwrap();
    let twice = usual()
        .replace("</md:EntityDescriptor>", &format!("<md:IDPSSODescriptor{role}</md:EntityDescriptor>"));
    refused(&twice, |error| *error == MetadataError::ManyProviders);
    for none in [
        usual().replace(SAMLP, "urn:oasis:names:tc:SAML:1.1:protocol"),
        usual().replace(&format!("{SAMLP}\""), &format!("{SAMLP}:x\"")),
        usual().replace(" protocolSupportEnumeration", " xmlns:x=\"urn:x\" x:protocolSupportEnumeration"),
        usual().replace(MD, "urn:x"),
        usual().replace("IDPSSODescriptor", "SPSSODescriptor"),
        usual().replace("md:EntityDescriptor", "md:Entity"),
        format!("<md:IDPSSODescriptor xmlns:md=\"{MD}\" protocolSupportEnumeration=\"{SAMLP}\"/>"),
        format!("<md:EntitiesDescriptor xmlns:md=\"{MD}\"/>"),
        "<html><body>Sign in</body></html>".into(),
    ] {
        refused(&none, |error| *error == MetadataError::NoProvider);
    }
}

#[test]
fn metadata_must_be_xml_within_limits() {
    let xml = |error: &MetadataError| matches!(error, MetadataError::Xml(_));
    let text = usual();
    for broken in [
        String::new(),
        "{}".into(),
        "<!DOCTYPE html><html/>".into(),
        format!(
            "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>{}",
            text.replace("https://idp.example\"", "&a;\"")
        ),
        format!("<?xml-stylesheet href=\"http://127.0.0.1/\"?>{text}"),
        format!("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>{text}"),
        text[..text.len() - 5].to_owned(),
        text.replace("</md:IDPSSODescriptor>", &format!("{}</md:IDPSSODescriptor>", "<x/>".repeat(12_000))),
        text.replace(
            "</md:IDPSSODescriptor>",
            &format!("{}{}</md:IDPSSODescriptor>", "<x>".repeat(64), "</x>".repeat(64)),
        ),
        text.replace("</md:IDPSSODescriptor>", &format!("{}</md:IDPSSODescriptor>", "<!---->".repeat(65))),
        text.replace("</ds:X509Certificate>", "<!-- --></ds:X509Certificate>"),
        text.replace("</ds:X509Certificate>", "<x/></ds:X509Certificate>"),
    ] {
        refused(&broken, xml);
    }
    let long = format!("{text}{}", " ".repeat(MAX_METADATA));
    refused(&long, |error| *error == MetadataError::TooLarge);
}

#[test]
fn sso_urls_must_be_https_with_a_host() {
    let at = |location: &str| entity(&key("", &RSA[0]), &service(POST, location));
    for good in [
        "https://idp.example/sso?a=b&amp;c=d",
        "https://idp.example:8443/",
        "HTTPS://IDP.example/sso",
        "https://192.0.2.1/sso",
        "http://localhost:8080/sso",
        "http://127.0.0.1/sso",
        "http://[::1]:9000/sso",
    ] {
        assert_eq!(read(&at(good)).unwrap().idp.sso_url, good.replace("&amp;", "&"));
    }
    for bad in [
        "",
        "sso",
        "/sso",
        "//idp.example/sso",
        "idp.example/sso",
        "http://idp.example/sso",
        "http://localhost.idp.example/",
        "http://127.0.0.1.idp.example/",
        "javascript:alert(1)",
        "JavaScript://idp.example/%0aalert(1)",
        "data:text/html,x",
        "ftp://idp.example/",
        "file:///etc/passwd",
        "https:idp.example/sso",
        "https:/idp.example/sso",
        "https://",
        "https:///",
        "https://user@idp.example/",
        "https://user:secret@idp.example/",
        "https://idp.example/#x",
        "https://idp.example/a b",
        " https://idp.example/",
        "https://idp.example/&#10;",
        "https://idp.example/&#13;Set-Cookie:x",
        "https://idp.example/&quot;&gt;",
        "https://idp.example/'",
        "https://idp.example/;x",
        "https://idp.example/,x",
        "https://idp.example\\@evil.example/",
        "https://b\u{fc}cher.example/",
        "https://idp.example/\u{e9}",
        "https://idp.example:99999/",
        "https://idp%00.example/",
        "https://[::1/",
        "https://idp.example/&lt;script&gt;",
    ] {
        refused(&at(bad), |error| matches!(error, MetadataError::Address(_)));
    }
    refused(&at(&format!("https://idp.example/{}", "a".repeat(1_024))), |error| {
        matches!(error, MetadataError::Address(_))
    });
    refused(&usual().replace(" Location", " ResponseLocation"), |error| {
        *error == MetadataError::NoSsoService
    });
    refused(&usual().replace(POST, &POST.to_lowercase()), |error| *error == MetadataError::NoSsoService);
    refused(&usual().replace("md:SingleSignOnService", "md:SingleLogoutService"), |error| {
        *error == MetadataError::NoSsoService
    });
}

#[test]
fn logout_service_is_read_if_it_is_usable() {
    let logout =
        |binding: &str, rest: &str| format!("<md:SingleLogoutService Binding=\"{binding}\" {rest}/>");
    let found =
        |services: &str| read(&usual().replace("<md:SingleSignOn", &format!("{services}<md:SingleSignOn")));
    let found = |services: &str| found(services).unwrap().idp.logout;
    let post = logout(POST, "Location='https://idp.example/slo'");
    let service = |binding, location: &str, response_location: Option<&str>| {
        let response_location = response_location.map(str::to_owned);
        Some(LogoutService { binding, location: location.into(), response_location })
    };
    assert_eq!(found(""), None);
    assert_eq!(found(&post), service(Binding::Post, "https://idp.example/slo", None));
    let redirect =
        logout(REDIRECT, "Location='https://idp.example/r?a=b' ResponseLocation='https://idp.example/done'");
    let both = service(Binding::Redirect, "https://idp.example/r?a=b", Some("https://idp.example/done"));
    assert_eq!(found(&format!("{post}{redirect}")), both);
    assert_eq!(both.unwrap().response_url(), "https://idp.example/done");
    for unusable in [
        logout("urn:oasis:names:tc:SAML:2.0:bindings:SOAP", "Location='https://idp.example/slo'"),
        logout(POST, ""),
        logout(POST, "Location='http://idp.example/slo'"),
        logout(POST, "Location='javascript:alert(1)'"),
        logout(POST, "Location='https://idp.example/slo' ResponseLocation='javascript:alert(1)'"),
    ] {
        assert_eq!(found(&unusable), None, "{unusable}");
    }
}

#[test]
fn entity_ids_are_kept_exactly() {
    let named = |id: &str| usual().replace("entityID=\"https://idp.example\"", &format!("entityID=\"{id}\""));
    for good in [
        "x",
        "urn:example:idp",
        "https://idp.example/?a=b&amp;c",
        "Firma \u{fc}ber alles",
        &"a".repeat(1_024),
    ] {
        assert_eq!(read(&named(good)).unwrap().idp.entity_id, good.replace("&amp;", "&"));
    }
    for bad in ["", " ", " x", "x ", "x&#10;y", "x&#9;", "\u{85}x", &"a".repeat(1_025)] {
        refused(&named(bad), |error| *error == MetadataError::EntityId);
    }
    refused(&usual().replace(" entityID=", " EntityID="), |error| *error == MetadataError::EntityId);
}

#[test]
fn expired_metadata_is_refused() {
    let until = |element: &str, time: &str| {
        let text = format!("<md:EntitiesDescriptor xmlns:md=\"{MD}\">{}</md:EntitiesDescriptor>", usual());
        text.replacen(&format!("<md:{element} "), &format!("<md:{element} validUntil=\"{time}\" "), 1)
    };
    for element in ["EntitiesDescriptor", "EntityDescriptor", "IDPSSODescriptor"] {
        refused(&until(element, "2026-03-01T11:59:59Z"), |error| matches!(error, MetadataError::Expired(_)));
        for odd in ["", "never", "2026-04-01", "2026-04-01T00:00:00"] {
            refused(&until(element, odd), |error| matches!(error, MetadataError::Until(_)));
        }
        let read = read(&until(element, "2026-04-01T02:00:00+02:00")).unwrap();
        assert_eq!(read.valid_until, Some("2026-04-01T00:00:00Z".parse().unwrap()));
    }
    let both = until("EntityDescriptor", "2026-05-01T00:00:00Z").replacen(
        "<md:IDPSSODescriptor ",
        "<md:IDPSSODescriptor validUntil=\"2026-04-01T00:00:00Z\" ",
        1,
    );
    assert_eq!(read(&both).unwrap().valid_until, Some("2026-04-01T00:00:00Z".parse().unwrap()));
}
