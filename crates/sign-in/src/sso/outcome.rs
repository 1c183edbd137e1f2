//! Outcomes of a sign-in through an identity provider.

use saml_sp::ConnectionTestId;

use crate::outcome::Outcome;

/// The outcome of the response of an identity provider. `R` is the refusal of its protocol.
pub enum SsoOutcome<R> {
    /// The user is signed in or needs a second factor, and continues at this path.
    Continued(Box<Outcome>, String),
    /// The response was refused.
    Refused {
        /// The failed check.
        refusal: R,
        /// Whether the unit of work records the refusal in the audit log.
        is_recorded: bool,
    },
    /// The network policy blocks the address. The unit of work records it.
    NetworkBlocked,
    /// The response belonged to this connection test.
    Tested(ConnectionTestId),
}
