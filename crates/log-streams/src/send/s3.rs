//! Files in object storage with the API of Amazon S3.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, header};
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};

use super::{SendError, Sender, http::require_success};
use crate::{Batch, encode::compressed_lines};

/// How long the signature of a request is valid.
const SIGNED_FOR: Duration = Duration::from_mins(5);

impl Sender<'_> {
    /// Puts a file. Its name is determined by its range.
    pub(super) async fn send_file(&self, batch: &Batch) -> Result<(), SendError> {
        let client = &self.sending.client;
        let url = self.signed_url(batch).ok_or_else(SendError::settings)?;
        let target = client.guard().target(&url).map_err(|_| SendError::settings())?;
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(self.sending.user_agent));
        let body = compressed_lines(batch).map_err(|_| SendError::settings())?;
        require_success(&client.put(&target, headers, body.into()).await?)
    }

    /// Returns the URL of the file with a signature (AWS Signature Version 4).
    fn signed_url(&self, batch: &Batch) -> Option<String> {
        let destination = &self.stream.destination;
        let (bucket, region) = (destination.bucket.clone()?, destination.region.clone()?);
        let endpoint = destination.url.parse().ok()?;
        let bucket = Bucket::new(endpoint, UrlStyle::Path, bucket, region).ok()?;
        let credentials =
            Credentials::new(destination.access_key_id.clone()?, self.secret.as_ref()?.expose().clone());
        let folder = format!(
            "{}{}/{}",
            destination.prefix.as_deref().unwrap_or_default(),
            self.source.tenant,
            self.stream.id
        );
        let name = file_name(&folder, batch)?;
        let action = bucket.put_object(Some(&credentials), &name);
        Some(action.sign(SIGNED_FOR).into())
    }
}

/// Returns `<folder>/<year>/<month>/<day>/<from>-<next>.ndjson.gz`, with the day of the first entry. The file of a test, without
/// entries, is always the same.
fn file_name(folder: &str, batch: &Batch) -> Option<String> {
    if batch.entries() == 0 {
        return Some(format!("{folder}/test.ndjson.gz"));
    }
    let day = batch.records.first()?.time.naive().format("%Y/%m/%d");
    Some(format!("{folder}/{day}/{:020}-{:020}.ndjson.gz", batch.from, batch.next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Record;

    #[test]
    fn name_of_a_file_is_that_of_its_range() {
        let batch = |entries: u64| Batch {
            from: 17,
            next: 17 + entries,
            // The last record is the checkpoint.
            records: (0..=entries)
                .map(|number| Record {
                    id: format!("aud_{number}"),
                    code: "ACCOUNT_GROUP_CREATED".into(),
                    sequence: Some(17 + number),
                    time: "2026-01-31T23:59:59.999Z".parse().unwrap(),
                    is_failure: false,
                    json: "{}".into(),
                })
                .collect(),
        };
        let name = "audit/ten_1/lst_1/2026/01/31/00000000000000000017-00000000000000000020.ndjson.gz";
        assert_eq!(file_name("audit/ten_1/lst_1", &batch(3)).unwrap(), name);
        assert_eq!(file_name("audit/ten_1/lst_1", &batch(0)).unwrap(), "audit/ten_1/lst_1/test.ndjson.gz");
    }
}
