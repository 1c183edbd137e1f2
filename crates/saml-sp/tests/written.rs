//! Our own metadata, and the uniqueness of requests.

use kernel::{Env, ManualEnv, Secret, TenantId};
use saml_sp::{
    AttributeMapping, Binding, IdentityProvider, KeyError, OurKeys, Provider, ProviderId, Refresh,
    RequestPurpose, SealKey, SealedKey, ServiceProvider, Source,
};

struct Open;

impl SealKey for Open {
    fn seal(&self, _: &ProviderId, private: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        Ok(data_encoding::BASE64.encode(private.expose()))
    }

    fn open(&self, _: &ProviderId, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        data_encoding::BASE64.decode(sealed.as_bytes()).map(Secret::new).map_err(|_| KeyError("opened"))
    }
}

#[test]
fn metadata_names_every_key_for_both_uses() {
    let env = ManualEnv::at("2026-03-01T12:00:00.000Z".parse().unwrap());
    let id = ProviderId::new(&env, &TenantId::new(&env));
    let service = ServiceProvider::of("https://gate.example/", &id);
    assert_eq!(service.acs_url, format!("https://gate.example/api/saml/{id}/acs"));
    let key = || SealedKey::generate(&Open, &id, &service.entity_id, env.now()).unwrap();
    let keys = OurKeys { active: key(), next: Some(key()) };
    let written = service.metadata(&keys, true).unwrap();
    let tree = roxmltree::Document::parse(&written).unwrap();
    assert_eq!(tree.root_element().attribute("entityID"), Some(service.entity_id.as_str()));
    let named = |name: &'static str| tree.descendants().filter(move |node| node.tag_name().name() == name);
    let role = named("SPSSODescriptor").next().unwrap();
    let signs = (role.attribute("AuthnRequestsSigned"), role.attribute("WantAssertionsSigned"));
    assert_eq!(signs, (Some("true"), Some("true")));
    let found: Vec<_> = named("KeyDescriptor")
        .map(|node| {
            let inner = node.descendants().find(|inner| inner.tag_name().name() == "X509Certificate");
            (node.attribute("use").unwrap(), inner.unwrap().text().unwrap().to_owned())
        })
        .collect();
    let [active, next] = [&keys.active, keys.next.as_ref().unwrap()].map(|key| key.certificate.base64());
    let both = [("signing", active.clone()), ("signing", next.clone())];
    assert_eq!(found, [both[0].clone(), both[1].clone(), ("encryption", active), ("encryption", next)]);
    let methods: Vec<_> = named("EncryptionMethod").filter_map(|node| node.attribute("Algorithm")).collect();
    let sound = |uri: &&str| uri.contains("gcm") || uri.contains("oaep");
    assert!(methods.len() == 8 && methods.iter().all(sound), "{methods:?}");
    let place = named("AssertionConsumerService").next().unwrap();
    assert_eq!(place.attribute("Location"), Some(service.acs_url.as_str()));
}

#[test]
fn requests_share_no_guessable_values() {
    let env = ManualEnv::at("2026-03-01T12:00:00.000Z".parse().unwrap());
    let id = ProviderId::new(&env, &TenantId::new(&env));
    let service = ServiceProvider::of("https://gate.example", &id);
    let provider = Provider {
        name: "Corp".into(),
        email_domains: Vec::new(),
        idp: IdentityProvider {
            entity_id: "https://idp.example".into(),
            sso_url: "https://idp.example/sso".into(),
            sso_binding: Binding::Post,
            logout: None,
            certificates: Vec::new(),
        },
        source: Source::Fields,
        valid_until: None,
        mapping: AttributeMapping::default(),
        sign_requests: false,
        force_authn: false,
        sign_out_at_provider: false,
        authn_contexts: Vec::new(),
        keys: OurKeys {
            active: SealedKey::generate(&Open, &id, &service.entity_id, env.now()).unwrap(),
            next: None,
        },
        refresh: Refresh::default(),
        warned: None,
        created_at: env.now(),
        updated_at: env.now(),
        id,
    };
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let intent = RequestPurpose { return_to: "/account".into(), trial: None };
        let begun = saml_sp::begin(&env, &service, &provider, None, intent).unwrap();
        assert!(seen.insert(begun.request.id.as_str().to_owned()));
        assert!(seen.insert(begun.browser.expose().clone()));
        let field = |name| begun.outgoing.field(name).unwrap().to_owned();
        assert!(field("RelayState").len() <= 80 && seen.insert(field("RelayState")));
        assert!(!field("SAMLRequest").contains("/account"));
        assert_eq!(begun.request.expires_at, env.now().plus_millis(600_000));
    }
}
