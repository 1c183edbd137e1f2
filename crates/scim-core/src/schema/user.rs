//! The core user (RFC 7643 §4.1) and the enterprise extension (§4.3), as far as they are kept.

use super::{
    Schema,
    attribute::{Attribute, Mutability, Returned, Type},
};

/// `urn:ietf:params:scim:schemas:core:2.0:User`
pub const USER: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:User",
    name: "User",
    description: "A person of the tenant",
    attributes: &[
        Attribute::text("userName", "The name that identifies the person to the identity provider.")
            .max(256)
            .required()
            .unique(),
        Attribute::complex("name", NAME, "The parts of the person's name."),
        Attribute::text("displayName", "The name to show."),
        Attribute::text("nickName", "How the person is called."),
        Attribute::reference("profileUrl", &["external"], "A page about the person."),
        Attribute::text("title", "The person's title, such as Vice President."),
        Attribute::text("userType", "The relation to the organisation, such as Contractor."),
        Attribute::text("preferredLanguage", "The preferred language, such as en-US."),
        Attribute::text("locale", "Where times, currencies and numbers are written as in, such as en-US."),
        Attribute::text("timezone", "The time zone, such as America/Los_Angeles."),
        Attribute {
            required: true,
            has_default: true,
            ..Attribute::new("active", Type::Boolean, "Whether the person may sign in; true unless sent.")
        },
        Attribute {
            mutability: Mutability::WriteOnly,
            returned: Returned::Never,
            ..Attribute::text("password", "Accepted and ignored: passwords are never set by provisioning.")
        },
        Attribute::complex("emails", EMAIL, "E-mail addresses; the primary one is the sign-in address.")
            .multi(),
        Attribute::complex("phoneNumbers", PHONE, "Telephone numbers.").multi(),
        Attribute::complex("addresses", ADDRESS, "Postal addresses.").multi(),
        Attribute::complex("groups", GROUPS, "The groups the person is in; changed through the groups.")
            .multi()
            .read_only(),
        Attribute::complex("entitlements", PLAIN, "Things the person has; data only.").multi(),
        Attribute::complex("roles", PLAIN, "Roles elsewhere; data only, they grant nothing here.").multi(),
    ],
};

/// `urn:ietf:params:scim:schemas:extension:enterprise:2.0:User`
pub const ENTERPRISE_USER: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    name: "EnterpriseUser",
    description: "Where the person stands in an organisation",
    attributes: &[
        Attribute::text("employeeNumber", "The number given by the organisation."),
        Attribute::text("costCenter", "The cost center."),
        Attribute::text("organization", "The organisation."),
        Attribute::text("division", "The division."),
        Attribute::text("department", "The department."),
        Attribute::complex("manager", MANAGER, "The person's manager."),
    ],
};

const NAME: &[Attribute] = &[
    Attribute::text("formatted", "The whole name, formatted for display."),
    Attribute::text("familyName", "The family name."),
    Attribute::text("givenName", "The given name."),
    Attribute::text("middleName", "The middle names."),
    Attribute::text("honorificPrefix", "Such as Ms."),
    Attribute::text("honorificSuffix", "Such as III."),
];

const DISPLAY: Attribute = Attribute::text("display", "The value, formatted for display.");
const TYPE: Attribute = Attribute::text("type", "What the value is for.");
const PRIMARY: Attribute =
    Attribute::new("primary", Type::Boolean, "Whether this is the preferred value; at most one is.");

const EMAIL: &[Attribute] = &[
    Attribute::text("value", "The address.").max(254),
    DISPLAY,
    TYPE.canonical(&["work", "home", "other"]),
    PRIMARY,
];

const PHONE: &[Attribute] = &[
    Attribute::text("value", "The number."),
    DISPLAY,
    TYPE.canonical(&["work", "home", "mobile", "fax", "pager", "other"]),
    PRIMARY,
];

const ADDRESS: &[Attribute] = &[
    Attribute::text("formatted", "The whole address, formatted for display."),
    Attribute::text("streetAddress", "Street and number."),
    Attribute::text("locality", "City."),
    Attribute::text("region", "State or region."),
    Attribute::text("postalCode", "Postal code."),
    Attribute::text("country", "ISO 3166-1 alpha-2 code."),
    TYPE.canonical(&["work", "home", "other"]),
    PRIMARY,
];

const PLAIN: &[Attribute] = &[Attribute::text("value", "The value."), DISPLAY, TYPE, PRIMARY];

const MANAGER: &[Attribute] = &[
    Attribute::text("value", "The id of the manager.").exact(),
    Attribute::reference("$ref", &["User"], "The address of the manager's resource."),
    Attribute::text("displayName", "The manager's name.").read_only(),
];

const GROUPS: &[Attribute] = &[
    Attribute::text("value", "The id of the group.").exact().read_only(),
    Attribute::reference("$ref", &["Group"], "The address of the group.").read_only(),
    Attribute::text("display", "The name of the group.").read_only(),
    Attribute::text("type", "How the person came to be in it.").canonical(&["direct"]).read_only(),
];
