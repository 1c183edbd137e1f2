//! The ways in which an administrator supplies the settings of an identity provider.

use crate::{
    error::ProviderError,
    provider_change::{OtherSide, field},
};

/// The fields of a request that describe the identity provider. Either one kind of metadata or all of `entity_id`,
/// `sso_url` and `certificates` have to be given.
#[derive(Debug, Clone, Default)]
pub struct SuppliedMetadata {
    /// Metadata as a document.
    pub metadata_xml: Option<String>,
    /// URL of the metadata.
    pub metadata_url: Option<String>,
    /// The issuer of its assertions.
    pub entity_id: Option<String>,
    /// The URL of its single sign-on service.
    pub sso_url: Option<String>,
    /// Its signing certificates.
    pub certificates: Option<Vec<String>>,
}

/// Where the settings of the identity provider are.
#[derive(Debug, Clone)]
pub enum MetadataSource {
    /// In the request.
    Here(OtherSide),
    /// At a URL.
    At(String),
}

impl SuppliedMetadata {
    /// Returns the source; `None` if no field is given. Fails unless exactly one way is used.
    pub fn source(self) -> Result<Option<MetadataSource>, ProviderError> {
        let Self { metadata_xml, metadata_url, entity_id, sso_url, certificates } = self;
        match (metadata_xml, metadata_url, (entity_id, sso_url, certificates)) {
            (None, None, (None, None, None)) => Ok(None),
            (Some(text), None, (None, None, None)) => {
                Ok(Some(MetadataSource::Here(OtherSide::MetadataXml(text))))
            }
            (None, Some(url), (None, None, None)) => Ok(Some(MetadataSource::At(url))),
            (None, None, (Some(entity_id), Some(sso_url), Some(certificates))) => {
                Ok(Some(MetadataSource::Here(OtherSide::Fields { entity_id, sso_url, certificates })))
            }
            (None, None, (entity_id, sso_url, _)) => {
                let missing = match (entity_id, sso_url) {
                    (None, _) => "entityId",
                    (_, None) => "ssoUrl",
                    _ => "certificates",
                };
                Err(field(missing, "entityId, ssoUrl and certificates have to be sent together"))
            }
            (xml, _, _) => {
                let first = if xml.is_some() { "metadataXml" } else { "metadataUrl" };
                let problem =
                    "write one of metadataXml, metadataUrl, or entityId with ssoUrl and certificates";
                Err(field(first, problem))
            }
        }
    }
}

impl MetadataSource {
    /// Requires a source, as a new provider does.
    pub fn required(source: Option<Self>) -> Result<Self, ProviderError> {
        let problem = "write metadataXml, metadataUrl, or entityId, ssoUrl and certificates";
        source.ok_or_else(|| field("metadataXml", problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the field that the error names, or how the settings are supplied.
    fn source(given: &[&str]) -> String {
        let text = |name: &str| given.contains(&name).then(|| name.to_owned());
        let supplied = SuppliedMetadata {
            metadata_xml: text("metadataXml"),
            metadata_url: text("metadataUrl"),
            entity_id: text("entityId"),
            sso_url: text("ssoUrl"),
            certificates: text("certificates").map(|one| vec![one]),
        };
        match supplied.source() {
            Ok(None) => "nothing".into(),
            Ok(Some(MetadataSource::At(_))) => "URL".into(),
            Ok(Some(MetadataSource::Here(OtherSide::Fields { .. }))) => "fields".into(),
            Ok(Some(MetadataSource::Here(_))) => "document".into(),
            Err(error) => error.to_string().split(':').next().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn identity_provider_is_supplied_in_exactly_one_way() {
        for (given, expected) in [
            (&[][..], "nothing"),
            (&["metadataXml"], "document"),
            (&["metadataUrl"], "URL"),
            (&["entityId", "ssoUrl", "certificates"], "fields"),
            (&["entityId", "ssoUrl"], "certificates"),
            (&["entityId", "certificates"], "ssoUrl"),
            (&["ssoUrl"], "entityId"),
            (&["certificates"], "entityId"),
            (&["metadataXml", "metadataUrl"], "metadataXml"),
            (&["metadataUrl", "entityId"], "metadataUrl"),
        ] {
            assert_eq!(source(given), expected, "{given:?}");
        }
        assert!(MetadataSource::required(None).is_err());
        assert!(MetadataSource::required(Some(MetadataSource::At(String::new()))).is_ok());
    }
}
