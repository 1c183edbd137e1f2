//! Where a stream sends to.

use serde::{Deserialize, Serialize};
use webhooks::client::AddressGuard;

use crate::{Error, send::read_certificates};

/// Maximum length of a member, in characters.
const MAX_MEMBER: usize = 2_000;
/// Maximum length of certificates in PEM, in characters.
const MAX_PEM: usize = 64_000;
/// The port of syslog over TLS (RFC 5425 §4.1).
pub(crate) const SYSLOG_PORT: u16 = 6514;
/// The scheme of syslog over TLS.
const SYSLOG_SCHEME: &str = "syslog+tls";

/// The protocol of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = LogStreamType))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DestinationType {
    /// Lines of JSON by HTTPS.
    Https,
    /// The HTTP Event Collector of Splunk.
    SplunkHec,
    /// Logs of the OpenTelemetry protocol by HTTPS.
    Otlp,
    /// Syslog over TLS (RFC 5424, RFC 5425).
    Syslog,
    /// Compressed files in object storage with the API of Amazon S3.
    S3,
}

impl DestinationType {
    /// All types.
    pub const ALL: [Self; 5] = [Self::Https, Self::SplunkHec, Self::Otlp, Self::Syslog, Self::S3];

    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Https => "HTTPS",
            Self::SplunkHec => "SPLUNK_HEC",
            Self::Otlp => "OTLP",
            Self::Syslog => "SYSLOG",
            Self::S3 => "S3",
        }
    }

    /// Returns the name in metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::SplunkHec => "splunk_hec",
            Self::Otlp => "otlp",
            Self::Syslog => "syslog",
            Self::S3 => "s3",
        }
    }
}

/// Where a stream sends to, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    /// The protocol.
    #[serde(rename = "type")]
    pub kind: DestinationType,
    /// The URL of the receiver. Its scheme is `https`, or `syslog+tls` for syslog.
    pub url: String,
    /// HTTPS and OTLP: the header with the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// S3: the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// S3: the region that signatures name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// S3: the beginning of the names of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// S3: the ID of the access key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_key_id: Option<String>,
    /// Syslog: certificates in PEM to trust instead of those of the operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_certificates: Option<String>,
    /// Syslog: the certificate chain of the client in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<String>,
}

impl Destination {
    /// Checks the members that the type needs and those that it does not have, and completes the URL. Members without a
    /// text become absent.
    pub(crate) fn checked(mut self, guard: &AddressGuard, has_secret: bool) -> Result<Self, Error> {
        for member in self.members_mut() {
            *member = member.take().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        }
        self.url = match self.kind {
            DestinationType::Syslog => checked_syslog(guard, &self.url)?,
            kind => checked_https(guard, kind, &self.url)?,
        };
        let is = |kinds: &[DestinationType]| kinds.contains(&self.kind);
        let (http, s3, syslog) = (
            is(&[DestinationType::Https, DestinationType::Otlp]),
            is(&[DestinationType::S3]),
            is(&[DestinationType::Syslog]),
        );
        let members = [
            ("header", &self.header, http, false),
            ("bucket", &self.bucket, s3, true),
            ("region", &self.region, s3, true),
            ("prefix", &self.prefix, s3, false),
            ("accessKeyId", &self.access_key_id, s3, true),
            ("caCertificates", &self.ca_certificates, syslog, false),
            ("clientCertificate", &self.client_certificate, syslog, false),
        ];
        for (name, value, has, is_needed) in members {
            match value {
                Some(_) if !has => return Err(Error::Unknown(name)),
                None if has && is_needed => return Err(Error::Missing(name)),
                Some(text) if text.chars().count() > limit_of(name) => return Err(Error::TooLong(name)),
                Some(text) if !name.ends_with("Certificates") && !name.ends_with("Certificate") => {
                    check_text(name, text)?;
                }
                _ => {}
            }
        }
        self.check_secret(has_secret)?;
        Ok(self)
    }

    fn members_mut(&mut self) -> [&mut Option<String>; 7] {
        [
            &mut self.header,
            &mut self.bucket,
            &mut self.region,
            &mut self.prefix,
            &mut self.access_key_id,
            &mut self.ca_certificates,
            &mut self.client_certificate,
        ]
    }

    /// Checks what belongs together: the secret and its header, or certificates.
    fn check_secret(&self, has_secret: bool) -> Result<(), Error> {
        let needs_secret = match self.kind {
            DestinationType::SplunkHec | DestinationType::S3 => true,
            DestinationType::Https | DestinationType::Otlp => self.header.is_some(),
            DestinationType::Syslog => self.client_certificate.is_some(),
        };
        if needs_secret && !has_secret {
            return Err(Error::Missing("secret"));
        }
        let (is_http, is_syslog) = (
            matches!(self.kind, DestinationType::Https | DestinationType::Otlp),
            self.kind == DestinationType::Syslog,
        );
        if has_secret && is_syslog && self.client_certificate.is_none() {
            return Err(Error::Missing("clientCertificate"));
        }
        if has_secret && is_http && self.header.is_none() {
            return Err(Error::Missing("header"));
        }
        if let Some(header) = &self.header {
            http::HeaderName::try_from(header.as_str()).map_err(|_| Error::Header)?;
        }
        for (name, pem) in
            [("caCertificates", &self.ca_certificates), ("clientCertificate", &self.client_certificate)]
        {
            if let Some(pem) = pem {
                read_certificates(pem).map_err(|_| Error::Certificates(name))?;
            }
        }
        Ok(())
    }
}

fn limit_of(member: &str) -> usize {
    if member.ends_with("Certificates") || member.ends_with("Certificate") { MAX_PEM } else { MAX_MEMBER }
}

fn check_text(name: &'static str, text: &str) -> Result<(), Error> {
    let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_printable { Ok(()) } else { Err(Error::Text(name)) }
}

/// Checks the URL, and adds the path that the protocol specifies if it has none.
fn checked_https(guard: &AddressGuard, kind: DestinationType, text: &str) -> Result<String, Error> {
    let target = guard.target(text)?;
    if !guard.check_literal(&target) {
        return Err(Error::NotPublic);
    }
    let mut url = url::Url::parse(target.as_str()).map_err(webhooks::client::UrlError::Malformed)?;
    let default = match kind {
        DestinationType::SplunkHec => "/services/collector/event",
        DestinationType::Otlp => "/v1/logs",
        _ => "/",
    };
    if url.path() == "/" {
        url.set_path(default);
    }
    if kind == DestinationType::S3 && url.query().is_some() {
        return Err(Error::UrlForm("the URL of a storage has no query"));
    }
    Ok(url.into())
}

/// Checks `syslog+tls://host:port`.
fn checked_syslog(guard: &AddressGuard, text: &str) -> Result<String, Error> {
    let scheme = [SYSLOG_SCHEME, "://"].concat();
    let rest = text.strip_prefix(&scheme).ok_or(Error::UrlForm("write syslog+tls://host:6514"))?;
    // The rules of https hold for the host.
    let target = guard.target(&["https://", rest].concat())?;
    let url = url::Url::parse(target.as_str()).map_err(webhooks::client::UrlError::Malformed)?;
    if url.path() != "/" || url.query().is_some() {
        return Err(Error::UrlForm("write host and port only"));
    }
    if !guard.check_literal(&target) {
        return Err(Error::NotPublic);
    }
    let host = url.host_str().unwrap_or_default();
    // The parser leaves out 443, the default of https.
    let port = match url.port() {
        Some(port) => port,
        None if rest.trim_end_matches('/').ends_with(":443") => 443,
        None => SYSLOG_PORT,
    };
    Ok(format!("{scheme}{host}:{port}"))
}

/// Returns host and port of a checked syslog URL.
pub(crate) fn syslog_address(url: &str) -> Option<(&str, u16)> {
    let (host, port) = url.strip_prefix(SYSLOG_SCHEME)?.strip_prefix("://")?.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{
        DestinationType::{Https, Otlp, S3, SplunkHec, Syslog},
        *,
    };

    fn destination(kind: DestinationType, url: &str) -> Destination {
        Destination {
            kind,
            url: url.into(),
            header: None,
            bucket: None,
            region: None,
            prefix: None,
            access_key_id: None,
            ca_certificates: None,
            client_certificate: None,
        }
    }

    fn checked(destination: Destination, has_secret: bool) -> Result<Destination, String> {
        let guard = AddressGuard::new(Vec::new(), false);
        destination.checked(&guard, has_secret).map_err(|error| error.to_string())
    }

    #[test]
    fn urls_get_the_path_of_their_protocol() {
        let url =
            |kind, url: &str, has_secret| checked(destination(kind, url), has_secret).map(|one| one.url);
        let of = |text: &str| Ok(text.to_owned());
        assert_eq!(url(Https, "https://siem.example.com", false), of("https://siem.example.com/"));
        let hec = url(SplunkHec, "https://splunk.example.com:8088", true);
        assert_eq!(hec, of("https://splunk.example.com:8088/services/collector/event"));
        assert_eq!(url(Otlp, "https://otel.example.com/", false), of("https://otel.example.com/v1/logs"));
        assert_eq!(
            url(Otlp, "https://otel.example.com/otlp/v1/logs", false),
            of("https://otel.example.com/otlp/v1/logs")
        );
        assert_eq!(
            url(Syslog, "syslog+tls://Logs.example.com", false),
            of("syslog+tls://logs.example.com:6514")
        );
        assert_eq!(
            url(Syslog, "syslog+tls://logs.example.com:443", false),
            of("syslog+tls://logs.example.com:443")
        );
        assert_eq!(
            url(Syslog, "syslog+tls://[2606:4700::1]:6514", false),
            of("syslog+tls://[2606:4700::1]:6514")
        );
        assert_eq!(syslog_address("syslog+tls://[2606:4700::1]:6514"), Some(("[2606:4700::1]", 6514)));
        for refused in
            ["https://10.0.0.1/", "http://siem.example.com/", "https://u:p@siem.example.com/", "siem"]
        {
            assert!(url(Https, refused, false).is_err(), "{refused}");
        }
        for refused in [
            "syslog://logs.example.com",
            "syslog+tls://127.0.0.1:6514",
            "syslog+tls://logs.example.com/path",
            "syslog+tls://u@logs.example.com",
            "https://logs.example.com",
        ] {
            assert!(url(Syslog, refused, false).is_err(), "{refused}");
        }
    }

    #[test]
    fn members_belong_to_their_type() {
        let https = destination(Https, "https://siem.example.com");
        assert_eq!(checked(destination(SplunkHec, &https.url), false).unwrap_err(), "secret: is missing");
        let with_bucket = Destination { bucket: Some("logs".into()), ..https.clone() };
        assert_eq!(
            checked(with_bucket, false).unwrap_err(),
            "bucket: this type of stream has no such member"
        );
        let with_header = Destination { kind: Otlp, header: Some("Authorization".into()), ..https.clone() };
        assert_eq!(checked(with_header.clone(), false).unwrap_err(), "secret: is missing");
        assert!(checked(with_header, true).is_ok());
        assert_eq!(checked(https.clone(), true).unwrap_err(), "header: is missing");
        let odd = Destination { header: Some("a b".into()), ..https.clone() };
        assert!(checked(odd, true).unwrap_err().starts_with("header: "));
        let s3 = Destination {
            kind: S3,
            bucket: Some("logs".into()),
            region: Some("eu-central-1".into()),
            ..https
        };
        assert_eq!(checked(s3.clone(), true).unwrap_err(), "accessKeyId: is missing");
        let s3 = Destination { access_key_id: Some("AKIA".into()), prefix: Some(String::new()), ..s3 };
        assert_eq!(checked(s3.clone(), true).unwrap().prefix, None, "empty means absent");
        assert!(checked(Destination { prefix: Some("a\nb".into()), ..s3 }, true).is_err());
        let syslog = destination(Syslog, "syslog+tls://logs.example.com");
        assert_eq!(checked(syslog.clone(), true).unwrap_err(), "clientCertificate: is missing");
        let wrong = Destination { ca_certificates: Some("no PEM".into()), ..syslog };
        assert!(checked(wrong, false).unwrap_err().starts_with("caCertificates: "));
    }
}
