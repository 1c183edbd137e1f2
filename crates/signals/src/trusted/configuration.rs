//! The configuration of a transmitter (SSF 1.0, section 7).

use oidc_rp::metadata_url;
use serde::Deserialize;

/// The place of configurations, between host and path of the issuer.
const WELL_KNOWN: &str = "/.well-known/ssf-configuration";
const OPENID: &str = "/.well-known/openid-configuration";

/// The members of a configuration that a receiver of pushed tokens needs.
#[derive(Deserialize)]
struct Configuration {
    issuer: String,
    jwks_uri: Option<String>,
}

/// Returns the URL of the configuration of an issuer (section 7.2.1).
///
/// # Errors
/// What to write instead of an issuer that is not an `https` URL without query and fragment.
pub fn configuration_url_of(issuer: &str) -> Result<String, String> {
    // It checks the issuer, and appends to the whole URL.
    let appended = metadata_url(issuer).map_err(|error| error.to_string())?;
    let base = appended.strip_suffix(OPENID).unwrap_or(&appended);
    let rest = base.strip_prefix("https://").unwrap_or(base);
    let (host, path) =
        rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    Ok(format!("https://{host}{WELL_KNOWN}{path}"))
}

/// Reads the URL of the key set from the configuration of an issuer.
///
/// # Errors
/// Why the configuration cannot be used. It must name exactly this issuer, so that no transmitter answers for another
/// (section 7.2.3).
pub fn jwks_uri_of(text: &str, issuer: &str) -> Result<String, String> {
    let configuration: Configuration = serde_json::from_str(text)
        .map_err(|_| "the configuration is not a JSON object with an issuer".to_owned())?;
    if configuration.issuer != issuer {
        return Err(format!(
            "the configuration is of the issuer {:?}, not of {issuer:?}",
            configuration.issuer
        ));
    }
    let url = configuration.jwks_uri.ok_or("the configuration has no jwks_uri")?;
    check_url("jwks_uri", &url)?;
    Ok(url)
}

/// Checks the URL of a key set.
pub(super) fn check_url(name: &str, url: &str) -> Result<(), String> {
    let is_sound =
        url.starts_with("https://") && url.len() <= 2_048 && url.bytes().all(|byte| byte.is_ascii_graphic());
    if is_sound { Ok(()) } else { Err(format!("{name}: write an https URL of at most 2,048 characters")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_found_between_host_and_path() {
        let url = |issuer: &str| configuration_url_of(issuer);
        assert_eq!(
            url("https://tr.example.com").unwrap(),
            "https://tr.example.com/.well-known/ssf-configuration"
        );
        assert_eq!(
            url("https://tr.example.com/").unwrap(),
            "https://tr.example.com/.well-known/ssf-configuration"
        );
        let with_path = url("https://tr.example.com/issuer1").unwrap();
        assert_eq!(with_path, "https://tr.example.com/.well-known/ssf-configuration/issuer1");
        for issuer in [
            "http://tr.example.com",
            "https://tr.example.com/?a=b",
            "tr.example.com",
            "https://u:p@x.example",
        ] {
            assert!(url(issuer).is_err(), "{issuer}");
        }
    }

    #[test]
    fn configurations_name_their_issuer_and_keys() {
        let issuer = "https://tr.example.com/issuer1";
        let text = r#"{"issuer":"https://tr.example.com/issuer1","jwks_uri":"https://tr.example.com/jwks.json","x":1}"#;
        assert_eq!(jwks_uri_of(text, issuer).unwrap(), "https://tr.example.com/jwks.json");
        assert!(jwks_uri_of(text, "https://tr.example.com").unwrap_err().contains("is of the issuer"));
        assert!(jwks_uri_of("[]", issuer).is_err());
        assert!(jwks_uri_of(&text.replace("jwks_uri", "other"), issuer).unwrap_err().contains("no jwks_uri"));
        assert!(jwks_uri_of(&text.replace("https://tr.example.com/jwks", "http://x/jwks"), issuer).is_err());
    }
}
