//! Batches as HTTP requests: lines of JSON, Splunk's HTTP Event Collector, and OTLP.

use ::http::{HeaderMap, HeaderName, HeaderValue, header};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use kernel::{Secret, Timestamp};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use prost::Message;
use webhooks::client::{Answer, Target};

use super::{SendError, Sender};
use crate::{
    Batch, DestinationType, LogStreamId, Problem,
    encode::{hec, lines, otlp},
};

/// Maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;
/// The longest time that a receiver can delay the next attempt by, in seconds.
const MAX_RETRY_AFTER: i64 = 3_600;
/// Identifies a channel of Splunk's HTTP Event Collector, which tokens with indexer acknowledgment require.
const CHANNEL: HeaderName = HeaderName::from_static("x-splunk-request-channel");

impl Sender<'_> {
    pub(super) async fn send_http(&self, batch: &Batch, now: Timestamp) -> Result<(), SendError> {
        let client = &self.sending.client;
        let target =
            client.guard().target(&self.stream.destination.url).map_err(|_| SendError::settings())?;
        let (content_type, body) = match self.stream.destination.kind {
            DestinationType::SplunkHec => ("application/json", hec(batch, &self.sending.host)),
            DestinationType::Otlp => {
                let body = otlp(batch, self.source, now).map_err(|_| SendError::settings())?;
                ("application/x-protobuf", body)
            }
            _ => ("application/x-ndjson", lines(batch)),
        };
        let headers = self.headers(content_type)?;
        let answer = self.exchange(&target, headers, body.into()).await?;
        require_success(&answer)?;
        if self.stream.destination.kind == DestinationType::Otlp {
            self.report_rejected(&answer, batch);
        }
        Ok(())
    }

    /// Logs how many records an OTLP receiver rejected. It would reject them again, so they are not repeated, as the protocol
    /// requires.
    fn report_rejected(&self, answer: &Answer, batch: &Batch) {
        if let Some((records, message)) = rejected(answer) {
            tracing::warn!(
                stream = self.stream.id.as_str(),
                from = batch.from,
                next = batch.next,
                records,
                message,
                "an OTLP receiver rejected audit entries"
            );
        }
    }

    async fn exchange(&self, target: &Target, headers: HeaderMap, body: Bytes) -> Result<Answer, SendError> {
        let client = &self.sending.client;
        if self.stream.destination.kind == DestinationType::Otlp {
            return Ok(client.exchange(target, headers, body, MAX_RESPONSE).await?);
        }
        Ok(client.post(target, headers, body).await?)
    }

    fn headers(&self, content_type: &'static str) -> Result<HeaderMap, SendError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(self.sending.user_agent));
        if let Some(secret) = &self.secret {
            let (name, value) = match (self.stream.destination.kind, &self.stream.destination.header) {
                (DestinationType::SplunkHec, _) => {
                    (header::AUTHORIZATION, Secret::new(["Splunk ", secret.expose()].concat()))
                }
                (_, Some(name)) => {
                    let name = HeaderName::try_from(name.as_str()).map_err(|_| SendError::settings())?;
                    (name, secret.clone())
                }
                (_, None) => return Err(SendError::settings()),
            };
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| SendError::settings())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        if self.stream.destination.kind == DestinationType::SplunkHec {
            headers.insert(CHANNEL, channel(&self.stream.id)?);
        }
        Ok(headers)
    }
}

/// Returns a channel in the form of a GUID that is the same for all batches of a stream.
fn channel(stream: &LogStreamId) -> Result<HeaderValue, SendError> {
    let hash = HEXLOWER.encode(stream.as_str().as_bytes());
    let part =
        |from: usize, to: usize| hash.get(hash.len() - 32 + from..hash.len() - 32 + to).unwrap_or_default();
    let guid = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-");
    HeaderValue::from_str(&guid).map_err(|_| SendError::settings())
}

/// Fails unless the status is a success. Redirects are not followed.
pub(super) fn require_success(answer: &Answer) -> Result<(), SendError> {
    if (200..300).contains(&answer.status) {
        return Ok(());
    }
    let seconds = answer.retry_after.as_deref().and_then(|text| text.trim().parse::<i64>().ok());
    Err(SendError {
        problem: Problem::of_response("REFUSED", answer.status, &answer.body),
        retry_after: seconds.map(|seconds| seconds.clamp(0, MAX_RETRY_AFTER) * 1_000),
    })
}

/// Returns how many records an OTLP receiver rejected, and why.
fn rejected(answer: &Answer) -> Option<(i64, String)> {
    let response = ExportLogsServiceResponse::decode(answer.body.as_slice()).ok()?;
    let partial = response.partial_success.filter(|partial| partial.rejected_log_records > 0)?;
    let message = Problem::of_response("", answer.status, partial.error_message.as_bytes()).response;
    Some((partial.rejected_log_records, message.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn answer(status: u16, retry_after: Option<&str>, body: &[u8]) -> Answer {
        Answer {
            status,
            retry_after: retry_after.map(str::to_owned),
            content_type: None,
            body: body.to_vec(),
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn only_success_is_success() {
        assert_eq!(require_success(&answer(204, None, b"")), Ok(()));
        let refused = require_success(&answer(503, Some("7"), b"busy\r\n")).unwrap_err();
        assert_eq!(refused.retry_after, Some(7_000));
        assert_eq!(
            (refused.problem.code.as_str(), refused.problem.response.as_deref()),
            ("REFUSED", Some("busy"))
        );
        assert!(require_success(&answer(302, None, b"")).is_err());
        assert!(require_success(&answer(413, None, b"")).unwrap_err().is_too_large());
        assert_eq!(
            require_success(&answer(429, Some("1000000"), b"")).unwrap_err().retry_after,
            Some(3_600_000)
        );
    }

    #[test]
    fn records_that_an_otlp_receiver_rejects_are_counted() {
        use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsPartialSuccess;
        let response = |rejected_log_records| {
            let error_message = "too old".to_owned();
            let partial = ExportLogsPartialSuccess { rejected_log_records, error_message };
            ExportLogsServiceResponse { partial_success: Some(partial) }.encode_to_vec()
        };
        assert_eq!(rejected(&answer(200, None, b"")), None);
        assert_eq!(rejected(&answer(200, None, &response(0))), None);
        assert_eq!(rejected(&answer(200, None, &response(3))), Some((3, "too old".into())));
    }

    #[test]
    fn channel_is_a_guid_of_the_stream() {
        let env = kernel::SystemEnv::default();
        let (one, other) = (LogStreamId::new(&env), LogStreamId::new(&env));
        assert_eq!(channel(&one), channel(&one));
        assert_ne!(channel(&one), channel(&other));
        let text = channel(&one).unwrap().to_str().unwrap().to_owned();
        assert_eq!(text.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    }
}
