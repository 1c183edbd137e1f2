//! Sends deliveries over HTTP.

use std::sync::Arc;

use async_trait::async_trait;
use http::{
    HeaderMap,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use kernel::{Env, Timestamp};

use super::queue::{Deliverer, Key, Receiver};
use crate::{
    client::{Client, Failure},
    delivery::{Attempt, AttemptError, Outcome},
    error::KeyError,
    secret::{SecretKeys, Signers},
};

/// Sends deliveries through the guarded client.
pub struct HttpDeliver {
    /// The HTTP client with its address guard.
    pub client: Client,
    /// Returns the current keys that secrets are derived from.
    pub keys: Box<dyn Fn() -> Arc<SecretKeys> + Send + Sync>,
    /// The source of the signed timestamp.
    pub env: Arc<dyn Env>,
    /// The `User-Agent` header.
    pub user_agent: &'static str,
}

#[async_trait]
impl Deliverer for HttpDeliver {
    fn signers(&self, key: &Key, receiver: &Receiver, now: Timestamp) -> Result<Signers, KeyError> {
        (self.keys)().signers((&key.tenant, &key.subscription), &receiver.secrets, now)
    }

    async fn deliver(&self, receiver: &Receiver, signers: &Signers, attempt: &Attempt) -> Outcome {
        if attempt.body.is_none() {
            return Outcome::failed(AttemptError::EventDropped, 0);
        }
        sent(&self.client, &receiver.url, signers, attempt, (self.env.now(), self.user_agent)).await
    }
}

/// Sends an attempt, signed with the current time. Deliveries and tests of a subscription both use it.
pub async fn sent(
    client: &Client,
    url: &str,
    signers: &Signers,
    attempt: &Attempt,
    (now, user_agent): (Timestamp, &str),
) -> Outcome {
    let body = attempt.body.clone().unwrap_or_default();
    let mut headers = HeaderMap::with_capacity(10);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut put = |name: &'static str, value: &str| {
        // Ids, codes, numbers and base64 are always valid header values.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    put("user-agent", user_agent);
    put("x-service-event-id", &attempt.event_id);
    put("x-service-event-type", &attempt.event_type);
    for (name, value) in signers.headers(&attempt.event_id, now, &body) {
        put(name, &value);
    }
    let started = std::time::Instant::now();
    let elapsed = || i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
    // The URL was valid when it was stored, but the settings may have changed since.
    let Ok(target) = client.guard().target(url) else {
        return Outcome::failed(AttemptError::Blocked, elapsed());
    };
    match client.post(&target, headers, body).await {
        Ok(answer) => Outcome {
            status: Some(answer.status),
            error: None,
            duration_ms: elapsed(),
            body: answer.body,
            retry_after: answer.retry_after,
        },
        Err(failure) => Outcome::failed(failure.into(), elapsed()),
    }
}

impl From<Failure> for AttemptError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Timeout => Self::Timeout,
            Failure::Blocked => Self::Blocked,
            Failure::Tls => Self::Tls,
            Failure::Connect | Failure::Protocol | Failure::TooLarge => Self::Connect,
        }
    }
}
