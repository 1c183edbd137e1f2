//! The HTTP-Redirect binding: messages compressed with DEFLATE in the query of a URL, with a signature over the query
//! (SAML bindings, section 3.4.4).

use std::io::{Read, Write};

use data_encoding::BASE64;
use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use openssl::{hash::MessageDigest, pkey::PKey, sign::Signer};
use url::form_urlencoded;

use crate::{
    encode,
    keys::{KeyError, KeyPair},
    refusal::{Reason, Refusal},
};

/// Maximum length of a query with a message, in bytes.
const MAX_QUERY: usize = 32 * 1024;
/// Maximum size of a message after decompression, in bytes.
const MAX_MESSAGE: u64 = 64 * 1024;
/// The only encoding that the binding defines, and the default.
const DEFLATE: &str = "urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE";
const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

/// Returns the URL that brings a message to `location`, signed if there is a key.
pub(crate) fn url(
    location: &str,
    (field, xml): (&'static str, &str),
    relay_state: Option<&str>,
    key: Option<&KeyPair>,
) -> Result<String, KeyError> {
    let failed = |_| KeyError("used to sign");
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(xml.as_bytes()).and_then(|()| encoder.finish());
    let message = BASE64.encode(&packed.map_err(|_| KeyError("used to compress a message"))?);
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair(field, &message);
    if let Some(relay_state) = relay_state {
        query.append_pair("RelayState", relay_state);
    }
    if key.is_some() {
        query.append_pair("SigAlg", RSA_SHA256);
    }
    let mut query = query.finish();
    if let Some(key) = key {
        let private = PKey::private_key_from_pkcs8(key.private.expose()).map_err(failed)?;
        let mut signer = Signer::new(MessageDigest::sha256(), &private).map_err(failed)?;
        let signature = BASE64.encode(&signer.sign_oneshot_to_vec(query.as_bytes()).map_err(failed)?);
        query = form_urlencoded::Serializer::new(query).append_pair("Signature", &signature).finish();
    }
    let separator = if location.contains('?') { '&' } else { '?' };
    Ok(format!("{location}{separator}{query}"))
}

/// A message in a query, whose signature is not verified yet.
pub(crate) struct SignedQuery {
    /// The octets that the signature covers.
    pub(crate) signed: String,
    /// The URI of the signature algorithm.
    pub(crate) algorithm: String,
    /// The signature.
    pub(crate) value: Vec<u8>,
    /// The XML that `signed` contains.
    pub(crate) message: String,
    /// The RelayState that `signed` contains.
    pub(crate) relay_state: Option<String>,
}

impl SignedQuery {
    /// Reads the parameter `field` with its signature.
    pub(crate) fn read(query: &str, field: &'static str) -> Result<Self, Refusal> {
        if query.len() > MAX_QUERY {
            let detail = format!("the query has {} bytes; the maximum is {MAX_QUERY}", query.len());
            return Err(Refusal::new(Reason::TooLarge, detail));
        }
        let message = parameter(query, field)?
            .ok_or_else(|| Refusal::new(Reason::Missing, format!("the query has no {field}")))?;
        let relay_state = parameter(query, "RelayState")?;
        if parameter(query, "SAMLEncoding")?.is_some_and(|encoding| decoded(encoding) != DEFLATE) {
            return Err(Refusal::new(Reason::NotDeflate, "SAMLEncoding is not DEFLATE"));
        }
        let unsigned =
            || Refusal::new(Reason::Unsigned, "the query has no SigAlg and Signature, so it is not signed");
        let algorithm = parameter(query, "SigAlg")?.ok_or_else(unsigned)?;
        let value = decoded(parameter(query, "Signature")?.ok_or_else(unsigned)?);
        let value = encode::base64(&value)
            .map_err(|_| Refusal::new(Reason::SignatureShape, "the Signature is not base64"))?;
        let relayed = relay_state.map(|state| format!("&RelayState={state}")).unwrap_or_default();
        Ok(Self {
            signed: format!("{field}={message}{relayed}&SigAlg={algorithm}"),
            algorithm: decoded(algorithm),
            value,
            message: inflated(field, &decoded(message))?,
            relay_state: relay_state.map(decoded),
        })
    }
}

/// Returns a parameter as it is encoded in the query. A repeated one is refused, because readers disagree on which
/// counts.
fn parameter<'q>(query: &'q str, name: &str) -> Result<Option<&'q str>, Refusal> {
    let mut found = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| value);
    let first = found.next();
    if found.next().is_some() {
        return Err(Refusal::new(Reason::SignatureShape, format!("the query has {name} twice")));
    }
    Ok(first)
}

fn decoded(value: &str) -> String {
    let pair = format!("v={value}");
    form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn inflated(field: &str, message: &str) -> Result<String, Refusal> {
    let packed = encode::base64(message)
        .map_err(|error| Refusal::new(Reason::NotBase64, format!("{field} is not base64: {error}")))?;
    let mut plain = Vec::new();
    DeflateDecoder::new(packed.as_slice())
        .take(MAX_MESSAGE + 1)
        .read_to_end(&mut plain)
        .map_err(|_| Refusal::new(Reason::NotDeflate, format!("{field} is not compressed with DEFLATE")))?;
    if u64::try_from(plain.len()).is_ok_and(|length| length > MAX_MESSAGE) {
        let detail = format!("{field} has more than {MAX_MESSAGE} bytes after decompression");
        return Err(Refusal::new(Reason::TooLarge, detail));
    }
    encode::text(field, plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "<a>é</a>";

    fn packed(bytes: &[u8]) -> String {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        BASE64.encode(&encoder.finish().unwrap())
    }

    fn query(pairs: &[(&str, &str)]) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    fn reason(query: &str) -> Option<Reason> {
        SignedQuery::read(query, "SAMLRequest").err().map(|refusal| refusal.reason)
    }

    #[test]
    fn written_messages_are_read_back() {
        let plain = url("https://idp.example/slo", ("SAMLRequest", XML), Some("a b"), None).unwrap();
        assert!(plain.starts_with("https://idp.example/slo?SAMLRequest=") && !plain.contains("Signature"));
        let key = KeyPair::generate("us", "2026-01-01T00:00:00.000Z".parse().unwrap()).unwrap();
        let signed = url("https://idp.example/slo?b=1", ("SAMLRequest", XML), Some("a b"), Some(&key));
        let signed = signed.unwrap();
        let query = signed.strip_prefix("https://idp.example/slo?b=1&").unwrap();
        let read = SignedQuery::read(query, "SAMLRequest").unwrap();
        assert_eq!((read.message.as_str(), read.algorithm.as_str()), (XML, RSA_SHA256));
        assert_eq!(read.signed, query.rsplit_once("&Signature=").unwrap().0);
    }

    #[test]
    fn malformed_queries_are_refused() {
        let good = packed(XML.as_bytes());
        let all = [("SAMLRequest", good.as_str()), ("SigAlg", RSA_SHA256), ("Signature", "AAAA")];
        assert_eq!(reason(&query(&all)), None);
        assert_eq!(reason(""), Some(Reason::Missing));
        assert_eq!(reason(&query(&all[..2])), Some(Reason::Unsigned));
        assert_eq!(reason(&query(&[all[0], all[2]])), Some(Reason::Unsigned));
        assert_eq!(reason(&query(&[all[0], all[1], ("Signature", "A")])), Some(Reason::SignatureShape));
        for (name, value) in [all[0], all[1], all[2], ("RelayState", "x"), ("SAMLEncoding", DEFLATE)] {
            let twice = [&all[..], &[(name, value), (name, value)]].concat();
            assert_eq!(reason(&query(&twice)), Some(Reason::SignatureShape), "{name}");
        }
        let encoded = [&all[..], &[("SAMLEncoding", "urn:other")]].concat();
        assert_eq!(reason(&query(&encoded)), Some(Reason::NotDeflate));
        let with = |message: &str| query(&[("SAMLRequest", message), all[1], all[2]]);
        assert_eq!(reason(&with("%%")), Some(Reason::NotBase64));
        assert_eq!(reason(&with(&BASE64.encode(b"\xff\xff\xff"))), Some(Reason::NotDeflate));
        assert_eq!(reason(&with(&packed(b"\xff\xfe"))), Some(Reason::NotUtf8));
        assert_eq!(reason(&with(&packed(b"<a>\0</a>"))), Some(Reason::NotUtf8));
        // Ten MiB of zeros have ten KiB when compressed.
        assert_eq!(reason(&with(&packed(&vec![b' '; 10 << 20]))), Some(Reason::TooLarge));
        assert_eq!(reason(&"a".repeat(MAX_QUERY + 1)), Some(Reason::TooLarge));
    }
}
