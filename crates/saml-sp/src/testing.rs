//! Shared helpers of the unit tests.

use std::sync::Arc;

use kernel::{Actor, Ctx, Env, ManualEnv, Secret, TenantId, Timestamp};

use crate::{
    certificate::Certificate,
    change::New,
    id::ProviderId,
    keys::{KeyError, KeyPair, SealKey, SealedKey},
    memory::MemoryStore,
    provider_change::{OtherSide, ProviderChange},
};

/// A clock, a tenant and its store.
pub(crate) struct World {
    pub(crate) env: Arc<ManualEnv>,
    pub(crate) tenant: TenantId,
    pub(crate) store: MemoryStore,
}

/// Stores keys unencrypted; only for tests.
pub(crate) struct Unsealed;

impl SealKey for Unsealed {
    fn seal(&self, _: &ProviderId, private: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        Ok(data_encoding::BASE64.encode(private.expose()))
    }

    fn open(&self, _: &ProviderId, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        data_encoding::BASE64.decode(sealed.as_bytes()).map(Secret::new).map_err(|_| KeyError("decrypted"))
    }
}

pub(crate) const HOUR: i64 = 3_600_000;
pub(crate) const DAY: i64 = 24 * HOUR;
/// Validity of our certificates in days.
pub(crate) const VALID_DAYS: i64 = 3650;

impl World {
    pub(crate) fn new() -> Self {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        let store = MemoryStore::new(&tenant);
        Self { env, tenant, store }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.env.now()
    }

    pub(crate) fn ctx(&self) -> Ctx {
        Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("test"))
    }

    /// Returns a certificate that expires in `days` days; negative for an expired one.
    pub(crate) fn certificate(&self, days: i64) -> Certificate {
        KeyPair::generate("idp", self.now().plus_millis((days - VALID_DAYS) * DAY)).unwrap().certificate
    }

    pub(crate) fn key(&self, id: &ProviderId) -> SealedKey {
        SealedKey::generate(&Unsealed, id, "https://gate.example.com", self.now()).unwrap()
    }

    /// Returns the input for creating a provider with these domains.
    pub(crate) fn wanted(&self, domains: &[&str], other: OtherSide) -> New {
        let id = ProviderId::new(&*self.env, &self.tenant);
        let known = other.checked(self.now()).unwrap();
        New { key: self.key(&id), id, change: change(domains).checked().unwrap(), known }
    }
}

/// Returns provider settings that most tests use.
pub(crate) fn change(domains: &[&str]) -> ProviderChange {
    ProviderChange {
        name: "Okta".into(),
        email_domains: domains.iter().map(ToString::to_string).collect(),
        sign_requests: true,
        ..ProviderChange::default()
    }
}

/// Returns an identity provider given by fields.
pub(crate) fn fields(certificates: &[&Certificate]) -> OtherSide {
    OtherSide::Fields {
        entity_id: "https://idp.example.com".into(),
        sso_url: "https://idp.example.com/sso".into(),
        certificates: certificates.iter().map(|certificate| certificate.pem()).collect(),
    }
}

/// Returns the metadata of an identity provider.
pub(crate) fn metadata(entity_id: &str, certificates: &[&Certificate]) -> String {
    let key = |certificate: &&Certificate| {
        let text = certificate.base64();
        format!(
            r#"<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>{text}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>"#
        )
    };
    let keys = certificates.iter().map(key).collect::<Vec<_>>().concat();
    format!(
        r#"<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{entity_id}"><IDPSSODescriptor WantAuthnRequestsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">{keys}<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://idp.example.com/sso"/></IDPSSODescriptor></EntityDescriptor>"#
    )
}
