//! String schemas for the API description: closed sets, read from the types that define them, and texts with bounds.

use credentials::Trust;
use directory::{Permission, Role, Source};
use serde::Serialize;
use serde_json::{Value, json};
use sign_in::FactorName as Second;
use tokens::Scope;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};
use webhooks::client::Failure;

/// Defines string schemas: a description, and JSON Schema keywords.
macro_rules! strings {
    ($($(#[doc = $doc:literal])+ $name:ident = $keywords:expr;)+) => {
        $(
            $(#[doc = $doc])+
            pub(crate) struct $name;

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    string(concat!($($doc),+), $keywords)
                }
            }

            impl ToSchema for $name {}
        )+
    };
}

fn string(description: &str, keywords: Value) -> RefOr<Schema> {
    let mut schema = json!({ "type": "string", "description": description.trim() });
    if let (Some(schema), Value::Object(keywords)) = (schema.as_object_mut(), keywords) {
        schema.extend(keywords);
    }
    serde_json::from_value(schema).unwrap_or_else(|_| Schema::default().into())
}

/// Restricts a string to these values.
fn one_of(values: impl Serialize) -> Value {
    json!({ "enum": values })
}

/// Returns a regular expression for printable characters that neither begin nor end with a space.
fn trimmed_text(longest: usize) -> String {
    const INNER: &str = r"[^\u0000-\u001f\u007f-\u009f]";
    const OUTER: &str = r"[^\s\u0000-\u001f\u007f-\u009f]";
    format!("{OUTER}({INNER}{{0,{}}}{OUTER})?", longest.saturating_sub(2))
}

/// Describes a text with at least one visible character. Spaces around it are trimmed and do not count.
fn printable(longest: usize) -> Value {
    json!({ "minLength": 1, "pattern": format!(r"^\s*{}\s*$", trimmed_text(longest)) })
}

/// Describes a text that is refused if it begins or ends with a space.
fn trimmed(longest: usize) -> Value {
    json!({ "minLength": 1, "maxLength": longest, "pattern": format!("^{}$", trimmed_text(longest)) })
}

/// Describes a text of printable characters.
fn line(longest: usize) -> Value {
    json!({ "minLength": 1, "maxLength": longest, "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$" })
}

strings! {
    /// A built-in role, or the ID of a role that the tenant has defined, `role_…`.
    UserRole = json!({ "pattern": format!(
        "^({}|role_[0-9a-hjkmnp-tv-z]{{26}})$",
        Role::BUILT_IN.map(|role| role.to_string()).join("|")
    ) });
    /// A permission of a role.
    PermissionName = one_of(Permission::ALL);
    /// Where a user's account comes from.
    UserSource = one_of([Source::Invited, Source::Scim].map(Source::as_str));

    /// The state of a sign-in.
    SignInStatus = one_of(["SIGNED_IN", "MFA_REQUIRED", "ENROLMENT_REQUIRED", "TENANT_CHOICE"]);
    /// A factor of the second sign-in step.
    FactorName = one_of([Second::Webauthn, Second::Totp, Second::RecoveryCode].map(Second::as_str));
    /// How the model of an authenticator is attested: `claimed` (no attestation), `self` (self-attestation), `signed` (by an untrusted certificate) or `trusted` (by a trusted certificate).
    AuthenticatorTrust = one_of([Trust::Claimed, Trust::Itself, Trust::Signed, Trust::Trusted].map(Trust::as_str));
    /// Purpose of a step-up; `x-step-up-purposes` lists what each requires.
    StepUpPurpose = one_of(gate::purposes::PURPOSES.iter().map(|purpose| purpose.name).collect::<Vec<_>>());
    /// Operations that a personal access token may call.
    TokenScope = one_of(Scope::ALL.map(Scope::as_str));

    /// `CALLER_NOT_COVERED`: make the change even if it blocks the caller's own address.
    Acknowledgement = one_of(["CALLER_NOT_COVERED"]);

    /// `VERIFIED`: the sign-in page sends users of the domain to the tenant's identity provider.
    DomainStatus = one_of(["VERIFIED", "UNVERIFIED"]);
    /// How a domain was verified.
    DomainMethod = one_of([saml_sp::Method::Dns, saml_sp::Method::Operator].map(saml_sp::Method::as_str));
    /// Type of a DNS record.
    DnsRecordType = one_of(["TXT"]);
    /// Source of the configuration of an identity provider.
    SamlSource = one_of(["METADATA_XML", "METADATA_URL", "FIELDS"]);
    /// Binding of SAML messages.
    SamlBinding = one_of(["HTTP-POST", "HTTP-Redirect"]);
    /// `ACTIVE` signs; `NEXT` signs once the rotation is completed. Both decrypt.
    SamlKeyUse = one_of(["ACTIVE", "NEXT"]);

    /// How this service authenticates at the token endpoint of an OpenID provider.
    OidcClientAuth = one_of(oidc_rp::ClientAuth::ALL.map(oidc_rp::ClientAuth::as_str));
    /// Parameter `prompt` of sign-in requests.
    OidcPrompt = one_of(["login", "select_account", "consent"]);
    /// Signature algorithm of ID tokens.
    OidcAlgorithm = one_of(oidc_rp::Algorithm::ALL.map(oidc_rp::Algorithm::as_str));
    /// Checks of a sign-in with OpenID Connect, in this order.
    OidcTestCheckName = one_of(oidc_rp::Step::ALL.iter().map(|step| step.as_str()).collect::<Vec<_>>());
    /// Why a sign-in with OpenID Connect was refused.
    OidcTestReason = one_of(oidc_rp::Reason::ALL.iter().map(|reason| reason.as_str()).collect::<Vec<_>>());

    /// Why there was no response.
    WebhookTestError = one_of(
        [Failure::Timeout, Failure::Connect, Failure::Tls, Failure::Blocked].map(Failure::as_str)
    );
    /// `sequence`: sealed entries in the order of the log. Default: newest first.
    AuditOrder = one_of(["sequence"]);

    /// A name of 1 to 100 printable characters.
    Name = printable(100);
    /// A name of 1 to 64 printable characters.
    RoleName = printable(64);
    /// A name of 1 to 100 printable characters, without a space at either end.
    TrimmedName = trimmed(100);
    /// A word of 1 to 256 printable characters, without a space at either end.
    TrimmedWord = trimmed(256);
    /// A text of 1 to 200 printable characters.
    PersonText = printable(200);
    /// A telephone number of 1 to 64 printable characters.
    PhoneValue = line(64);
    /// A kind of 1 to 32 printable characters, such as `work` or `mobile`.
    PhoneKind = line(32);
    /// A new password: at least 15 characters, or at least 8 if a second factor is required. Common passwords are refused.
    NewPassword = json!({ "minLength": 8, "maxLength": 1024 });
    /// An email domain.
    EmailDomain = json!({
        "pattern": r"^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$",
        "maxLength": 253,
        "examples": ["example.com"],
    });
    /// A short name in URLs: 2 to 63 characters of `a-z`, `0-9` and inner hyphens.
    Slug = json!({
        "minLength": 2, "maxLength": 63, "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", "examples": ["acme"]
    });
    /// A name of 1 to 64 printable characters.
    ShortName = printable(64);
    /// An email address of at most 254 bytes. Surrounding spaces are removed.
    EmailAddress = json!({
        "minLength": 3,
        "maxLength": 254,
        "pattern": r"^\s*[^\s@\u0000-\u001f\u007f-\u009f]+@[^\s@\u0000-\u001f\u007f-\u009f]+\s*$",
        "examples": ["ada@example.com"],
    });
}
