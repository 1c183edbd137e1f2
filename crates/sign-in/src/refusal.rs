//! Reasons why a user cannot sign in, in words for an administrator.

/// Declares the reasons, each with its code, and what an administrator can do.
macro_rules! refusals {
    ($($name:ident = $code:literal, $why:literal, $mend:literal;)*) => {
        /// Why a user cannot sign in.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Refusal {
            $(#[doc = $why] $name,)*
        }

        impl Refusal {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the code in the API, and as the reason of audit entries.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// Returns what is wrong, as a sentence.
            pub fn why(self) -> &'static str {
                match self { $(Self::$name => $why),* }
            }

            /// Returns what the administrator or the user can do, as a sentence.
            pub fn mend(self) -> &'static str {
                match self { $(Self::$name => $mend),* }
            }
        }
    };
}

refusals! {
    AccountDisabled = "ACCOUNT_DISABLED", "The account is disabled.", "Enable the account.";
    SsoRequired = "SSO_REQUIRED", "The sign-in policy requires single sign-on.",
        "Have the user sign in through the identity provider, or change the sign-in policy.";
    SsoNotAllowed = "SSO_NOT_ALLOWED", "The sign-in policy does not accept single sign-on.",
        "Have the user sign in with a password or a passkey, or change the sign-in policy.";
    NoPassword = "NO_PASSWORD", "The user has no password.", "Create a link to set one.";
    NoPasskey = "NO_PASSKEY", "The user has no passkey.", "Have the user sign in another way and add one.";
    NoConnection = "NO_SSO_CONNECTION",
        "No SSO connection with a valid certificate covers the domain of the user's address.",
        "Add the domain to an SSO connection, or renew the certificate of its identity provider.";
    NetworkBlocked = "NETWORK_POLICY_BLOCKED", "The network policy blocks the address.",
        "Add a range for the address to the network policy, or have the user sign in from an allowed one.";
    NoFactor = "NO_FACTOR", "The user has no such second factor.",
        "Have the user choose another factor, or reset the factors.";
    FactorNotAccepted = "FACTOR_NOT_ACCEPTED", "The sign-in policy does not accept this kind of factor.",
        "Have the user use an accepted factor, or accept this kind in the sign-in policy.";
    TooManyWrongCodes = "TOO_MANY_WRONG_CODES", "Too many wrong codes in a row: the account accepts no codes.",
        "Have the user sign in with a passkey, or reset the factors.";
    WrongPassword = "WRONG_PASSWORD", "The password was wrong.", "Reset the password if the user forgot it.";
    WrongFactor = "FACTOR_INVALID", "The code was wrong or used before, or the passkey was not accepted.",
        "Check the clock of the user's telephone. Reset the factors if they are lost.";
}

impl Refusal {
    /// Returns the reason with this code.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|refusal| refusal.code() == code)
    }
}
