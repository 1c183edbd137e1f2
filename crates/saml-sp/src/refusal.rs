//! Why a response is not believed: everything for the administrator, nothing for whoever sent it.

use serde::{Deserialize, Serialize};

/// The checks in their order. What comes after the one that failed was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Step {
    /// Base64 of at most 1 MiB of UTF-8.
    Encoding,
    /// XML within bounds, without DOCTYPE or processing instruction.
    Xml,
    /// The shape that SAML gives a response, with one assertion.
    Structure,
    /// Signatures by a pinned certificate.
    Signature,
    /// Decryption of an encrypted assertion.
    Decryption,
    /// The identity provider says it succeeded.
    Status,
    /// It is for this address and from that provider.
    Addressing,
    /// Validity period and audience.
    Conditions,
    /// The bearer may present it here and now.
    Subject,
    /// It answers a request of ours.
    Request,
    /// It was not used before.
    Replay,
    /// One e-mail address of a domain of the provider's.
    Email,
    /// Somebody of the tenant who may sign in so.
    Account,
}

impl Step {
    /// All of them, in order.
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

    /// As it is written.
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

/// Defines the reasons: name, step and wire word in one place.
macro_rules! reasons {
    ($($step:ident { $($(#[$doc:meta])+ $name:ident $word:literal,)+ })+) => {
        /// What exactly was wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason { $($($(#[$doc])+ $name,)+)+ }

        impl Reason {
            /// All of them, in the order of their steps.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)+)+];

            /// As it is written.
            pub fn as_str(self) -> &'static str {
                match self { $($(Self::$name => $word,)+)+ }
            }

            /// The check that it belongs to.
            pub fn step(self) -> Step {
                match self { $($(Self::$name)|+ => Step::$step,)+ }
            }
        }
    };
}

reasons! {
    Encoding {
        /// There is no response in the form.
        Missing "RESPONSE_MISSING",
        /// It is longer than 1 MiB.
        TooLarge "RESPONSE_TOO_LARGE",
        /// It is not base64.
        NotBase64 "NOT_BASE64",
        /// It is not UTF-8, or there is a NUL in it.
        NotUtf8 "NOT_UTF8",
    }
    Xml {
        /// A DOCTYPE or a processing instruction.
        ForbiddenMarkup "FORBIDDEN_MARKUP",
        /// Too deep, too many elements, attributes, namespaces or comments.
        OutOfBounds "XML_OUT_OF_BOUNDS",
        /// It is not well-formed.
        NotWellFormed "NOT_WELL_FORMED",
    }
    Structure {
        /// The root is something else than a SAML 2.0 Response.
        NotAResponse "NOT_A_RESPONSE",
        /// Elements that SAML does not have there, or not in this order.
        UnexpectedElement "UNEXPECTED_ELEMENT",
        /// No assertion, more than one, or one in the wrong place.
        NotOneAssertion "NOT_ONE_ASSERTION",
        /// An ID is missing, malformed, twice, or in a namespace.
        BadId "BAD_ID",
        /// A signature in the wrong place, or too many.
        MisplacedSignature "MISPLACED_SIGNATURE",
        /// A signature of a form that is not taken.
        SignatureShape "SIGNATURE_SHAPE",
        /// An algorithm that is not taken.
        SignatureAlgorithm "SIGNATURE_ALGORITHM",
        /// A comment or an element within a value.
        MixedText "MIXED_TEXT",
    }
    Signature {
        /// Neither the response nor the assertion is signed.
        Unsigned "UNSIGNED",
        /// The provider has no certificate that is good now.
        NoCertificate "NO_VALID_CERTIFICATE",
        /// No pinned certificate has made this signature.
        BadSignature "SIGNATURE_INVALID",
        /// What is signed was changed.
        BadDigest "DIGEST_MISMATCH",
    }
    Decryption {
        /// It cannot be decrypted with our keys, or not with an algorithm that is taken.
        Undecryptable "DECRYPTION_FAILED",
    }
    Status {
        /// The identity provider says that it did not succeed.
        NotSuccess "STATUS_NOT_SUCCESS",
    }
    Addressing {
        /// It is for another address.
        Destination "WRONG_DESTINATION",
        /// It is from another identity provider.
        Issuer "WRONG_ISSUER",
        /// It is from the future or too old.
        IssueInstant "WRONG_ISSUE_INSTANT",
    }
    Conditions {
        /// There are none.
        NoConditions "CONDITIONS_MISSING",
        /// Not yet, or not any more.
        OutsideTime "OUTSIDE_VALIDITY",
        /// A condition that is not understood.
        UnknownCondition "UNKNOWN_CONDITION",
        /// It is for another audience.
        Audience "WRONG_AUDIENCE",
        /// It says nothing of how somebody signed in.
        NoAuthnStatement "AUTHN_STATEMENT_MISSING",
        /// The session at the identity provider is over.
        SessionOver "SESSION_EXPIRED",
        /// They signed in otherwise, or longer ago, than was asked for.
        AuthnContext "AUTHN_NOT_AS_REQUESTED",
    }
    Subject {
        /// There is no bearer confirmation that holds.
        NotConfirmed "SUBJECT_NOT_CONFIRMED",
    }
    Request {
        /// It answers no request: the identity provider began.
        Unsolicited "UNSOLICITED",
        /// The request is not known, over, or another provider's.
        UnknownRequest "REQUEST_UNKNOWN_OR_EXPIRED",
        /// The request was answered already.
        RequestUsed "REQUEST_ALREADY_ANSWERED",
        /// The request was begun in another browser.
        OtherBrowser "OTHER_BROWSER",
    }
    Replay {
        /// The assertion was used before.
        Replayed "ASSERTION_REPLAYED",
    }
    Email {
        /// There is no e-mail address where it is looked for.
        NoEmail "EMAIL_MISSING",
        /// There are several.
        ManyEmails "EMAIL_AMBIGUOUS",
        /// It is not an address.
        BadEmail "EMAIL_MALFORMED",
        /// Its domain is none of the provider's.
        ForeignDomain "EMAIL_DOMAIN_NOT_ALLOWED",
        /// Its domain was verified by another tenant.
        DomainOfAnother "EMAIL_DOMAIN_OF_ANOTHER_TENANT",
    }
    Account {
        /// Nobody of the tenant has this address.
        NotProvisioned "NOT_PROVISIONED",
        /// The tenant takes no sign-ins from identity providers.
        SsoNotAllowed "SSO_NOT_ALLOWED",
        /// The account is disabled.
        Disabled "ACCOUNT_DISABLED",
        /// The persistent NameID is another one than is pinned to the user.
        SubjectChanged "SUBJECT_CHANGED",
        /// The persistent NameID is pinned to another user.
        SubjectOfAnother "SUBJECT_OF_ANOTHER_USER",
        /// The network policy keeps the address out.
        Network "NETWORK_POLICY_BLOCKED",
    }
}

/// A response that is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.as_str())]
pub struct Refusal {
    /// Reason code, for the audit entry.
    pub reason: Reason,
    /// What was found and what was expected, for the administrator: at most 500 characters, printable.
    pub detail: String,
}

impl Refusal {
    /// With a sentence for the administrator.
    pub fn new(reason: Reason, detail: impl AsRef<str>) -> Self {
        let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        Self { reason, detail: detail.as_ref().chars().take(500).map(printable).collect() }
    }

    /// The check that failed.
    pub fn step(&self) -> Step {
        self.reason.step()
    }
}
