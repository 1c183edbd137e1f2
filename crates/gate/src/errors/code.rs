//! Error codes for clients, with their HTTP status and meaning.

use actix_web::http::StatusCode;

macro_rules! codes {
    ($($name:ident = $text:literal, $status:ident, $meaning:literal;)+) => {
        /// An error code for clients.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $meaning] $name,)+
        }

        impl Code {
            /// All codes, ordered by status.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns the text in the member `code`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// Returns the HTTP status.
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$name => StatusCode::$status,)+
                }
            }

            /// Returns the meaning as a sentence.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)+
                }
            }
        }
    };
}

codes! {
    InvalidRequest = "INVALID_REQUEST", BAD_REQUEST, "A field is missing, unknown or malformed. `error` begins with its path.";
    InvalidCursor = "INVALID_CURSOR", BAD_REQUEST, "The cursor does not belong to this list.";
    InvalidCidr = "INVALID_CIDR", BAD_REQUEST, "The text is neither an IP address nor a CIDR range.";
    DuplicateCidr = "DUPLICATE_CIDR", BAD_REQUEST, "A rule for this range exists already.";
    UnknownPurpose = "UNKNOWN_PURPOSE", BAD_REQUEST, "No step-up purpose has this name.";
    SamlLogoutRefused = "SAML_LOGOUT_REFUSED", BAD_REQUEST, "The logout message was not accepted.";
    OidcLogoutRefused = "OIDC_LOGOUT_REFUSED", BAD_REQUEST, "The logout token was not accepted.";
    Unauthenticated = "UNAUTHENTICATED", UNAUTHORIZED, "The request carries no valid credential.";
    SessionRevoked = "SESSION_REVOKED", UNAUTHORIZED, "The session was ended.";
    AccountDisabled = "ACCOUNT_DISABLED", UNAUTHORIZED, "The account is disabled.";
    NotProvisioned = "NOT_PROVISIONED", UNAUTHORIZED, "No user has this email address.";
    InvalidCredentials = "INVALID_CREDENTIALS", UNAUTHORIZED, "The email address or password is incorrect.";
    FactorInvalid = "FACTOR_INVALID", UNAUTHORIZED, "The code is incorrect or has expired, or the passkey is not accepted.";
    TicketInvalid = "TICKET_INVALID", UNAUTHORIZED, "The ticket or challenge has expired or was used.";
    LinkInvalid = "LINK_INVALID", UNAUTHORIZED, "The link has expired or was used.";
    ReauthRequired = "REAUTH_REQUIRED", UNAUTHORIZED, "The operation requires a recent sign-in. Sign in again.";
    SsoNotAllowed = "SSO_NOT_ALLOWED", UNAUTHORIZED, "The tenant does not accept single sign-on.";
    SamlRefused = "SAML_REFUSED", UNAUTHORIZED, "The identity provider's response was not accepted.";
    OidcRefused = "OIDC_REFUSED", UNAUTHORIZED, "The sign-in through the OpenID provider was not accepted.";
    StepUpRequired = "STEP_UP_REQUIRED", UNAUTHORIZED, "The operation needs a step-up token.";
    StepUpInvalid = "STEP_UP_INVALID", UNAUTHORIZED, "The step-up token is not valid for this request.";
    Forbidden = "FORBIDDEN", FORBIDDEN, "The credential does not allow the operation. `reason` says why.";
    SsoRequired = "SSO_REQUIRED", FORBIDDEN, "The tenant requires single sign-on.";
    FactorNotPermitted = "FACTOR_NOT_PERMITTED", FORBIDDEN, "This factor is not accepted here.";
    NetworkPolicyBlocked = "NETWORK_POLICY_BLOCKED", FORBIDDEN, "The tenant's network policy blocks the address.";
    AttestationPolicyBlocked = "ATTESTATION_POLICY_BLOCKED", FORBIDDEN, "The tenant's policy does not allow this authenticator.";
    NotFound = "NOT_FOUND", NOT_FOUND, "The tenant has no such resource.";
    MethodNotAllowed = "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED, "The path does not support this method.";
    Conflict = "CONFLICT", CONFLICT, "The state of the resource does not allow this.";
    Uniqueness = "uniqueness", CONFLICT, "The name or address is taken.";
    NoFactorAvailable = "NO_FACTOR_AVAILABLE", CONFLICT, "The user has no accepted factor.";
    PolicyRequiresMfa = "POLICY_REQUIRES_MFA", CONFLICT, "The tenant requires a second factor.";
    PolicyRequiresWebauthn = "POLICY_REQUIRES_WEBAUTHN", CONFLICT, "The tenant requires a passkey.";
    LastFactorPolicyBlocked = "LAST_FACTOR_POLICY_BLOCKED", CONFLICT, "The factor is the last one that the policy accepts.";
    LockoutProtection = "LOCKOUT_PROTECTION", CONFLICT, "The change would lock out every administrator, or everybody.";
    NotSealed = "NOT_SEALED", CONFLICT, "The audit entry is not sealed yet.";
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", PAYLOAD_TOO_LARGE, "The body is too large.";
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", UNSUPPORTED_MEDIA_TYPE, "The media type of the body is not supported.";
    RateLimited = "RATE_LIMITED", TOO_MANY_REQUESTS, "Too many requests or attempts. `Retry-After` says when to try again.";
    Internal = "INTERNAL", INTERNAL_SERVER_ERROR, "Internal error.";
    Unavailable = "UNAVAILABLE", SERVICE_UNAVAILABLE, "The server is overloaded or its database is unavailable. Try again.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_have_unique_names_and_error_statuses() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| code.status().as_u16() >= 400 && code.meaning().ends_with('.')));
        assert!(Code::ALL.is_sorted_by_key(|code| code.status().as_u16()));
    }
}
