//! The OCSF event of an entry.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    VERSION,
    class::{Class, Mapping, mapping},
};
use crate::{ListedEntry, events};

/// What reports the events.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name of the product, which is also its vendor's and that of the service.
    pub product: &'static str,
    /// Version of the product.
    pub version: &'static str,
    /// The tenant.
    pub tenant: String,
}

/// An event. Absent members are left out.
#[derive(Debug, Serialize)]
pub struct OcsfEvent<'e> {
    activity_id: u8,
    activity_name: &'e str,
    category_uid: u32,
    category_name: &'static str,
    class_uid: u32,
    class_name: &'static str,
    type_uid: u32,
    severity_id: u8,
    severity: &'static str,
    status_id: u8,
    status: &'static str,
    /// Milliseconds since 1970.
    time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    metadata: Metadata<'e>,
    actor: Actor<'e>,
    #[serde(skip_serializing_if = "Option::is_none")]
    src_endpoint: Option<Endpoint<'e>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<User<'e>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<Entity<'e>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Named<'e>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    privileges: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<Named<'e>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<Api<'e>>,
    /// The hash of the entry in the transparency log.
    raw_data_hash: Fingerprint,
    /// The payload, whose members OCSF does not know.
    unmapped: &'e RawValue,
}

#[derive(Debug, Serialize)]
struct Fingerprint {
    algorithm: &'static str,
    algorithm_id: u8,
    /// In lower-case hexadecimal.
    value: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Metadata<'e> {
    version: &'static str,
    uid: &'e str,
    event_code: &'e str,
    log_name: &'static str,
    tenant_uid: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    product: Product,
}

impl<'e> Metadata<'e> {
    pub(super) fn new(source: &'e Source, uid: &'e str, event_code: &'e str, sequence: Option<u64>) -> Self {
        Self {
            version: VERSION,
            uid,
            event_code,
            log_name: "audit",
            tenant_uid: &source.tenant,
            sequence,
            product: Product { name: source.product, vendor_name: source.product, version: source.version },
        }
    }
}

#[derive(Debug, Serialize)]
struct Product {
    name: &'static str,
    vendor_name: &'static str,
    version: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Actor<'e> {
    User(User<'e>),
    #[serde(untagged)]
    App {
        app_uid: &'e str,
        app_name: &'e str,
    },
}

#[derive(Debug, Serialize)]
struct User<'e> {
    uid: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'e str>,
    type_id: u8,
}

#[derive(Debug, Serialize)]
struct Endpoint<'e> {
    #[serde(skip_serializing_if = "Option::is_none")]
    ip: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    svc_name: Option<&'e str>,
}

#[derive(Debug, Serialize)]
struct Entity<'e> {
    uid: &'e str,
    #[serde(rename = "type")]
    kind: &'e str,
}

#[derive(Debug, Serialize)]
struct Named<'e> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'e str>,
}

#[derive(Debug, Serialize)]
struct Api<'e> {
    operation: &'e str,
    service: Named<'e>,
}

/// Members of a payload that an event needs.
#[derive(Debug, Default, Deserialize)]
struct Data<'d> {
    #[serde(borrow, default)]
    user: Option<std::borrow::Cow<'d, str>>,
    /// The role that a user has received.
    #[serde(default)]
    to: Option<String>,
    /// How an export ended.
    #[serde(default)]
    outcome: Option<std::borrow::Cow<'d, str>>,
}

/// `type_id` of users.
const USER: u8 = 1;
/// The outcome of a whole export.
const COMPLETED: &str = "COMPLETED";
/// Stands for the user of a failed sign-in to no known account.
const UNKNOWN: &str = "unknown";

impl OcsfEvent<'_> {
    /// Whether the event reports a failure or a refusal.
    pub fn is_failure(&self) -> bool {
        self.status_id == 2
    }

    /// Passes the event of an entry to `write`. `sequence` is the position of a sealed entry. Fails if the stored payload
    /// is not JSON.
    pub fn of<T>(
        listed: &ListedEntry,
        sequence: Option<u64>,
        source: &Source,
        write: impl FnOnce(&OcsfEvent<'_>) -> Result<T, serde_json::Error>,
    ) -> Result<T, serde_json::Error> {
        let entry = &listed.entry;
        let unmapped: &RawValue = serde_json::from_str(&entry.metadata)?;
        // Payloads without these members, or of another form, are unmapped as a whole.
        let data: Data<'_> = serde_json::from_str(&entry.metadata).unwrap_or_default();
        let Mapping { class, activity, is_failure } = mapping(&entry.action);
        let is_failure = is_failure || data.outcome.as_deref().is_some_and(|outcome| outcome != COMPLETED);
        let (category_uid, category_name) = class.category();
        let service = || Named { uid: None, name: Some(source.product) };
        let name = listed.actor_name.as_deref();
        let is_user = entry.actor_type == "USER";
        let subject = match &data.user {
            Some(user) => user.as_ref(),
            None if entry.resource_type == "user" => entry.resource_id.as_str(),
            None if is_user => entry.actor_id.as_str(),
            None => UNKNOWN,
        };
        let is_own = is_user && subject == entry.actor_id;
        let has_user = matches!(class, Class::AccountChange | Class::Authentication | Class::UserAccess);
        let ip = entry.ip.as_deref();
        let event = OcsfEvent {
            activity_id: activity,
            activity_name: class.activity(activity).unwrap_or(&entry.action),
            category_uid,
            category_name,
            class_uid: class.uid(),
            class_name: class.name(),
            type_uid: class.uid() * 100 + u32::from(activity),
            severity_id: if is_failure { 3 } else { 1 },
            severity: if is_failure { "Medium" } else { "Informational" },
            status_id: if is_failure { 2 } else { 1 },
            status: if is_failure { "Failure" } else { "Success" },
            time: entry.timestamp.unix_millis(),
            message: events::description(&entry.action),
            metadata: Metadata::new(source, &entry.id, &entry.action, sequence),
            actor: if is_user {
                Actor::User(User { uid: &entry.actor_id, name, type_id: USER })
            } else {
                Actor::App { app_uid: &entry.actor_id, app_name: name.unwrap_or(&entry.actor_type) }
            },
            src_endpoint: match (ip, class) {
                (Some(ip), _) => Some(Endpoint { ip: Some(ip), svc_name: None }),
                (None, Class::ApiActivity) => Some(Endpoint { ip: None, svc_name: Some(source.product) }),
                (None, _) => None,
            },
            user: has_user.then(|| User { uid: subject, name: name.filter(|_| is_own), type_id: USER }),
            entity: (class == Class::EntityManagement)
                .then_some(Entity { uid: &entry.resource_id, kind: &entry.resource_type }),
            group: (class == Class::GroupManagement)
                .then_some(Named { uid: Some(&entry.resource_id), name: None }),
            privileges: (class == Class::UserAccess).then(|| data.to.clone().into_iter().collect()),
            service: (class == Class::Authentication).then(service),
            api: (class == Class::ApiActivity).then(|| Api { operation: &entry.action, service: service() }),
            raw_data_hash: Fingerprint {
                algorithm: "SHA-256",
                algorithm_id: 3,
                value: HEXLOWER.encode(&entry.leaf),
            },
            unmapped,
        };
        write(&event)
    }
}
