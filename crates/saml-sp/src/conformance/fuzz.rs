//! Fuzz targets: a response and logout messages for one provider with pinned certificates, and metadata.

use std::sync::LazyLock;

use data_encoding::BASE64;
use kernel::{ManualEnv, Secret, TenantId, Timestamp};

use crate::{
    Against, AttributeMapping, Binding, Certificate, IdentityProvider, IdpMetadata, Incoming, KeyPair,
    OurKeys, Provider, ProviderId, Refresh, SealedKey, ServiceProvider, Source, examine,
    examine_logout_request, examine_logout_response, redirect,
};

/// Issuer, recipient and time of the documents in the corpus.
const IDP: &str = "https://idp.example/saml";
const SERVICE: &str = "https://gate.example/api/saml/sso_1";
const NOW: &str = "2027-02-01T12:00:00.000Z";
/// The only subject that the corpus has signed assertions for.
const SUBJECT: &str = "ada@example.com";

struct Fixed {
    provider: Provider,
    service: ServiceProvider,
    keys: Vec<KeyPair>,
    now: Timestamp,
}

static FIXED: LazyLock<Fixed> = LazyLock::new(|| {
    let now: Timestamp = NOW.parse().unwrap();
    let env = ManualEnv::at(now);
    let pinned = Certificate::from_text(include_str!("pinned/idp.pem")).unwrap();
    let ours = Certificate::from_text(include_str!("pinned/service.pem")).unwrap();
    let private = BASE64.decode(include_str!("pinned/service.pk8").trim().as_bytes()).unwrap();
    let kept = SealedKey { certificate: ours.clone(), sealed: String::new(), since: now };
    let provider = Provider {
        id: ProviderId::new(&env, &TenantId::new(&env)),
        name: "Fuzzed".into(),
        email_domains: vec!["example.com".parse().unwrap()],
        idp: IdentityProvider {
            entity_id: IDP.into(),
            sso_url: format!("{IDP}/sso"),
            sso_binding: Binding::Post,
            logout: None,
            certificates: vec![pinned],
        },
        source: Source::Fields,
        valid_until: None,
        mapping: AttributeMapping::default(),
        sign_requests: true,
        force_authn: false,
        sign_out_at_provider: false,
        authn_contexts: Vec::new(),
        keys: OurKeys { active: kept, next: None },
        refresh: Refresh::default(),
        warned: None,
        created_at: now,
        updated_at: now,
    };
    let service = ServiceProvider {
        entity_id: format!("{SERVICE}/metadata"),
        acs_url: format!("{SERVICE}/acs"),
        slo_url: format!("{SERVICE}/slo"),
    };
    Fixed { provider, service, keys: vec![KeyPair { private: Secret::new(private), certificate: ours }], now }
});

/// Examines a response, given before base64 encoding. Panics if claims are accepted for another subject than the
/// signed one. Returns whether the response was accepted.
pub fn response(input: &[u8]) -> bool {
    let fixed = &*FIXED;
    let against =
        Against { provider: &fixed.provider, service: &fixed.service, keys: &fixed.keys, now: fixed.now };
    let examined = examine(&BASE64.encode(input), &against);
    if let Some(claims) = &examined.claims {
        let name = claims.get().name_id.as_ref().map(|name| name.value.as_str());
        assert_eq!(name, Some(SUBJECT), "the response authenticated another user");
    }
    examined.outcome.is_ok()
}

/// Examines a logout message: the XML of a form, the XML in a query, or the text of a query. Returns whether any of them was
/// accepted.
pub fn logout(input: &[u8]) -> bool {
    let fixed = &*FIXED;
    let against =
        Against { provider: &fixed.provider, service: &fixed.service, keys: &fixed.keys, now: fixed.now };
    let field = BASE64.encode(input);
    let is_accepted = |incoming| {
        examine_logout_request(incoming, &against).is_ok()
            || examine_logout_response(incoming, &against).is_ok()
    };
    let text = String::from_utf8_lossy(input);
    let url = redirect::url("", ("SAMLRequest", &text), None, None).unwrap_or_default();
    let signature = "&SigAlg=http%3A%2F%2Fwww.w3.org%2F2001%2F04%2Fxmldsig-more%23rsa-sha256&Signature=AAAA";
    let query = [url.trim_start_matches('?'), signature].concat();
    is_accepted(Incoming::Field(&field))
        || is_accepted(Incoming::Query(&query))
        || is_accepted(Incoming::Query(&text))
}

/// Parses metadata. Panics if the result exceeds its limits.
pub fn metadata(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else { return false };
    let Ok(read) = IdpMetadata::read(text, FIXED.now) else { return false };
    assert!((1..=crate::MAX_CERTIFICATES).contains(&read.idp.certificates.len()));
    let url = url::Url::parse(&read.idp.sso_url).unwrap();
    assert!(matches!(url.scheme(), "https" | "http") && url.has_host(), "{url}");
    assert!(!read.idp.sso_url.contains(['"', '<', '>', ';', ',', ' ']));
    true
}
