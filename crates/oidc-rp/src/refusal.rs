//! Why a sign-in is refused: details for administrators, none for the sender.

use serde::{Deserialize, Serialize};

use crate::text::printable;

/// Defines each check with its code, and its reasons with theirs.
macro_rules! checks {
    ($($(#[$step_doc:meta])+ $step:ident $step_word:tt { $($(#[$doc:meta])+ $name:ident $word:tt,)+ })+) => {
        /// The checks, in order. After a failed check, later ones do not run.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Step { $($(#[$step_doc])+ #[serde(rename = $step_word)] $step,)+ }

        impl Step {
            /// Every step, in order.
            pub const ALL: &'static [Self] = &[$(Self::$step,)+];

            /// Returns the code used in the API and in storage.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$step => $step_word,)+ }
            }
        }

        /// The exact reason for a refusal.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

checks! {
    /// The parameters of the redirect from the provider.
    Callback "CALLBACK" {
        /// A parameter is missing.
        ParameterMissing "PARAMETER_MISSING",
        /// A parameter is repeated.
        ParameterRepeated "PARAMETER_REPEATED",
        /// A parameter is too long.
        ParameterTooLong "PARAMETER_TOO_LONG",
        /// The address contains a token, as in flows that are not used.
        TokenInAddress "TOKEN_IN_ADDRESS",
        /// The parameter `iss` is missing, although the provider announces it.
        CallbackIssuerMissing "CALLBACK_ISSUER_MISSING",
        /// The parameter `iss` names another provider.
        CallbackIssuer "CALLBACK_WRONG_ISSUER",
        /// The provider reports an error instead of a code.
        ProviderError "PROVIDER_ERROR",
    }
    /// The redirect answers one of our requests.
    Request "REQUEST" {
        /// The request is unknown, expired, or of another connection.
        UnknownRequest "REQUEST_UNKNOWN_OR_EXPIRED",
        /// The request was answered already.
        RequestUsed "REQUEST_ALREADY_ANSWERED",
        /// The request was started in another browser.
        OtherBrowser "OTHER_BROWSER",
    }
    /// The token endpoint exchanges the code for an ID token.
    TokenRequest "TOKEN_REQUEST" {
        /// The token endpoint cannot be reached, or does not answer.
        TokenEndpoint "TOKEN_ENDPOINT_UNREACHABLE",
        /// The token endpoint reports an error.
        TokenRefused "TOKEN_REQUEST_REFUSED",
        /// The answer is not a token response.
        TokenResponse "TOKEN_RESPONSE_MALFORMED",
        /// The answer has no ID token.
        NoIdToken "ID_TOKEN_MISSING",
    }
    /// The form of the ID token.
    Structure "STRUCTURE" {
        /// The token is longer than 64 KiB.
        TooLarge "ID_TOKEN_TOO_LARGE",
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
        /// The token says that it is of another type.
        TokenType "WRONG_TOKEN_TYPE",
    }
    /// The signature by a key of the provider.
    Signature "SIGNATURE" {
        /// The algorithm is symmetric, `none`, unknown or not in the list of the connection.
        Algorithm "ALGORITHM_NOT_ALLOWED",
        /// The key set has no such key.
        UnknownKey "KEY_UNKNOWN",
        /// Several keys fit.
        AmbiguousKey "KEY_AMBIGUOUS",
        /// The signature is not by that key.
        BadSignature "SIGNATURE_INVALID",
    }
    /// The form of the claims that every ID token has.
    Claims "CLAIMS" {
        /// The payload is not a JSON object within limits and without repeated members.
        ClaimsNotJson "CLAIMS_NOT_JSON",
        /// A claim is missing.
        ClaimMissing "CLAIM_MISSING",
        /// A claim has the wrong type, or is out of bounds.
        ClaimMalformed "CLAIM_MALFORMED",
        /// The token is not a logout token.
        NotALogout "NOT_A_LOGOUT_TOKEN",
        /// The logout token was used before.
        LogoutUsed "LOGOUT_TOKEN_ALREADY_USED",
    }
    /// Issuer and audience.
    Addressing "ADDRESSING" {
        /// The issuer is another provider.
        Issuer "WRONG_ISSUER",
        /// The audience is another client, or there are further audiences.
        Audience "WRONG_AUDIENCE",
        /// The authorized party is another client.
        AuthorizedParty "WRONG_AUTHORIZED_PARTY",
        /// A claim that the connection requires is missing or has another value, such as Google's `hd`.
        RequiredClaim "REQUIRED_CLAIM_DIFFERS",
    }
    /// The times of the token.
    Validity "VALIDITY" {
        /// The token has expired.
        Expired "EXPIRED",
        /// The token is not valid yet.
        NotYetValid "NOT_YET_VALID",
        /// The token was issued in the future, or before the request.
        IssuedAt "WRONG_ISSUED_AT",
        /// The session at the provider has ended already.
        SessionOver "SESSION_EXPIRED",
    }
    /// The token belongs to the request, its code and its access token.
    Binding "BINDING" {
        /// The nonce is missing or of another request.
        Nonce "WRONG_NONCE",
        /// The hash of the code or of the access token differs.
        Hash "HASH_MISMATCH",
    }
    /// How and when the user signed in.
    Authentication "AUTHENTICATION" {
        /// The user signed in longer ago than requested.
        AuthTime "AUTHENTICATION_TOO_OLD",
        /// The user signed in by another method than requested.
        Acr "AUTHN_NOT_AS_REQUESTED",
    }
    /// The answer of the UserInfo endpoint, where a connection uses it.
    UserInfo "USER_INFO" {
        /// The endpoint cannot be reached, or refuses.
        UserInfoEndpoint "USER_INFO_UNREACHABLE",
        /// The answer is not a JSON object within limits.
        UserInfoMalformed "USER_INFO_MALFORMED",
        /// The answer is about another user.
        UserInfoSubject "USER_INFO_OF_ANOTHER_SUBJECT",
    }
    /// A verified email address in one of the connection's domains.
    Email "EMAIL" {
        /// The claim has no email address.
        NoEmail "EMAIL_MISSING",
        /// The value is not an email address.
        BadEmail "EMAIL_MALFORMED",
        /// The provider does not say that it has verified the address.
        EmailNotVerified "EMAIL_NOT_VERIFIED",
        /// The address is not in one of the connection's domains.
        ForeignDomain "EMAIL_DOMAIN_NOT_ALLOWED",
        /// The address is in a domain that another tenant has verified.
        DomainOfAnother "EMAIL_DOMAIN_OF_ANOTHER_TENANT",
    }
    /// A user of the tenant who may sign in this way.
    Account "ACCOUNT" {
        /// The tenant has no user with this address.
        NotProvisioned "NOT_PROVISIONED",
        /// The tenant does not allow SSO.
        SsoNotAllowed "SSO_NOT_ALLOWED",
        /// The account is disabled.
        Disabled "ACCOUNT_DISABLED",
        /// Another subject is pinned to the user.
        SubjectChanged "SUBJECT_CHANGED",
        /// The subject is pinned to another user.
        SubjectOfAnother "SUBJECT_OF_ANOTHER_USER",
        /// The network policy blocks the caller's address.
        Network "NETWORK_POLICY_BLOCKED",
    }
}

/// The refusal of a sign-in.
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

    /// Returns the check that failed.
    pub fn step(&self) -> Step {
        self.reason.step()
    }

    /// Returns whether a key that the provider has changed may be the cause, so that reading its key set again may help.
    pub fn may_be_new_key(&self) -> bool {
        matches!(self.reason, Reason::UnknownKey | Reason::AmbiguousKey | Reason::BadSignature)
    }
}
