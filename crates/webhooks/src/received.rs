//! Verified events, for receivers.

use http::HeaderMap;
use serde_json::Value;

use crate::{Verifier, verify::Invalid};

/// An event whose signature was verified.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReceivedEvent {
    /// `evt_…`. The same event can arrive more than once; it has the same ID then.
    pub id: String,
    /// The event type, such as `ACCOUNT_USER_CREATED`.
    pub kind: String,
    /// `ten_…`
    pub tenant_id: String,
    /// The type of what the event is about, such as `user`.
    pub resource_type: String,
    /// The ID of what the event is about, such as `usr_…`.
    pub resource_id: String,
    /// All members of the event.
    pub json: Value,
}

impl ReceivedEvent {
    fn of(json: Value) -> Option<Self> {
        let text = |pointer: &str| json.pointer(pointer)?.as_str().map(str::to_owned);
        Some(Self {
            id: text("/id")?,
            kind: text("/type")?,
            tenant_id: text("/tenantId")?,
            resource_type: text("/resource/type")?,
            resource_id: text("/resource/id")?,
            json,
        })
    }
}

impl Verifier {
    /// Verifies a delivery that has just arrived, and parses its event. `body` is the received body, byte for byte.
    ///
    /// # Errors
    ///
    /// As [`Verifier::verify`], and [`Invalid::Event`] if the signed body is not an event.
    pub fn event(&self, headers: &HeaderMap, body: &[u8]) -> Result<ReceivedEvent, Invalid> {
        self.verify(headers, body)?;
        parsed(body)
    }

    /// Verifies a delivery that arrived at `now`, in seconds since 1970, and parses its event.
    ///
    /// # Errors
    ///
    /// As [`Verifier::event`].
    pub fn event_at(&self, headers: &HeaderMap, body: &[u8], now: i64) -> Result<ReceivedEvent, Invalid> {
        self.verify_at(headers, body, now)?;
        parsed(body)
    }
}

fn parsed(body: &[u8]) -> Result<ReceivedEvent, Invalid> {
    serde_json::from_slice(body).ok().and_then(ReceivedEvent::of).ok_or(Invalid::Event)
}

#[cfg(test)]
mod tests {
    use ring::hmac;

    use super::*;

    const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const NOW: i64 = 1_767_225_600;

    fn signed(body: &str) -> HeaderMap {
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        let tag = hmac::sign(&key, format!("{NOW}.{body}").as_bytes());
        let signature = format!("v1={}", data_encoding::HEXLOWER.encode(tag.as_ref()));
        let lines = [("x-service-timestamp", NOW.to_string()), ("x-service-signature", signature)];
        lines.into_iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn event_is_parsed_after_its_signature_was_verified() {
        let verifier = Verifier::new([SECRET]).unwrap();
        let body = r#"{"id":"evt_1","type":"ACCOUNT_USER_CREATED","tenantId":"ten_1","resource":{"type":"user","id":"usr_1"},"data":{"a":1}}"#;
        let event = verifier.event_at(&signed(body), body.as_bytes(), NOW).unwrap();
        assert_eq!((&*event.id, &*event.kind, &*event.tenant_id), ("evt_1", "ACCOUNT_USER_CREATED", "ten_1"));
        assert_eq!((&*event.resource_type, &*event.resource_id), ("user", "usr_1"));
        assert_eq!(event.json["data"]["a"], 1);
        let changed = body.replace("usr_1", "usr_2");
        let refused = verifier.event_at(&signed(body), changed.as_bytes(), NOW);
        assert_eq!(refused, Err(Invalid::Signature));
        assert_eq!(verifier.event(&signed(body), body.as_bytes()), Err(Invalid::Stale));
        for other in ["", "{}", "[]", r#"{"id":1}"#, &body.replace("\"resource\"", "\"about\"")] {
            let refused = verifier.event_at(&signed(other), other.as_bytes(), NOW);
            assert_eq!(refused, Err(Invalid::Event), "{other}");
        }
    }
}
