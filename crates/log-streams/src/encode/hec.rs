//! Events of Splunk's HTTP Event Collector.

use super::Batch;

/// The source type of all events.
const SOURCE_TYPE: &str = "gatehouse:ocsf";

/// Returns the events as the collector's endpoint `event` expects them: JSON objects, one after the other.
pub(crate) fn hec(batch: &Batch, host: &str) -> Vec<u8> {
    let host = serde_json::Value::from(host);
    let mut out = Vec::new();
    for record in &batch.records {
        let millis = record.time.unix_millis();
        let (seconds, rest) = (millis.div_euclid(1000), millis.rem_euclid(1000));
        let head = format!(
            "{{\"time\":{seconds}.{rest:03},\"host\":{host},\"source\":\"gatehouse\",\"sourcetype\":\"{SOURCE_TYPE}\",\
             \"event\":"
        );
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(record.json.as_bytes());
        out.extend_from_slice(b"}\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::batch::tests::batch, *};

    #[test]
    fn events_have_time_host_and_source_type() {
        let body = hec(&batch(5..6, 6), "gatehouse.example.com");
        let events: Vec<Value> =
            serde_json::Deserializer::from_slice(&body).into_iter().collect::<Result<_, _>>().unwrap();
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["time"], json!(1_769_851_800.123));
        assert_eq!(events[0]["sourcetype"], "gatehouse:ocsf");
        assert_eq!(events[0]["host"], "gatehouse.example.com");
        assert_eq!(events[0]["event"]["metadata"]["sequence"], 5);
    }
}
