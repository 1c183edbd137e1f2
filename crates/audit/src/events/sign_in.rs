//! People sign in, or try to; their sessions begin and end.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInSucceeded {
    /// The session that it began.
    pub session: String,
    /// What it was proved by, as in `amr`.
    pub methods: Vec<String>,
}

impl EventData for SignInSucceeded {
    const CODE: &'static str = "ACCOUNT_SIGN_IN_SUCCEEDED";
    const DESCRIPTION: &'static str = "A person signed in.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { session: "ses_01jz6666666666666666666666".into(), methods: vec!["pwd".into(), "otp".into()] }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInFailed {
    /// Why: `WRONG_PASSWORD`, `FACTOR_INVALID`, `ACCOUNT_DISABLED`, `SSO_REQUIRED`, `SSO_NOT_ALLOWED`, `RATE_LIMITED`.
    pub reason: &'static str,
    /// What was tried: `PASSWORD`, `TOTP`, `WEBAUTHN`, `RECOVERY_CODE` or `SSO`.
    pub step: &'static str,
}

impl EventData for SignInFailed {
    const CODE: &'static str = "ACCOUNT_SIGN_IN_FAILED";
    const DESCRIPTION: &'static str = "An attempt to sign in was refused.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { reason: "WRONG_PASSWORD", step: "PASSWORD" }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInNewDevice {
    /// The session that it began.
    pub session: String,
}

impl EventData for SignInNewDevice {
    const CODE: &'static str = "ACCOUNT_SIGN_IN_NEW_DEVICE";
    const DESCRIPTION: &'static str = "A person signed in from an address that had never signed them in.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { session: "ses_01jz6666666666666666666666".into() }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRenewed {
    /// The id of the user.
    pub user: String,
    /// The id that the session had before.
    pub previous: String,
}

impl EventData for SessionRenewed {
    const CODE: &'static str = "ACCOUNT_SESSION_RENEWED";
    const DESCRIPTION: &'static str = "A session got a new id, because a factor was proved on it.";
    const RESOURCE_TYPE: &'static str = "session";
    const EXAMPLE_ID: &'static str = "ses_01jz6666666666666666666666";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self {
            user: "usr_01jz2222222222222222222222".into(),
            previous: "ses_01jz7777777777777777777777".into(),
        }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStarted {
    /// Whose it is.
    pub user: String,
    /// Whether a second factor is still owed, so that it opens nothing else.
    pub restricted: bool,
}

impl EventData for SessionStarted {
    const CODE: &'static str = "ACCOUNT_SESSION_STARTED";
    const DESCRIPTION: &'static str = "A session began.";
    const RESOURCE_TYPE: &'static str = "session";
    const EXAMPLE_ID: &'static str = "ses_01jz6666666666666666666666";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { user: "usr_01jz2222222222222222222222".into(), restricted: false }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRevoked {
    /// Whose it was.
    pub user: String,
    /// `REVOKED` in the list of sessions, `SIGNED_OUT`, or `REPLACED` by a new sign-in in the same browser.
    pub why: &'static str,
}

impl EventData for SessionRevoked {
    const CODE: &'static str = "ACCOUNT_SESSION_REVOKED";
    const DESCRIPTION: &'static str = "A session was ended before its time.";
    const RESOURCE_TYPE: &'static str = "session";
    const EXAMPLE_ID: &'static str = "ses_01jz6666666666666666666666";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { user: "usr_01jz2222222222222222222222".into(), why: "REVOKED" }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsRevoked {
    /// How many were in force.
    pub count: u64,
    /// `REVOKED`, `PASSWORD_CHANGED`, `FACTOR_REMOVED`, `RESET` or `DEACTIVATED`.
    pub why: &'static str,
}

impl EventData for SessionsRevoked {
    const CODE: &'static str = "ACCOUNT_SESSIONS_REVOKED";
    const DESCRIPTION: &'static str =
        "All of a person's sessions were ended, but at most the one that asked for it.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { count: 3, why: "PASSWORD_CHANGED" }
    }
}
