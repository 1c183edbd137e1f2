//! Why a response is rejected: details for administrators, none for the sender of the response.

use serde::{Deserialize, Serialize};

/// The checks, in order. After a failed check, later ones do not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlTestCheckName, description = "Checks of a response, in this order."))]
pub enum Step {
    /// Base64 of at most 1 MiB of UTF-8.
    Encoding,
    /// XML within limits, without DOCTYPE or processing instructions.
    Xml,
    /// The structure of a response, with exactly one assertion.
    Structure,
    /// Signatures by a pinned certificate.
    Signature,
    /// Decryption of an encrypted assertion.
    Decryption,
    /// The status reports success.
    Status,
    /// Destination, issuer and time of issue.
    Addressing,
    /// Validity period and audience.
    Conditions,
    /// Confirmation of the bearer, recipient and expiry.
    Subject,
    /// It answers one of our requests.
    Request,
    /// The assertion has not been used.
    Replay,
    /// A single email address in one of the provider's domains.
    Email,
    /// A user of the tenant who may sign in this way.
    Account,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Self; 13] = [
        Self::Encoding,
        Self::Xml,
        Self::Structure,
        Self::Signature,
        Self::Decryption,
        Self::Status,
        Self::Addressing,
        Self::Conditions,
        Self::Subject,
        Self::Request,
        Self::Replay,
        Self::Email,
        Self::Account,
    ];

    /// Returns the code used in the API and in storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Encoding => "ENCODING",
            Self::Xml => "XML",
            Self::Structure => "STRUCTURE",
            Self::Signature => "SIGNATURE",
            Self::Decryption => "DECRYPTION",
            Self::Status => "STATUS",
            Self::Addressing => "ADDRESSING",
            Self::Conditions => "CONDITIONS",
            Self::Subject => "SUBJECT",
            Self::Request => "REQUEST",
            Self::Replay => "REPLAY",
            Self::Email => "EMAIL",
            Self::Account => "ACCOUNT",
        }
    }
}

/// Defines each reason with its step and code in one place.
macro_rules! reasons {
    ($($step:ident { $($(#[$doc:meta])+ $name:ident $word:tt,)+ })+) => {
        /// The exact reason for a rejection.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(as = SamlRefusalReason, description = "Why a response is refused."))]
        pub enum Reason { $($($(#[$doc])+ #[serde(rename = $word)] $name,)+)+ }

        impl Reason {
            /// Every reason, in the order of the steps.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)+)+];

            /// Returns the code used in the API and in storage.
            pub fn as_str(self) -> &'static str {
                match self { $($(Self::$name => $word,)+)+ }
            }

            /// Returns the check that fails with this reason.
            pub fn step(self) -> Step {
                match self { $($(Self::$name)|+ => Step::$step,)+ }
            }
        }
    };
}

reasons! {
    Encoding {
        /// The form has no response.
        Missing "RESPONSE_MISSING",
        /// The response is longer than 1 MiB.
        TooLarge "RESPONSE_TOO_LARGE",
        /// The response is not base64.
        NotBase64 "NOT_BASE64",
        /// The response is not UTF-8 or has a NUL.
        NotUtf8 "NOT_UTF8",
        /// The message in a URL is not compressed with DEFLATE.
        NotDeflate "NOT_DEFLATE",
    }
    Xml {
        /// A DOCTYPE or a processing instruction.
        ForbiddenMarkup "FORBIDDEN_MARKUP",
        /// Too deep, too many elements, attributes, namespaces or comments.
        OutOfBounds "XML_OUT_OF_BOUNDS",
        /// The XML is not well-formed.
        NotWellFormed "NOT_WELL_FORMED",
    }
    Structure {
        /// The root element is not a SAML 2.0 Response.
        NotAResponse "NOT_A_RESPONSE",
        /// The root element is not a SAML 2.0 LogoutRequest or LogoutResponse.
        NotALogout "NOT_A_LOGOUT_MESSAGE",
        /// An element that SAML does not allow there or in this order.
        UnexpectedElement "UNEXPECTED_ELEMENT",
        /// No assertion, more than one, or one in the wrong place.
        NotOneAssertion "NOT_ONE_ASSERTION",
        /// An ID is missing, malformed, duplicate or in a namespace.
        BadId "BAD_ID",
        /// A signature in the wrong place, or too many.
        MisplacedSignature "MISPLACED_SIGNATURE",
        /// The signature has an unsupported form.
        SignatureShape "SIGNATURE_SHAPE",
        /// The signature uses an unsupported algorithm.
        SignatureAlgorithm "SIGNATURE_ALGORITHM",
        /// A comment or an element within a value.
        MixedText "MIXED_TEXT",
    }
    Signature {
        /// Neither the response nor the assertion is signed.
        Unsigned "UNSIGNED",
        /// The provider has no certificate that is valid now.
        NoCertificate "NO_VALID_CERTIFICATE",
        /// The signature is by none of the pinned certificates.
        BadSignature "SIGNATURE_INVALID",
        /// The signed content was changed.
        BadDigest "DIGEST_MISMATCH",
    }
    Decryption {
        /// Our keys cannot decrypt it, or the algorithm is unsupported.
        Undecryptable "DECRYPTION_FAILED",
    }
    Status {
        /// The identity provider reports a failure.
        NotSuccess "STATUS_NOT_SUCCESS",
    }
    Addressing {
        /// The destination is another address.
        Destination "WRONG_DESTINATION",
        /// The issuer is another identity provider.
        Issuer "WRONG_ISSUER",
        /// The time of issue is missing or in the future.
        IssueInstant "WRONG_ISSUE_INSTANT",
    }
    Conditions {
        /// The assertion has no conditions.
        NoConditions "CONDITIONS_MISSING",
        /// Not yet valid, expired, or an invalid timestamp.
        OutsideTime "OUTSIDE_VALIDITY",
        /// A condition is unknown.
        UnknownCondition "UNKNOWN_CONDITION",
        /// The audience is another service.
        Audience "WRONG_AUDIENCE",
        /// No statement of how the user signed in.
        NoAuthnStatement "AUTHN_STATEMENT_MISSING",
        /// The session at the identity provider has expired.
        SessionOver "SESSION_EXPIRED",
        /// The user signed in by another method, or earlier, than requested.
        AuthnContext "AUTHN_NOT_AS_REQUESTED",
    }
    Subject {
        /// No bearer confirmation is valid.
        NotConfirmed "SUBJECT_NOT_CONFIRMED",
    }
    Request {
        /// It answers no request: the sign-in began at the identity provider.
        Unsolicited "UNSOLICITED",
        /// The request is unknown, expired, or of another provider.
        UnknownRequest "REQUEST_UNKNOWN_OR_EXPIRED",
        /// The request was answered already.
        RequestUsed "REQUEST_ALREADY_ANSWERED",
        /// The request was started in another browser.
        OtherBrowser "OTHER_BROWSER",
    }
    Replay {
        /// The assertion was used before.
        Replayed "ASSERTION_REPLAYED",
        /// The logout request was used before.
        LogoutUsed "LOGOUT_REQUEST_ALREADY_USED",
    }
    Email {
        /// The expected place has no email address.
        NoEmail "EMAIL_MISSING",
        /// There are several email addresses.
        ManyEmails "EMAIL_AMBIGUOUS",
        /// The value is not an email address.
        BadEmail "EMAIL_MALFORMED",
        /// The address is not in one of the provider's domains.
        ForeignDomain "EMAIL_DOMAIN_NOT_ALLOWED",
        /// The address is in a domain that another tenant has verified.
        DomainOfAnother "EMAIL_DOMAIN_OF_ANOTHER_TENANT",
    }
    Account {
        /// The tenant has no user with this address.
        NotProvisioned "NOT_PROVISIONED",
        /// The tenant does not allow SSO.
        SsoNotAllowed "SSO_NOT_ALLOWED",
        /// The account is disabled.
        Disabled "ACCOUNT_DISABLED",
        /// Another persistent NameID is pinned to the user.
        SubjectChanged "SUBJECT_CHANGED",
        /// The persistent NameID is pinned to another user.
        SubjectOfAnother "SUBJECT_OF_ANOTHER_USER",
        /// The network policy blocks the caller's address.
        Network "NETWORK_POLICY_BLOCKED",
    }
}

/// The rejection of a response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.as_str())]
pub struct Refusal {
    /// Reason code, for the audit entry.
    pub reason: Reason,
    /// The found and the expected value, for the administrator: at most 500 printable characters.
    pub detail: String,
}

impl Refusal {
    /// Creates a refusal with a sentence for the administrator, truncated and with control characters replaced.
    pub fn new(reason: Reason, detail: impl AsRef<str>) -> Self {
        let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        Self { reason, detail: detail.as_ref().chars().take(500).map(printable).collect() }
    }

    /// Returns the check that failed.
    pub fn step(&self) -> Step {
        self.reason.step()
    }

    /// Returns whether a key that the identity provider has changed may be the cause, so that newer metadata may help.
    pub fn may_be_new_key(&self) -> bool {
        matches!(self.reason, Reason::BadSignature | Reason::NoCertificate)
    }
}
