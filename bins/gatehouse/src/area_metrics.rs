//! Metrics of the areas, in addition to those of the request pipeline.

use kernel::Timestamp;
use metrics::{Gauge, counter, gauge, histogram};
use store::{LogStreamBacklog, SamlExpiry, WebhookBacklog};

use gate::meter::{Buckets, count};

gate::metrics! {
    pub(crate) SEALED: Counter = "gatehouse_audit_sealed_total",
        "Audit entries sealed.";
    pub(crate) SEALING_FAILED: Counter = "gatehouse_audit_sealing_failures_total",
        "Failed attempts to seal an audit log.";
    UNAUTHENTICATED: Gauge = "gatehouse_audit_unauthenticated_entries",
        "Unsealed audit entries that are refused because their MAC is missing or wrong.";
    OLDEST_UNSEALED: Gauge = "gatehouse_audit_oldest_unsealed_seconds",
        "Age of the oldest unsealed audit entry in seconds.";
    pub(crate) ATTESTATION: Counter = "gatehouse_attestation_denials_total",
        "Passkeys refused by an attestation policy, by reason.";
    MODELS: Gauge = "gatehouse_attestation_makes",
        "Authenticator models that can be verified.";
    HASHING: Gauge = "gatehouse_passwords_waiting",
        "Passwords waiting to be hashed.";
    pub(crate) ATTEMPTS: Counter = "gatehouse_webhook_attempts_total",
        "Webhook delivery attempts, by outcome: succeeded, refused, timeout, connect, tls, blocked or event_dropped.";
    ATTEMPT_DURATION: Histogram = "gatehouse_webhook_attempt_duration_seconds",
        "Duration of webhook delivery attempts in seconds.";
    SENDING: Gauge = "gatehouse_webhook_attempts_in_flight",
        "Webhook delivery attempts in flight.";
    SUBSCRIPTIONS: Gauge = "gatehouse_webhook_subscriptions_at_work",
        "Webhooks that this instance delivers to.";
    pub(crate) UNSIGNED: Counter = "gatehouse_webhook_unsigned_total",
        "Deliveries that failed because the signing secret could not be derived.";
    PENDING: Gauge = "gatehouse_webhook_deliveries_pending",
        "Deliveries of enabled webhooks that are due or wait, in the whole database.";
    OVERDUE: Gauge = "gatehouse_webhook_oldest_due_seconds",
        "How long the delivery that is due for longest has been due, in the whole database, in seconds.";
    OLDEST_EVENT: Gauge = "gatehouse_webhook_oldest_pending_seconds",
        "Age of the oldest event that an enabled webhook has yet to receive, also by a retry or replay, in the whole database, in seconds.";
    FAILING: Gauge = "gatehouse_webhooks_failing",
        "Webhooks whose last attempt failed, in the whole database.";
    pub(crate) QUEUE_FAILED: Counter = "gatehouse_webhook_queue_failures_total",
        "Failed database operations of the delivery queue.";
    pub(crate) LOG_ENTRIES: Counter = "gatehouse_log_stream_entries_total",
        "Audit entries that receivers of log streams accepted, by type of stream.";
    pub(crate) LOG_BATCHES: Counter = "gatehouse_log_stream_batches_total",
        "Batches of log streams, by outcome: accepted or failed.";
    LOG_STREAMS: Gauge = "gatehouse_log_streams_at_work",
        "Log streams that this instance is sending.";
    LOG_STREAMS_FAILING: Gauge = "gatehouse_log_streams_failing",
        "Enabled log streams whose last batch failed, in the whole database.";
    LOG_STREAMS_WAITING: Gauge = "gatehouse_log_stream_waiting_entries",
        "Sealed audit entries that enabled log streams have yet to send, in the whole database.";
    pub(crate) LOG_QUEUE_FAILED: Counter = "gatehouse_log_stream_queue_failures_total",
        "Failed database operations of log streams.";
    pub(crate) SIGNALS: Counter = "gatehouse_signals_total",
        "Security event tokens, by outcome: delivered, refused by the receiver for good, or failed, to be sent again.";
    pub(crate) SIGNALS_RECEIVED: Counter = "gatehouse_signals_received_total",
        "Tokens of transmitters of shared signals, by outcome: recorded, step_up_required, sessions_ended, user_disabled, repeated or refused.";
    pub(crate) SIGNAL_QUEUE_FAILED: Counter = "gatehouse_signal_queue_failures_total",
        "Failed database operations of shared signals.";
    pub(crate) SAML_BEGUN: Counter = "gatehouse_saml_requests_total",
        "SAML requests sent to identity providers.";
    pub(crate) SAML_ANSWERED: Counter = "gatehouse_saml_responses_total",
        "SAML responses, by outcome: SIGNED_IN, MFA_OWED, TESTED, or the check that failed.";
    SAML_DURATION: Histogram = "gatehouse_saml_examination_duration_seconds",
        "Time to verify a SAML response in seconds.";
    SAML_PROVIDERS: Gauge = "gatehouse_saml_providers",
        "SSO connections of all tenants.";
    SAML_EXPIRING: Gauge = "gatehouse_saml_certificates_expiring",
        "SSO connections whose last signing certificate expires within 30 days.";
    SAML_EXPIRED: Gauge = "gatehouse_saml_certificates_expired",
        "SSO connections whose last signing certificate has expired; users cannot sign in through them.";
    SAML_NEXT_EXPIRY: Gauge = "gatehouse_saml_certificate_soonest_expiry_seconds",
        "Seconds until the next signing certificate of an SSO connection expires.";
    pub(crate) SAML_READ: Counter = "gatehouse_saml_metadata_reads_total",
        "Refreshes of SAML metadata, by outcome: unchanged, changed or failed.";
    pub(crate) OIDC_BEGUN: Counter = "gatehouse_oidc_requests_total",
        "Sign-in requests sent to OpenID providers.";
    pub(crate) OIDC_ANSWERED: Counter = "gatehouse_oidc_responses_total",
        "Redirects of OpenID providers, by outcome: SIGNED_IN, MFA_OWED, TESTED, the check that failed, or FAILED without a check.";
    pub(crate) SAML_LOGOUTS: Counter = "gatehouse_saml_logouts_total",
        "SAML logout messages, by outcome: ended (a request revoked sessions), unmatched (it named none), completed or incomplete (the response to ours), or refused.";
    pub(crate) OIDC_LOGOUTS: Counter = "gatehouse_oidc_logouts_total",
        "Logout tokens of OpenID providers, by outcome: ended or refused.";
    OIDC_DURATION: Histogram = "gatehouse_oidc_examination_duration_seconds",
        "Time to validate an ID token in seconds.";
    pub(crate) OIDC_READ: Counter = "gatehouse_oidc_metadata_reads_total",
        "Refreshes of metadata and keys of OpenID providers, by outcome: unchanged, changed or failed.";
}

/// Buckets in seconds for delivery attempts, which may take up to 15 seconds.
const ATTEMPT_BUCKETS: [f64; 12] = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 15.0];

/// Histogram buckets of the areas.
pub(crate) const HISTOGRAMS: [Buckets; 1] = [(ATTEMPT_DURATION, &ATTEMPT_BUCKETS)];

/// Counts sealed entries.
pub(crate) fn sealed(entries: usize) {
    counter!(SEALED).increment(entries as u64);
}

/// Counts a failure to seal a log.
pub(crate) fn sealing_failed() {
    counter!(SEALING_FAILED).increment(1);
}

/// Sets the number of audit entries that this instance refused to seal in its last pass.
pub(crate) fn unauthenticated(entries: usize) {
    gauge!(UNAUTHENTICATED).set(count(entries));
}

/// Sets the age of the oldest unsealed audit entry, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "metric values are floating-point numbers")]
pub(crate) fn oldest_unsealed(millis: i64) {
    gauge!(OLDEST_UNSEALED).set(millis as f64 / 1000.0);
}

/// Counts a delivery attempt and records its duration in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "an attempt takes at most 15 seconds")]
pub(crate) fn attempted(outcome: &'static str, millis: i64) {
    counter!(ATTEMPTS, "outcome" => outcome).increment(1);
    histogram!(ATTEMPT_DURATION).record(millis as f64 / 1000.0);
}

/// Sets the number of running attempts, and of subscriptions that this instance delivers to.
pub(crate) fn delivering(in_flight: usize, subscriptions: usize) {
    gauge!(SENDING).set(count(in_flight));
    gauge!(SUBSCRIPTIONS).set(count(subscriptions));
}

/// Sets the metrics about pending deliveries; to NaN if they could not be counted.
#[expect(clippy::cast_precision_loss, reason = "metric values are floating-point numbers")]
pub(crate) fn webhook_backlog(backlog: Option<&WebhookBacklog>, now: Timestamp) {
    let Some(backlog) = backlog else {
        return [PENDING, OVERDUE, OLDEST_EVENT].into_iter().for_each(|name| gauge!(name).set(f64::NAN));
    };
    let age = |time: Option<Timestamp>| {
        time.map_or(0.0, |time| (now.unix_millis() - time.unix_millis()).max(0) as f64 / 1000.0)
    };
    gauge!(PENDING).set(backlog.pending as f64);
    gauge!(OVERDUE).set(age(backlog.due_since));
    gauge!(OLDEST_EVENT).set(age(backlog.oldest_event));
}

/// Counts a batch of a log stream, and its entries if the receiver accepted it.
pub(crate) fn log_batch(kind: &'static str, accepted: Option<usize>) {
    let outcome = if accepted.is_some() { "accepted" } else { "failed" };
    counter!(LOG_BATCHES, "outcome" => outcome).increment(1);
    if let Some(entries) = accepted {
        counter!(LOG_ENTRIES, "type" => kind).increment(u64::try_from(entries).unwrap_or_default());
    }
}

/// Sets the number of log streams that this instance is sending.
pub(crate) fn log_streams_at_work(streams: usize) {
    gauge!(LOG_STREAMS).set(count(streams));
}

/// Sets the number of failing log streams, and of the entries that log streams have yet to send; to NaN if they could not
/// be counted.
#[expect(clippy::cast_precision_loss, reason = "metric values are floating-point numbers")]
pub(crate) fn log_stream_backlog(backlog: Option<LogStreamBacklog>) {
    let (failing, waiting) =
        backlog.map_or((f64::NAN, f64::NAN), |backlog| (backlog.failing as f64, backlog.waiting as f64));
    gauge!(LOG_STREAMS_FAILING).set(failing);
    gauge!(LOG_STREAMS_WAITING).set(waiting);
}

/// Counts a failed database operation of log streams.
pub(crate) fn log_queue_failed() {
    counter!(LOG_QUEUE_FAILED).increment(1);
}

/// Counts a pushed token by outcome.
pub(crate) fn signal_pushed(outcome: &'static str) {
    counter!(SIGNALS, "outcome" => outcome).increment(1);
}

/// Counts the tokens that a receiver acknowledged or refused in a poll.
pub(crate) fn signals_polled(accepted: usize, refused: usize) {
    for (outcome, tokens) in [("delivered", accepted), ("refused", refused)] {
        counter!(SIGNALS, "outcome" => outcome).increment(u64::try_from(tokens).unwrap_or_default());
    }
}

/// Counts a token of a transmitter by outcome.
pub(crate) fn signal_received(outcome: &'static str) {
    counter!(SIGNALS_RECEIVED, "outcome" => outcome).increment(1);
}

/// Counts a failed database operation of shared signals.
pub(crate) fn signal_queue_failed() {
    counter!(SIGNAL_QUEUE_FAILED).increment(1);
}

/// Sets the number of failing webhooks.
pub(crate) fn webhooks_failing(webhooks: usize) {
    gauge!(FAILING).set(count(webhooks));
}

/// Counts deliveries that cannot be signed because a secret could not be derived.
pub(crate) fn unsigned() {
    counter!(UNSIGNED).increment(1);
}

/// Counts a database failure of the delivery queue.
pub(crate) fn queue_failed() {
    counter!(QUEUE_FAILED).increment(1);
}

/// Counts a sign-in that was sent to an identity provider.
pub(crate) fn saml_begun() {
    counter!(SAML_BEGUN).increment(1);
}

/// Counts a SAML response by outcome.
pub(crate) fn saml_answered(outcome: &'static str) {
    counter!(SAML_ANSWERED, "outcome" => outcome).increment(1);
}

/// Sets the metrics about certificate expiry of all SSO connections. The seconds are NaN if no certificate expires.
#[expect(clippy::cast_precision_loss, reason = "metric values are floating-point numbers")]
pub(crate) fn saml_expiry(expiry: &SamlExpiry, now: Timestamp) {
    gauge!(SAML_PROVIDERS).set(expiry.providers as f64);
    gauge!(SAML_EXPIRING).set(expiry.within_30_days as f64);
    gauge!(SAML_EXPIRED).set(expiry.expired as f64);
    let seconds = |end: Timestamp| (end.unix_millis() - now.unix_millis()) as f64 / 1000.0;
    gauge!(SAML_NEXT_EXPIRY).set(expiry.soonest.map_or(f64::NAN, seconds));
}

/// Counts a metadata refresh by outcome.
pub(crate) fn saml_read(outcome: &'static str) {
    counter!(SAML_READ, "outcome" => outcome).increment(1);
}

/// Counts a sign-in that was sent to an OpenID provider.
pub(crate) fn oidc_begun() {
    counter!(OIDC_BEGUN).increment(1);
}

/// Counts a redirect of an OpenID provider by outcome.
pub(crate) fn oidc_answered(outcome: &'static str) {
    counter!(OIDC_ANSWERED, "outcome" => outcome).increment(1);
}

/// Counts a refresh of an OpenID provider's metadata by outcome.
pub(crate) fn oidc_read(outcome: &'static str) {
    counter!(OIDC_READ, "outcome" => outcome).increment(1);
}

/// Counts a SAML logout message by outcome.
pub(crate) fn saml_logout(outcome: &'static str) {
    counter!(SAML_LOGOUTS, "outcome" => outcome).increment(1);
}

/// Counts a logout token by outcome.
pub(crate) fn oidc_logout(outcome: &'static str) {
    counter!(OIDC_LOGOUTS, "outcome" => outcome).increment(1);
}

/// Records the time to validate an ID token.
pub(crate) fn oidc_examined(duration: std::time::Duration) {
    histogram!(OIDC_DURATION).record(duration);
}

/// Records the time to verify a SAML response.
pub(crate) fn saml_examined(duration: std::time::Duration) {
    histogram!(SAML_DURATION).record(duration);
}

/// Counts a passkey that an attestation policy refused.
pub(crate) fn attestation_denied(reason: &'static str) {
    counter!(ATTESTATION, "reason" => reason).increment(1);
}

/// Sets the number of authenticator models whose attestation can be verified.
pub(crate) fn authenticator_models(models: usize) {
    gauge!(MODELS).set(count(models));
}

/// Returns the gauge of queued password hashing jobs.
pub(crate) fn passwords_waiting() -> Gauge {
    gauge!(HASHING)
}
