//! Log records of the OpenTelemetry protocol (OTLP 1.x), in binary protobuf.

use audit::ocsf::Source;
use kernel::Timestamp;
use opentelemetry_proto::tonic::{
    collector::logs::v1::ExportLogsServiceRequest,
    common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, any_value::Value},
    logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber},
    resource::v1::Resource,
};
use prost::Message;

use super::{Batch, Record};

/// Returns the body of `POST /v1/logs`.
pub(crate) fn otlp(batch: &Batch, source: &Source, now: Timestamp) -> Result<Vec<u8>, serde_json::Error> {
    let log_records = batch.records.iter().map(|record| log_record(record, now)).collect::<Result<_, _>>()?;
    let text = |text: &str| AnyValue { value: Some(Value::StringValue(text.to_owned())) };
    let scope = InstrumentationScope {
        name: "gatehouse.audit".into(),
        version: source.version.into(),
        ..InstrumentationScope::default()
    };
    let resource = Resource {
        attributes: vec![
            attribute("service.name", text("gatehouse")),
            attribute("service.version", text(source.version)),
            attribute("gatehouse.tenant.id", text(&source.tenant)),
        ],
        ..Resource::default()
    };
    let scope_logs = vec![ScopeLogs { scope: Some(scope), log_records, ..ScopeLogs::default() }];
    let resource_logs =
        vec![ResourceLogs { resource: Some(resource), scope_logs, ..ResourceLogs::default() }];
    Ok(ExportLogsServiceRequest { resource_logs }.encode_to_vec())
}

/// Returns the record of an event, whose body has the members of the event.
fn log_record(record: &Record, now: Timestamp) -> Result<LogRecord, serde_json::Error> {
    let severity = if record.is_failure { SeverityNumber::Warn } else { SeverityNumber::Info };
    let id = AnyValue { value: Some(Value::StringValue(record.id.clone())) };
    let sequence = record.sequence.and_then(|sequence| i64::try_from(sequence).ok());
    let sequence = sequence.map(|sequence| AnyValue { value: Some(Value::IntValue(sequence)) });
    let mut attributes = vec![attribute("log.record.uid", id)];
    attributes.extend(sequence.map(|sequence| attribute("gatehouse.sequence", sequence)));
    Ok(LogRecord {
        time_unix_nano: nanoseconds(record.time),
        observed_time_unix_nano: nanoseconds(now),
        severity_number: severity.into(),
        severity_text: if record.is_failure { "WARN" } else { "INFO" }.into(),
        body: Some(any_value(serde_json::from_str(&record.json)?)),
        attributes,
        event_name: record.code.clone(),
        ..LogRecord::default()
    })
}

fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.unix_millis()).unwrap_or_default().saturating_mul(1_000_000)
}

fn attribute(key: &str, value: AnyValue) -> KeyValue {
    KeyValue { key: key.into(), value: Some(value), ..KeyValue::default() }
}

fn any_value(json: serde_json::Value) -> AnyValue {
    let value = match json {
        serde_json::Value::Null => None,
        serde_json::Value::Bool(value) => Some(Value::BoolValue(value)),
        serde_json::Value::String(text) => Some(Value::StringValue(text)),
        serde_json::Value::Number(number) => Some(match number.as_i64() {
            Some(number) => Value::IntValue(number),
            None => Value::DoubleValue(number.as_f64().unwrap_or_default()),
        }),
        serde_json::Value::Array(items) => {
            Some(Value::ArrayValue(ArrayValue { values: items.into_iter().map(any_value).collect() }))
        }
        serde_json::Value::Object(members) => {
            let values =
                members.into_iter().map(|(key, member)| attribute(&key, any_value(member))).collect();
            Some(Value::KvlistValue(KeyValueList { values }))
        }
    };
    AnyValue { value }
}

#[cfg(test)]
mod tests {
    use super::{
        super::batch::tests::{batch, now, source},
        *,
    };

    #[test]
    fn records_have_the_members_of_the_event() {
        let bytes = otlp(&batch(5..6, 6), &source(), now()).unwrap();
        let request = ExportLogsServiceRequest::decode(bytes.as_slice()).unwrap();
        let records = &request.resource_logs[0].scope_logs[0].log_records;
        assert_eq!(records.len(), 2);
        let record = &records[0];
        assert_eq!(
            (record.event_name.as_str(), record.severity_text.as_str()),
            ("ACCOUNT_SIGN_IN_FAILED", "WARN")
        );
        assert_eq!(record.time_unix_nano, 1_769_851_800_123_000_000);
        let Some(Value::KvlistValue(body)) = record.body.as_ref().unwrap().value.as_ref() else {
            panic!("no members")
        };
        let member =
            |name: &str| body.values.iter().find(|one| one.key == name).unwrap().value.clone().unwrap().value;
        assert_eq!(member("class_uid"), Some(Value::IntValue(3002)));
        assert_eq!(member("status"), Some(Value::StringValue("Failure".into())));
        let sequence = record.attributes.iter().find(|one| one.key == "gatehouse.sequence").unwrap();
        assert_eq!(sequence.value.as_ref().unwrap().value, Some(Value::IntValue(5)));
    }
}
