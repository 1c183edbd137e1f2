//! Why a received token is refused: details for administrators, an error code for the transmitter.

use serde::{Deserialize, Serialize};

use super::text::printable;

/// Defines each reason with its code, and the error code for the transmitter.
macro_rules! reasons {
    ($($error:literal { $($(#[$doc:meta])+ $name:ident $code:tt,)+ })+) => {
        /// The exact reason for refusing a token.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Reason { $($($(#[$doc])+ #[serde(rename = $code)] $name,)+)+ }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)+)+];

            /// Returns the code used in the API and in storage.
            pub fn as_str(self) -> &'static str {
                match self { $($(Self::$name => $code,)+)+ }
            }

            /// Returns the error code for the transmitter (RFC 8935, section 2.4, and SSF 1.0, section 11).
            pub fn set_error(self) -> &'static str {
                match self { $($(Self::$name)|+ => $error,)+ }
            }
        }
    };
}

reasons! {
    "invalid_request" {
        /// The token is longer than 64 KiB.
        TooLarge "TOKEN_TOO_LARGE",
        /// The token does not have the form of a signed JWT.
        NotSigned "NOT_A_SIGNED_JWT",
        /// A part is not base64url without padding.
        NotBase64 "NOT_BASE64URL",
        /// The header is not a JSON object within limits and without repeated members.
        HeaderNotJson "HEADER_NOT_JSON",
        /// A member of the header has the wrong type.
        Header "HEADER_MALFORMED",
        /// The header marks extensions as critical.
        Critical "CRITICAL_HEADER",
        /// The header does not name the type of security event tokens (SSF 1.0, section 4.1.1).
        TokenType "WRONG_TOKEN_TYPE",
        /// The payload is not a JSON object within limits and without repeated members.
        ClaimsNotJson "CLAIMS_NOT_JSON",
        /// The token has `exp`, which SSF 1.0 forbids (section 4.1.7), because it marks other kinds of JWTs.
        ExpPresent "EXP_PRESENT",
        /// The token has `sub`, which SSF 1.0 forbids (section 4.1.2), because it marks other kinds of JWTs.
        SubPresent "SUB_PRESENT",
        /// A required claim is missing.
        ClaimMissing "CLAIM_MISSING",
        /// `iss` is not a string.
        IssuerMalformed "ISS_MALFORMED",
        /// `aud` is neither a string nor an array of at most 20 strings.
        AudienceMalformed "AUD_MALFORMED",
        /// `jti` is not a string of 1 to 255 printable characters.
        TokenIdMalformed "JTI_MALFORMED",
        /// `iat` is not a number of seconds.
        IssuedAtMalformed "IAT_MALFORMED",
        /// The token was issued more than 60 seconds from now.
        IssuedInFuture "ISSUED_IN_FUTURE",
        /// `nbf` is not a number of seconds, or more than 60 seconds from now.
        NotYetValid "NOT_YET_VALID",
        /// The token was issued more than seven days ago.
        TooOld "ISSUED_TOO_LONG_AGO",
        /// `txn` is not a string of 1 to 255 printable characters.
        TransactionMalformed "TXN_MALFORMED",
        /// `events` is not an object.
        EventsMalformed "EVENTS_MALFORMED",
        /// `events` is empty.
        NoEvent "NO_EVENT",
        /// `events` has several events (CAEP interoperability profile, section 2.8.1).
        SeveralEvents "SEVERAL_EVENTS",
        /// The type of the event is not a URI of at most 500 bytes.
        EventTypeMalformed "EVENT_TYPE_MALFORMED",
        /// The event is not an object.
        EventMalformed "EVENT_MALFORMED",
        /// `toe` or `event_timestamp` is not a date.
        EventTimeMalformed "EVENT_TIME_MALFORMED",
        /// The event happens more than 60 seconds from now.
        EventInFuture "EVENT_IN_FUTURE",
        /// The token does not name a subject.
        SubjectMissing "SUBJECT_MISSING",
        /// `sub_id` and the event's own subject differ.
        SubjectsDiffer "SUBJECTS_DIFFER",
        /// The subject does not conform to its format.
        SubjectMalformed "SUBJECT_MALFORMED",
        /// The event does not conform to its type.
        PayloadMalformed "PAYLOAD_MALFORMED",
    }
    "invalid_key" {
        /// The algorithm is symmetric, `none`, unknown or not accepted for security event tokens.
        Algorithm "ALGORITHM_NOT_ALLOWED",
        /// The key set has no such key.
        UnknownKey "KEY_UNKNOWN",
        /// Several keys fit.
        AmbiguousKey "KEY_AMBIGUOUS",
        /// The signature is not by that key.
        BadSignature "SIGNATURE_INVALID",
    }
    "invalid_issuer" {
        /// The issuer is another transmitter.
        Issuer "WRONG_ISSUER",
    }
    "invalid_audience" {
        /// The audience is another receiver.
        Audience "WRONG_AUDIENCE",
    }
    "authentication_failed" {
        /// The request does not prove which transmitter sent it. The host checks this.
        NotAuthenticated "TRANSMITTER_NOT_AUTHENTICATED",
    }
    "access_denied" {
        /// The transmitter may not send this token, for example because it was disabled. The host checks this.
        NotAllowed "TRANSMITTER_NOT_ALLOWED",
    }
    "invalid_state" {
        /// The state of a verification is not the requested one. The host checks this.
        StateDiffers "STATE_DIFFERS",
    }
}

/// The refusal of a received token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.as_str())]
pub struct Refusal {
    /// Reason code, for the audit entry.
    pub reason: Reason,
    /// The found and the expected value, for the administrator: at most 500 printable characters.
    pub detail: String,
}

impl Refusal {
    /// Creates a refusal with a sentence for the administrator, truncated and with unsafe characters replaced.
    pub fn new(reason: Reason, detail: impl AsRef<str>) -> Self {
        Self { reason, detail: printable(detail.as_ref()) }
    }

    /// Returns the error code for the transmitter, which learns nothing else.
    pub fn set_error(&self) -> &'static str {
        self.reason.set_error()
    }

    /// Returns whether a key that the transmitter has changed may be the cause, so that reading its key set again may help.
    pub fn may_be_new_key(&self) -> bool {
        matches!(self.reason, Reason::UnknownKey | Reason::AmbiguousKey | Reason::BadSignature)
    }
}

impl From<oidc_rp::Refusal> for Refusal {
    fn from(refusal: oidc_rp::Refusal) -> Self {
        let reason = match refusal.reason {
            oidc_rp::Reason::TooLarge => Reason::TooLarge,
            oidc_rp::Reason::NotBase64 => Reason::NotBase64,
            oidc_rp::Reason::HeaderNotJson => Reason::HeaderNotJson,
            oidc_rp::Reason::Header => Reason::Header,
            oidc_rp::Reason::Critical => Reason::Critical,
            oidc_rp::Reason::TokenType => Reason::TokenType,
            oidc_rp::Reason::Algorithm => Reason::Algorithm,
            oidc_rp::Reason::UnknownKey => Reason::UnknownKey,
            oidc_rp::Reason::AmbiguousKey => Reason::AmbiguousKey,
            oidc_rp::Reason::BadSignature => Reason::BadSignature,
            oidc_rp::Reason::ClaimsNotJson => Reason::ClaimsNotJson,
            // `NotSigned`. The other reasons are about sign-ins, and a signature does not fail with them.
            _ => Reason::NotSigned,
        };
        Self::new(reason, refusal.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmitters_get_registered_error_codes_only() {
        for reason in Reason::ALL {
            let error = Refusal::new(*reason, "secret\n").set_error();
            assert!(
                !error.contains("secret")
                    && error.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())
            );
            let code = reason.as_str();
            let is_code = |byte: u8| byte == b'_' || byte.is_ascii_uppercase() || byte.is_ascii_digit();
            assert!(code.bytes().all(is_code), "{code}");
            assert_eq!(serde_json::to_value(reason).unwrap(), code);
        }
        let codes: std::collections::BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
    }
}
