//! What the areas count beside requests.

use kernel::Timestamp;
use metrics::{Gauge, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use store::SamlExpiry;

use gate::meter::{Buckets, count};

pub(crate) const SEALED: &str = "gatehouse_audit_sealed_total";
pub(crate) const SEALING_FAILED: &str = "gatehouse_audit_sealing_failures_total";
const UNAUTHENTICATED: &str = "gatehouse_audit_unauthenticated_entries";
const OLDEST_UNSEALED: &str = "gatehouse_audit_oldest_unsealed_seconds";
pub(crate) const ATTESTATION: &str = "gatehouse_attestation_denials_total";
const MAKES: &str = "gatehouse_attestation_makes";
const HASHING: &str = "gatehouse_passwords_waiting";
pub(crate) const ATTEMPTS: &str = "gatehouse_webhook_attempts_total";
const ATTEMPT_DURATION: &str = "gatehouse_webhook_attempt_duration_seconds";
const SENDING: &str = "gatehouse_webhook_attempts_in_flight";
const LANES: &str = "gatehouse_webhook_subscriptions_at_work";
pub(crate) const UNSIGNED: &str = "gatehouse_webhook_unsigned_total";
pub(crate) const QUEUE_FAILED: &str = "gatehouse_webhook_queue_failures_total";
pub(crate) const SAML_BEGUN: &str = "gatehouse_saml_requests_total";
pub(crate) const SAML_ANSWERED: &str = "gatehouse_saml_responses_total";
const SAML_EXAMINED: &str = "gatehouse_saml_examination_duration_seconds";
const SAML_PROVIDERS: &str = "gatehouse_saml_providers";
const SAML_EXPIRING: &str = "gatehouse_saml_certificates_expiring";
const SAML_EXPIRED: &str = "gatehouse_saml_certificates_expired";
const SAML_SOONEST: &str = "gatehouse_saml_certificate_soonest_expiry_seconds";
pub(crate) const SAML_READ: &str = "gatehouse_saml_metadata_reads_total";

/// The same of deliveries, which may take 15.
const ATTEMPT_BUCKETS: [f64; 12] = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 15.0];

/// Histograms of the areas.
pub(crate) const HISTOGRAMS: [Buckets; 1] = [(ATTEMPT_DURATION, &ATTEMPT_BUCKETS)];

/// Describes them.
pub(crate) fn describe() {
    describe_counter!(SEALED, "Entries of the ledger that got their place in its log.");
    describe_counter!(SEALING_FAILED, "Times that a log could not be sealed.");
    describe_gauge!(
        UNAUTHENTICATED,
        "Audit entries that wait to be sealed and are refused, because their MAC is missing or wrong."
    );
    describe_gauge!(OLDEST_UNSEALED, "Seconds that the oldest audit entry has waited to be sealed.");
    describe_counter!(ATTESTATION, "Passkeys that an attestation policy refused, by reason.");
    describe_gauge!(MAKES, "Makes of authenticators that can be proved.");
    describe_gauge!(HASHING, "Passwords that wait to be hashed.");
    describe_counter!(ATTEMPTS, "Attempts to deliver webhooks, by what they came to.");
    describe_histogram!(ATTEMPT_DURATION, "Seconds that they took.");
    describe_gauge!(SENDING, "Attempts that are being sent.");
    describe_gauge!(LANES, "Subscriptions that this instance delivers to.");
    describe_counter!(UNSIGNED, "Times that nothing could be sent as the secret could not be derived.");
    describe_counter!(QUEUE_FAILED, "Times that the database did not do what deliveries asked of it.");
    describe_counter!(SAML_BEGUN, "Sign-ins that were begun at an identity provider's.");
    describe_counter!(
        SAML_ANSWERED,
        "Responses of identity providers, by what they came to: SIGNED_IN, MFA_OWED, TESTED, or the check that failed."
    );
    describe_histogram!(SAML_EXAMINED, "Seconds that a response was examined.");
    describe_gauge!(SAML_PROVIDERS, "Identity providers of all tenants.");
    describe_gauge!(SAML_EXPIRING, "Those of them whose last signing certificate ends within 30 days.");
    describe_gauge!(
        SAML_EXPIRED,
        "Those of them whose last signing certificate has ended: nobody signs in through them."
    );
    describe_gauge!(SAML_SOONEST, "Seconds until the first of those ends that are to come.");
    describe_counter!(
        SAML_READ,
        "Looks at metadata of identity providers, by what they came to: unchanged, changed or failed."
    );
    gauge!(UNAUTHENTICATED).set(0.0);
    gauge!(OLDEST_UNSEALED).set(0.0);
}

/// Counts entries that got their place in the log.
pub(crate) fn sealed(count_of: usize) {
    counter!(SEALED).increment(count_of as u64);
}

/// A log could not be sealed.
pub(crate) fn sealing_failed() {
    counter!(SEALING_FAILED).increment(1);
}

/// Audit entries that this instance refused to seal when it looked last.
pub(crate) fn unauthenticated(entries: usize) {
    gauge!(UNAUTHENTICATED).set(count(entries));
}

/// How long the oldest audit entry has waited to be sealed, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "figures are floating-point numbers")]
pub(crate) fn oldest_unsealed(millis: i64) {
    gauge!(OLDEST_UNSEALED).set(millis as f64 / 1000.0);
}

/// An attempt to deliver, and how long it took in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "15 seconds at most")]
pub(crate) fn attempted(outcome: &'static str, millis: i64) {
    counter!(ATTEMPTS, "outcome" => outcome).increment(1);
    histogram!(ATTEMPT_DURATION).record(millis as f64 / 1000.0);
}

/// How many attempts are being sent, and to how many subscriptions this instance delivers.
pub(crate) fn delivering(in_flight: usize, subscriptions: usize) {
    gauge!(SENDING).set(count(in_flight));
    gauge!(LANES).set(count(subscriptions));
}

/// Nothing can be sent as a secret could not be derived.
pub(crate) fn unsigned() {
    counter!(UNSIGNED).increment(1);
}

/// The database did not do what deliveries asked of it.
pub(crate) fn queue_failed() {
    counter!(QUEUE_FAILED).increment(1);
}

/// A sign-in that was begun at an identity provider's.
pub(crate) fn saml_begun() {
    counter!(SAML_BEGUN).increment(1);
}

/// What a response of an identity provider came to.
pub(crate) fn saml_answered(outcome: &'static str) {
    counter!(SAML_ANSWERED, "outcome" => outcome).increment(1);
}

/// How long the identity providers of all tenants can go on. Without an end to come the seconds until it are no number.
#[expect(clippy::cast_precision_loss, reason = "figures are floating-point numbers")]
pub(crate) fn saml_expiry(expiry: &SamlExpiry, now: Timestamp) {
    gauge!(SAML_PROVIDERS).set(expiry.providers as f64);
    gauge!(SAML_EXPIRING).set(expiry.within_30_days as f64);
    gauge!(SAML_EXPIRED).set(expiry.expired as f64);
    let seconds = |end: Timestamp| (end.unix_millis() - now.unix_millis()) as f64 / 1000.0;
    gauge!(SAML_SOONEST).set(expiry.soonest.map_or(f64::NAN, seconds));
}

/// A look at the metadata of an identity provider.
pub(crate) fn saml_read(outcome: &'static str) {
    counter!(SAML_READ, "outcome" => outcome).increment(1);
}

/// How long one was examined.
pub(crate) fn saml_examined(took: std::time::Duration) {
    histogram!(SAML_EXAMINED).record(took);
}

/// A passkey that an attestation policy refused.
pub(crate) fn attestation_denied(reason: &'static str) {
    counter!(ATTESTATION, "reason" => reason).increment(1);
}

/// How many makes of authenticators can be proved.
pub(crate) fn authenticator_models(count_of: usize) {
    gauge!(MAKES).set(count(count_of));
}

/// How many passwords wait.
pub(crate) fn passwords_waiting() -> Gauge {
    gauge!(HASHING)
}
