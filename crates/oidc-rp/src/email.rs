//! Reads the email address of the user who signs in.

use kernel::Email;
use serde_json::{Map, Value};

use crate::{
    claims::Claims,
    jws::Verified,
    refusal::{Reason, Refusal},
    token::UserInfo,
};

/// The claim with the email address.
#[derive(Debug, Clone, Copy)]
pub struct EmailClaim<'e> {
    /// Name of the claim; `email` by default.
    pub name: &'e str,
    /// Whether the provider vouches for every address in the claim, because only its administrators can set it.
    ///
    /// Otherwise only the claim `email` counts, and only if `email_verified` is true, or `xms_edov` in tokens of Entra.
    /// A user who may change an address that nobody verifies could sign in as a colleague.
    pub is_trusted: bool,
}

impl Default for EmailClaim<'_> {
    fn default() -> Self {
        Self { name: "email", is_trusted: false }
    }
}

/// Returns the email address, which must be in one of the connection's `domains`. A claim from the UserInfo endpoint takes
/// precedence over one in the ID token.
pub fn read_email<'d>(
    claims: &Verified<Claims>,
    user_info: Option<&UserInfo>,
    claim: EmailClaim<'_>,
    domains: impl IntoIterator<Item = &'d str>,
) -> Result<Email, Refusal> {
    let signed = &claims.get().all;
    let source = user_info.map(|found| &found.0).filter(|found| found.contains_key(claim.name));
    let members = source.unwrap_or(signed);
    let text = text_in(members, claim.name)?;
    if !claim.is_trusted {
        check_verified(members, claim.name, is_entra(&claims.get().issuer))?;
    }
    let malformed = || {
        Refusal::new(
            Reason::BadEmail,
            format!("the value of the claim {} is not an email address", claim.name),
        )
    };
    let email: Email = text.parse().map_err(|_| malformed())?;
    let (_, domain) = email.as_str().rsplit_once('@').ok_or_else(malformed)?;
    if !domains.into_iter().any(|known| domain.eq_ignore_ascii_case(known)) {
        let detail = format!("{domain} is not a domain of this SSO connection");
        return Err(Refusal::new(Reason::ForeignDomain, detail));
    }
    Ok(email)
}

fn text_in<'m>(members: &'m Map<String, Value>, name: &str) -> Result<&'m str, Refusal> {
    match members.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        None | Some(Value::Null | Value::String(_)) => {
            let received = members.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let detail = format!("the claim {name} has no email address; claims received: {received}");
            Err(Refusal::new(Reason::NoEmail, detail))
        }
        Some(_) => {
            let detail = format!("the value of the claim {name} is not a single email address");
            Err(Refusal::new(Reason::BadEmail, detail))
        }
    }
}

/// Issuers of Entra ID, whose claim `xms_edov` says that the domain of the address is verified.
const ENTRA: [&str; 4] = [
    "https://login.microsoftonline.com/",
    "https://login.microsoftonline.us/",
    "https://login.partner.microsoftonline.cn/",
    "https://sts.windows.net/",
];

fn is_entra(issuer: &str) -> bool {
    ENTRA.iter().any(|start| issuer.starts_with(start))
}

/// Checks that the provider has verified the address.
fn check_verified(members: &Map<String, Value>, name: &str, is_entra: bool) -> Result<(), Refusal> {
    // Some providers send a string or a number.
    let is_true = |name: &str| match members.get(name) {
        Some(Value::Bool(value)) => *value,
        Some(Value::String(text)) => text == "true" || text == "1",
        Some(Value::Number(number)) => number.as_u64() == Some(1),
        _ => false,
    };
    if name == "email" && (is_true("email_verified") || is_entra && is_true("xms_edov")) {
        return Ok(());
    }
    let detail = if name == "email" {
        "the token has no email_verified that is true; if only administrators of the provider can set addresses, mark the \
         claim as trusted"
            .to_owned()
    } else {
        format!(
            "email_verified does not apply to {name}; if only administrators can set it, mark the claim as trusted"
        )
    };
    Err(Refusal::new(Reason::EmailNotVerified, detail))
}
