//! Common attributes of all resources (RFC 7643 §3.1). No schema lists them, but filters and paths may name them.

use super::attribute::{Attribute, Returned};

/// `id`, `externalId` and `meta`.
pub const COMMON: &[Attribute] = &[ID, EXTERNAL_ID, META];

/// ID assigned by the service.
const ID: Attribute =
    Attribute::text("id", "ID assigned by the service.").exact().read_only().returned(Returned::Always);

/// ID assigned by the identity provider.
pub(crate) const EXTERNAL_ID: Attribute =
    Attribute::text("externalId", "ID assigned by the identity provider. Case-sensitive.").exact().max(256);

const META: Attribute = Attribute::complex("meta", META_PARTS, "Metadata of the resource.").read_only();

const META_PARTS: &[Attribute] = &[
    Attribute::text("resourceType", "Resource type.").exact().read_only(),
    Attribute::time("created", "Creation time."),
    Attribute::time("lastModified", "Time of the last change."),
    Attribute::reference("location", &["uri"], "URL of the resource.").read_only(),
];
