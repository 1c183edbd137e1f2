//! What every resource has (RFC 7643 §3.1): in no schema, and known to filters and paths all the same.

use super::attribute::{Attribute, Returned};

/// `id`, `externalId` and `meta`.
pub const COMMON: &[Attribute] = &[ID, EXTERNAL_ID, META];

/// The service's own id.
const ID: Attribute =
    Attribute::text("id", "The service's own id.").exact().read_only().returned(Returned::Always);

/// The identity provider's own id.
pub(crate) const EXTERNAL_ID: Attribute =
    Attribute::text("externalId", "The identity provider's own id; compared exactly.").exact().max(256);

const META: Attribute =
    Attribute::complex("meta", META_PARTS, "What the service knows about the resource.").read_only();

const META_PARTS: &[Attribute] = &[
    Attribute::text("resourceType", "The name of the resource's type.").exact().read_only(),
    Attribute::time("created", "When it was made."),
    Attribute::time("lastModified", "When an attribute last changed."),
    Attribute::reference("location", &["uri"], "Its address.").read_only(),
];
