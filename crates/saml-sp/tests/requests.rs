//! Checks our signed requests with an independent verifier.

use bergshamra::{DsigContext, KeysManager, VerifyResult, keys::loader::load_x509_cert_der};
use data_encoding::BASE64;
use kernel::{ManualEnv, TenantId};
use saml_sp::{
    AttributeMapping, Binding, IdentityProvider, KeyPair, OurKeys, Provider, ProviderId, Refresh,
    RequestPurpose, SealedKey, ServiceProvider, Source, begin,
};

#[test]
fn an_independent_verifier_accepts_a_signed_request() {
    let now = "2026-03-01T12:00:00.000Z".parse().unwrap();
    let env = ManualEnv::at(now);
    let pair = KeyPair::generate("requests", now).unwrap();
    let kept = SealedKey { certificate: pair.certificate.clone(), sealed: "sealed".into(), since: now };
    let id = ProviderId::new(&env, &TenantId::new(&env));
    let provider = Provider {
        id: id.clone(),
        name: "Corp".into(),
        email_domains: vec!["corp.example".parse().unwrap()],
        idp: IdentityProvider {
            entity_id: "https://idp.example".into(),
            sso_url: "https://idp.example/sso?a=b&c=\u{e9}".into(),
            sso_binding: Binding::Post,
            logout: None,
            certificates: vec![pair.certificate.clone()],
        },
        source: Source::Fields,
        valid_until: None,
        mapping: AttributeMapping::default(),
        sign_requests: true,
        force_authn: true,
        sign_out_at_provider: false,
        authn_contexts: vec!["urn:a<b>&\"c\"".into()],
        keys: OurKeys { active: kept, next: None },
        refresh: Refresh::default(),
        warned: None,
        created_at: now,
        updated_at: now,
    };
    let service = ServiceProvider::of("https://gatehouse.example", &id);
    let begun =
        begin(&env, &service, &provider, Some(&pair), RequestPurpose { return_to: "/".into(), trial: None })
            .unwrap();
    let xml =
        String::from_utf8(BASE64.decode(begun.outgoing.field("SAMLRequest").unwrap().as_bytes()).unwrap())
            .unwrap();

    let mut keys = KeysManager::new();
    keys.add_key(load_x509_cert_der(pair.certificate.der()).unwrap());
    let context = DsigContext::new(keys).with_insecure(true);
    let verdict = bergshamra::verify(&context, &xml).unwrap();
    assert!(verdict.all_reference_digests_verified(), "{verdict:?}: {xml}");
    let VerifyResult::Valid { references, .. } = verdict else { unreachable!() };
    assert_eq!(references[0].uri, format!("#{}", begun.request.id));
    let changed = xml.replacen("ForceAuthn=\"true\"", "ForceAuthn=\"false\"", 1);
    assert_ne!(changed, xml);
    assert!(!bergshamra::verify(&context, &changed).unwrap().is_valid());

    let tree = roxmltree::Document::parse(&xml).unwrap();
    let root = tree.root_element();
    assert_eq!(root.attribute("ID"), Some(begun.request.id.as_str()));
    assert_eq!(root.attribute("Destination"), Some(provider.idp.sso_url.as_str()));
    let names: Vec<_> = root.children().map(|node| node.tag_name().name()).collect();
    assert_eq!(names, ["Issuer", "Signature", "NameIDPolicy", "RequestedAuthnContext"]);
    let class = root.descendants().find(|node| node.tag_name().name() == "AuthnContextClassRef").unwrap();
    assert_eq!(class.text(), Some("urn:a<b>&\"c\""));
}
