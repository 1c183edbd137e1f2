//! Sign-ins and sessions.

use super::define::{BY_TRANSMITTER, BY_USER, SESSION, USER, events};

events! {
    /// A user signed in.
    SignInSucceeded = "ACCOUNT_SIGN_IN_SUCCEEDED" (USER, BY_USER) {
        /// ID of the session that it started.
        session: String = "ses_01jz6666666666666666666666".into(),
        /// Authentication methods (`amr`).
        methods: Vec<String> = vec!["pwd".into(), "otp".into()],
    }
    /// A sign-in failed.
    SignInFailed = "ACCOUNT_SIGN_IN_FAILED" (USER, BY_USER) {
        /// Reason: `WRONG_PASSWORD`, `FACTOR_INVALID`, `ACCOUNT_DISABLED`, `SSO_REQUIRED`, `SSO_NOT_ALLOWED`.
        reason: &'static str = "WRONG_PASSWORD",
        /// Method: `PASSWORD`, `TOTP`, `WEBAUTHN`, `RECOVERY_CODE` or `SSO`.
        step: &'static str = "PASSWORD",
    }
    /// A user signed in from a new address.
    SignInNewDevice = "ACCOUNT_SIGN_IN_NEW_DEVICE" (USER, BY_USER) {
        /// ID of the session that it started.
        session: String = "ses_01jz6666666666666666666666".into(),
    }
    /// A session got a new ID after a second factor was verified.
    SessionRenewed = "ACCOUNT_SESSION_RENEWED" (SESSION, BY_USER) {
        /// ID of the user.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// Previous ID of the session.
        previous: String = "ses_01jz7777777777777777777777".into(),
        /// Authentication methods (`amr`) that were proved now; none if the policy changed.
        proved: Vec<String> = vec!["otp".into()],
    }
    /// A session started.
    SessionStarted = "ACCOUNT_SESSION_STARTED" (SESSION, BY_USER) {
        /// ID of the user.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// Whether a second factor is still required.
        restricted: bool = false,
    }
    /// A session was bound to a key of the browser. A copy of its cookies is useless after 10 minutes.
    SessionBound = "ACCOUNT_SESSION_BOUND" (SESSION, BY_USER) {
        /// ID of the user.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// Algorithm of the key: `ES256` or `RS256`.
        algorithm: &'static str = "ES256",
    }
    /// A request with the cookie of a bound session was refused, because it did not prove to come from the browser of the session. The cookie may be stolen, or the browser could not renew its proof.
    SessionCookieRefused = "ACCOUNT_SESSION_COOKIE_REFUSED" (SESSION, BY_USER) {
        /// ID of the user.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// `NO_COOKIE`: the short-lived cookie is missing, `EXPIRED`, `WRONG_COOKIE`: that of another session, or `WRONG_KEY`: a proof with another key.
        reason: &'static str = "NO_COOKIE",
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
    /// A session was revoked.
    SessionRevoked = "ACCOUNT_SESSION_REVOKED" (SESSION, BY_USER) {
        /// ID of the user.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// `REVOKED` in the list of sessions, `SIGNED_OUT`, `REPLACED` by a new sign-in in the same browser, `IDENTITY_PROVIDER`: the identity provider ended its session, or `SIGNAL`: a transmitter of shared signals ended it.
        why: &'static str = "REVOKED",
    }
    /// All sessions of a user were revoked, except possibly the current one.
    SessionsRevoked = "ACCOUNT_SESSIONS_REVOKED" (USER, BY_USER) {
        /// Number of active sessions.
        count: u64 = 3,
        /// `REVOKED`, `PASSWORD_CHANGED`, `FACTOR_REMOVED`, `RESET`, `DEACTIVATED`, or `SIGNAL`: a transmitter of shared signals ended them.
        why: &'static str = "PASSWORD_CHANGED",
    }
    /// Sessions of a user need a second factor before they go on.
    StepUpRequired = "ACCOUNT_SESSIONS_STEP_UP_REQUIRED" (USER, BY_TRANSMITTER) {
        /// Number of sessions.
        count: u64 = 2,
        /// `SIGNAL`: a transmitter of shared signals demanded it.
        why: &'static str = "SIGNAL",
    }
}
