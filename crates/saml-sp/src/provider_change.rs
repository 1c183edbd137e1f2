//! Validates provider settings before anything is changed.

use crate::error::MetadataError;
use kernel::Timestamp;
use url::Url;

use crate::{
    binding::Binding,
    certificate::{Certificate, Certificates},
    domain::EmailDomain,
    error::ProviderError,
    metadata::{self, IdpMetadata, MAX_METADATA},
    provider::{
        AttributeMapping, IdentityProvider, MAX_CERTIFICATES, MAX_CONTEXTS, MAX_DOMAINS, MAX_NAME, Source,
    },
};

/// Maximum length of an attribute name or an authentication context, in characters.
const MAX_WORD: usize = 256;

/// The settings of a provider, except those of the identity provider.
#[derive(Debug, Clone, Default)]
pub struct ProviderChange {
    /// 1 to 100 printable characters.
    pub name: String,
    /// 1 to 100 domains.
    pub email_domains: Vec<String>,
    /// Which attributes supply the claims.
    pub mapping: AttributeMapping,
    /// Whether requests are signed.
    pub sign_requests: bool,
    /// Whether requests ask for a fresh authentication (ForceAuthn).
    pub force_authn: bool,
    /// Whether a sign-out continues at the identity provider.
    pub sign_out_at_provider: bool,
    /// The requested authentication context classes: at most 10 URIs.
    pub authn_contexts: Vec<String>,
}

/// The settings of the identity provider, as supplied.
#[derive(Debug, Clone)]
pub enum OtherSide {
    /// Metadata as a document.
    MetadataXml(String),
    /// Metadata fetched from a URL.
    MetadataUrl {
        /// Address of the metadata.
        url: String,
        /// The fetched document.
        text: String,
    },
    /// Individual fields.
    Fields {
        /// The issuer of its assertions.
        entity_id: String,
        /// The URL of its single sign-on service with the HTTP-POST binding.
        sso_url: String,
        /// Its signing certificates, as PEM or base64 of the DER form.
        certificates: Vec<String>,
    },
}

/// A validated [`ProviderChange`].
#[derive(Debug, Clone)]
pub struct CheckedChange {
    pub(crate) name: String,
    pub(crate) email_domains: Vec<EmailDomain>,
    pub(crate) mapping: AttributeMapping,
    pub(crate) sign_requests: bool,
    pub(crate) force_authn: bool,
    pub(crate) sign_out_at_provider: bool,
    pub(crate) authn_contexts: Vec<String>,
}

/// A validated [`OtherSide`].
#[derive(Debug, Clone)]
pub struct ResolvedMetadata {
    pub(crate) idp: IdentityProvider,
    pub(crate) source: Source,
    pub(crate) valid_until: Option<Timestamp>,
    pub(crate) wants_signed_requests: bool,
}

/// Creates the error of an invalid field.
pub fn field(field: impl Into<String>, problem: impl Into<String>) -> ProviderError {
    ProviderError::Field { field: field.into(), problem: problem.into() }
}

/// Returns whether a text has 1 to `most` characters, no control characters, and no space at either end.
pub fn is_printable(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.chars().count()) && text.trim() == text && !text.chars().any(char::is_control)
}

impl ProviderChange {
    /// Validates every field.
    pub fn checked(self) -> Result<CheckedChange, ProviderError> {
        check_name(&self.name)?;
        if let Some(name) = &self.mapping.email
            && !is_printable(name, MAX_WORD)
        {
            let problem = format!(
                "write the name of an attribute: 1 to {MAX_WORD} printable characters, no space at either end"
            );
            return Err(field("attributeMapping.email", problem));
        }
        Ok(CheckedChange {
            name: self.name,
            email_domains: parse_domains(&self.email_domains)?,
            mapping: self.mapping,
            sign_requests: self.sign_requests,
            force_authn: self.force_authn,
            sign_out_at_provider: self.sign_out_at_provider,
            authn_contexts: contexts(self.authn_contexts)?,
        })
    }
}

/// Validates the name of an SSO connection.
pub fn check_name(name: &str) -> Result<(), ProviderError> {
    if is_printable(name, MAX_NAME) {
        return Ok(());
    }
    Err(field("name", format!("write 1 to {MAX_NAME} printable characters, no space at either end")))
}

/// Parses the email domains of an SSO connection.
pub fn parse_domains(texts: &[String]) -> Result<Vec<EmailDomain>, ProviderError> {
    const FIELD: &str = "emailDomains";
    if !(1..=MAX_DOMAINS).contains(&texts.len()) {
        let problem =
            format!("write 1 to {MAX_DOMAINS} domains, as in your users' email addresses after the @");
        return Err(field(FIELD, problem));
    }
    let mut read: Vec<EmailDomain> = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let at = || format!("{FIELD}[{index}]");
        let domain: EmailDomain = text.parse().map_err(|error| field(at(), format!("{error}")))?;
        if read.contains(&domain) {
            return Err(field(at(), format!("{domain} is already in the list")));
        }
        read.push(domain);
    }
    Ok(read)
}

fn contexts(texts: Vec<String>) -> Result<Vec<String>, ProviderError> {
    const FIELD: &str = "authnContexts";
    if texts.len() > MAX_CONTEXTS {
        return Err(field(FIELD, format!("write at most {MAX_CONTEXTS} URIs")));
    }
    for (index, text) in texts.iter().enumerate() {
        let is_uri =
            is_printable(text, MAX_WORD) && !text.contains(char::is_whitespace) && Url::parse(text).is_ok();
        if !is_uri {
            let problem =
                "write a URI such as urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
            return Err(field(format!("{FIELD}[{index}]"), problem));
        }
        if texts.iter().take(index).any(|before| before == text) {
            return Err(field(format!("{FIELD}[{index}]"), "this URI is already in the list"));
        }
    }
    Ok(texts)
}

impl OtherSide {
    /// Validates the settings. Parsing XML and certificates takes a few milliseconds of CPU.
    pub fn checked(self, now: Timestamp) -> Result<ResolvedMetadata, ProviderError> {
        match self {
            Self::MetadataXml(text) => of_metadata("metadataXml", &text, Source::MetadataXml, now),
            Self::MetadataUrl { url, text } => {
                of_metadata("metadataUrl", &text, Source::MetadataUrl(url), now)
            }
            Self::Fields { entity_id, sso_url, certificates } => {
                let idp = IdentityProvider {
                    entity_id: metadata::entity_id(&entity_id).ok_or_else(|| {
                        field("entityId", "write 1 to 1024 printable characters, no space at either end")
                    })?,
                    sso_url: metadata::sso_url(&sso_url)
                        .map_err(|problem| field("ssoUrl", format!("the URL {problem}")))?,
                    sso_binding: Binding::Post,
                    logout: None,
                    certificates: pinned(&certificates, now)?,
                };
                let (valid_until, wants_signed_requests) = (None, false);
                Ok(ResolvedMetadata { idp, source: Source::Fields, valid_until, wants_signed_requests })
            }
        }
    }
}

fn of_metadata(
    name: &str,
    text: &str,
    source: Source,
    now: Timestamp,
) -> Result<ResolvedMetadata, ProviderError> {
    let read = usable(text, now).map_err(|problem| field(name, problem))?;
    let IdpMetadata { idp, wants_signed_requests, valid_until } = read;
    Ok(ResolvedMetadata { idp, source, valid_until, wants_signed_requests })
}

/// Parses metadata and checks that it has a signing certificate that has not expired.
pub(crate) fn usable(text: &str, now: Timestamp) -> Result<IdpMetadata, String> {
    if text.len() > MAX_METADATA {
        return Err(MetadataError::TooLarge.to_string());
    }
    let read = IdpMetadata::read(text, now).map_err(|error| error.to_string())?;
    if have_ended(&read.idp.certificates, now) {
        return Err(
            "all signing certificates in the metadata have expired; get metadata with a valid one".into()
        );
    }
    Ok(read)
}

/// Returns whether all certificates have expired.
fn have_ended(certificates: &[Certificate], now: Timestamp) -> bool {
    certificates.iter().all(|certificate| certificate.not_after() < now)
}

fn pinned(texts: &[String], now: Timestamp) -> Result<Certificates, ProviderError> {
    const FIELD: &str = "certificates";
    if !(1..=MAX_CERTIFICATES).contains(&texts.len()) {
        let problem = format!(
            "write 1 to {MAX_CERTIFICATES} signing certificates, as PEM or as base64 of their DER form"
        );
        return Err(field(FIELD, problem));
    }
    let mut read = Certificates::new();
    for (index, text) in texts.iter().enumerate() {
        let at = || format!("{FIELD}[{index}]");
        let certificate = Certificate::from_text(text).map_err(|error| field(at(), error.to_string()))?;
        if read.contains(&certificate) {
            return Err(field(at(), "this certificate is already in the list"));
        }
        read.push(certificate);
    }
    if have_ended(&read, now) {
        return Err(field(FIELD, "all certificates have expired; write a valid one"));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, change, fields, metadata};

    fn error_text<T>(result: Result<T, ProviderError>) -> String {
        result.err().unwrap().to_string()
    }

    #[test]
    fn errors_name_the_invalid_field() {
        let refused = |edit: fn(&mut ProviderChange)| {
            let mut change = change(&["corp.example"]);
            edit(&mut change);
            error_text(change.checked())
        };
        assert!(refused(|c| c.name.clear()).starts_with("name: write 1 to 100 "));
        assert!(refused(|c| c.name.push('\n')).starts_with("name: "));
        assert!(refused(|c| c.name = "x".repeat(101)).starts_with("name: "));
        assert!(refused(|c| c.email_domains.clear()).starts_with("emailDomains: write 1 to 100 "));
        assert!(refused(|c| c.email_domains = vec!["a.example".into(); 101]).starts_with("emailDomains: "));
        assert_eq!(
            refused(|c| c.email_domains.push("nonsense".into())),
            "emailDomains[1]: write a domain such as example.com"
        );
        assert_eq!(
            refused(|c| c.email_domains.push("CORP.example".into())),
            "emailDomains[1]: corp.example is already in the list"
        );
        assert!(refused(|c| c.mapping.email = Some(" mail".into())).starts_with("attributeMapping.email: "));
        assert!(
            refused(|c| c.authn_contexts = vec!["x".into()]).starts_with("authnContexts[0]: write a URI ")
        );
        assert!(refused(|c| c.authn_contexts = vec!["urn:x:y".into(); 2]).starts_with("authnContexts[1]: "));
        assert_eq!(
            refused(|c| c.authn_contexts = vec!["urn:x:y".into(); 11]),
            "authnContexts: write at most 10 URIs"
        );
        change(&["münchen.example"]).checked().unwrap();
    }

    #[test]
    fn identity_provider_is_validated_from_fields_and_metadata() {
        let world = World::new();
        let now = world.now();
        let (good, ended) = (world.certificate(100), world.certificate(-1));
        let by_fields = |edit: &dyn Fn(&mut String, &mut String, &mut Vec<String>)| {
            let mut other = fields(&[&good]);
            if let OtherSide::Fields { entity_id, sso_url, certificates } = &mut other {
                edit(entity_id, sso_url, certificates);
            }
            error_text(other.checked(now))
        };
        assert!(by_fields(&|id, _, _| id.clear()).starts_with("entityId: write 1 to 1024 "));
        assert!(by_fields(&|id, _, _| *id = "x".repeat(1025)).starts_with("entityId: "));
        assert_eq!(
            by_fields(&|_, url, _| *url = "http://idp.example.com/".into()),
            "ssoUrl: the URL does not begin with https://"
        );
        assert!(by_fields(&|_, url, _| *url = "nonsense".into()).starts_with("ssoUrl: "));
        assert!(by_fields(&|_, _, all| all.clear()).starts_with("certificates: write 1 to 10 "));
        assert!(by_fields(&|_, _, all| all.push("x".into())).starts_with("certificates[1]: write an X.509 "));
        assert!(
            by_fields(&|_, _, all| all.push(good.base64()))
                .starts_with("certificates[1]: this certificate is already in ")
        );
        assert!(
            by_fields(&|_, _, all| *all = vec![ended.pem()])
                .starts_with("certificates: all certificates have expired")
        );
        // One valid certificate is enough.
        fields(&[&ended, &good]).checked(now).unwrap();
        fields(&[&good]).checked(now).unwrap();

        let by_metadata = |text: String| error_text(OtherSide::MetadataXml(text).checked(now));
        assert!(by_metadata("<x/>".into()).starts_with("metadataXml: the metadata has no EntityDescriptor "));
        assert!(
            by_metadata(metadata("https://idp", &[]))
                .starts_with("metadataXml: the metadata has no usable signing ")
        );
        assert!(by_metadata(metadata("https://idp", &[&ended])).starts_with("metadataXml: all signing "));
        assert!(
            by_metadata(" ".repeat(MAX_METADATA + 1))
                .starts_with("metadataXml: the metadata is larger than ")
        );
        let url = OtherSide::MetadataUrl { url: "https://idp.example.com/".into(), text: "x".into() };
        assert!(error_text(url.checked(now)).starts_with("metadataUrl: not valid metadata: "));
        let known = OtherSide::MetadataXml(metadata("https://idp", &[&good, &ended])).checked(now).unwrap();
        assert!(known.wants_signed_requests && known.idp.certificates.len() == 2);
    }
}
