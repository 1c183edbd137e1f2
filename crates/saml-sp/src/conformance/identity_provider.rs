//! An identity provider for the tests of crates that receive responses.

use data_encoding::BASE64;
use kernel::{Secret, Timestamp};

use crate::{
    KeyError, KeyPair, OtherSide, ProviderId, Request, SealKey, ServiceProvider, signature,
    xml::{DS, SAML, SAMLP},
};

const ENTITY_ID: &str = "https://idp.example";

/// An identity provider with one key.
pub struct IdentityProvider {
    key: KeyPair,
}

/// A user at the identity provider.
#[derive(Debug, Clone, Copy)]
pub struct Person<'a> {
    /// The attribute `mail`.
    pub email: &'a str,
    /// A persistent NameID.
    pub name_id: &'a str,
}

/// Stores our keys unencrypted; only for tests.
pub struct Unsealed;

impl SealKey for Unsealed {
    fn seal(&self, _: &ProviderId, private: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        Ok(BASE64.encode(private.expose()))
    }

    fn open(&self, _: &ProviderId, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        BASE64.decode(sealed.as_bytes()).map(Secret::new).map_err(|_| KeyError("decrypted"))
    }
}

impl IdentityProvider {
    /// Generates the key, whose certificate is valid from `now` on.
    pub fn new(now: Timestamp) -> Self {
        Self { key: KeyPair::generate("idp", now).unwrap() }
    }

    /// Returns its settings, as an administrator supplies them.
    pub fn settings(&self) -> OtherSide {
        OtherSide::Fields {
            entity_id: ENTITY_ID.into(),
            sso_url: format!("{ENTITY_ID}/sso"),
            certificates: vec![self.key.certificate.pem()],
        }
    }

    /// Answers a request: the form field `SAMLResponse`, with a signed assertion that is valid for five minutes.
    pub fn respond(
        &self,
        request: &Request,
        service: &ServiceProvider,
        person: Person<'_>,
        now: Timestamp,
    ) -> String {
        let (until, Person { email, name_id }) = (now.plus_millis(300_000), person);
        let (acs, audience, request) = (&service.acs_url, &service.entity_id, &request.id);
        // An assertion has to be unique, so its ID is derived from the request's.
        let id = format!("_a{}", request.short());
        let issuer = format!("<saml:Issuer>{ENTITY_ID}</saml:Issuer>");
        let signature = format!(
            r##"<ds:Signature xmlns:ds="{DS}"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><ds:Reference URI="#{id}"><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/></ds:Reference></ds:SignedInfo><ds:SignatureValue/></ds:Signature>"##
        );
        let subject = format!(
            r#"<saml:Subject><saml:NameID Format="{}">{name_id}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData InResponseTo="{request}" NotOnOrAfter="{until}" Recipient="{acs}"/></saml:SubjectConfirmation></saml:Subject>"#,
            crate::PERSISTENT
        );
        let conditions = format!(
            r#"<saml:Conditions NotBefore="{now}" NotOnOrAfter="{until}"><saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>"#
        );
        let statements = format!(
            r#"<saml:AuthnStatement AuthnInstant="{now}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement><saml:Attribute Name="mail"><saml:AttributeValue>{email}</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>"#
        );
        let assertion = format!(
            r#"<saml:Assertion ID="{id}" IssueInstant="{now}" Version="2.0">{issuer}{signature}{subject}{conditions}{statements}</saml:Assertion>"#
        );
        let response = format!(
            r#"<samlp:Response xmlns:samlp="{SAMLP}" xmlns:saml="{SAML}" Destination="{acs}" ID="_r{id}" InResponseTo="{request}" IssueInstant="{now}" Version="2.0">{issuer}<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>{assertion}</samlp:Response>"#
        );
        let signed = signature::sign(&response, &[2, 1], &id, &self.key).unwrap();
        BASE64.encode(signed.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Against, RequestPurpose, begin, create, examine, testing::World};

    #[tokio::test]
    async fn responses_are_accepted() {
        let mut world = World::new();
        let (ctx, idp) = (world.ctx(), IdentityProvider::new(world.now()));
        let new = world.wanted(&["corp.example"], idp.settings());
        let provider = create(&ctx, &mut world.store, new).await.unwrap();
        let service = ServiceProvider::of("https://gate.example", &provider.id);
        let purpose = RequestPurpose { return_to: "/".into(), trial: None };
        let begun = begin(&*world.env, &service, &provider, None, purpose).unwrap();
        let person = Person { email: "ada@corp.example", name_id: "17" };
        let field = idp.respond(&begun.request, &service, person, ctx.now);
        let against = Against { provider: &provider, service: &service, keys: &[], now: ctx.now };
        let accepted = examine(&field, &against).into_result().unwrap();
        assert_eq!(accepted.answers, begun.request.id);
        let refused = examine("not base64", &against).into_result().unwrap_err();
        let report = refused.report(ctx.now);
        assert_eq!(
            (report.passed, report.checks[0].reason.as_deref()),
            (false, Some(refused.refusal.reason.as_str()))
        );
    }
}
