//! The supported attributes of the core user (RFC 7643 §4.1) and the enterprise extension (§4.3).

use super::{
    Schema,
    attribute::{Attribute, Mutability, Returned, Type},
};

/// `urn:ietf:params:scim:schemas:core:2.0:User`
pub const USER: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:User",
    name: "User",
    description: "A user of the tenant",
    attributes: &[
        Attribute::text("userName", "Unique name of the user at the identity provider.")
            .max(256)
            .required()
            .unique(),
        Attribute::complex("name", NAME, "Components of the name."),
        Attribute::text("displayName", "Name for display."),
        Attribute::text("nickName", "Casual name."),
        Attribute::reference("profileUrl", &["external"], "URL of the user's profile page."),
        Attribute::text("title", "Title, such as Vice President."),
        Attribute::text("userType", "Relationship to the organization, such as Contractor."),
        Attribute::text("preferredLanguage", "Preferred language, such as en-US."),
        Attribute::text("locale", "Locale for dates, currencies and numbers, such as en-US."),
        Attribute::text("timezone", "Time zone, such as America/Los_Angeles."),
        Attribute {
            required: true,
            has_default: true,
            ..Attribute::new("active", Type::Boolean, "Whether the user may sign in. Default: true.")
        },
        Attribute {
            mutability: Mutability::WriteOnly,
            returned: Returned::Never,
            ..Attribute::text("password", "Accepted and ignored. Provisioning never sets passwords.")
        },
        Attribute::complex("emails", EMAIL, "Email addresses. The primary address is the sign-in address.")
            .multi(),
        Attribute::complex("phoneNumbers", PHONE, "Telephone numbers.").multi(),
        Attribute::complex("addresses", ADDRESS, "Postal addresses.").multi(),
        Attribute::complex("groups", GROUPS, "Groups of the user. Change them through the groups.")
            .multi()
            .read_only(),
        Attribute::complex("entitlements", PLAIN, "Entitlements. Stored only.").multi(),
        Attribute::complex("roles", PLAIN, "Roles in other systems. Stored only: they grant no access here.")
            .multi(),
    ],
};

/// `urn:ietf:params:scim:schemas:extension:enterprise:2.0:User`
pub const ENTERPRISE_USER: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    name: "EnterpriseUser",
    description: "Enterprise attributes of a user",
    attributes: &[
        Attribute::text("employeeNumber", "Employee number."),
        Attribute::text("costCenter", "Cost center."),
        Attribute::text("organization", "Organization."),
        Attribute::text("division", "Division."),
        Attribute::text("department", "Department."),
        Attribute::complex("manager", MANAGER, "Manager."),
    ],
};

const NAME: &[Attribute] = &[
    Attribute::text("formatted", "Full name, formatted for display."),
    Attribute::text("familyName", "Family name."),
    Attribute::text("givenName", "Given name."),
    Attribute::text("middleName", "Middle names."),
    Attribute::text("honorificPrefix", "Honorific prefix, such as Ms."),
    Attribute::text("honorificSuffix", "Honorific suffix, such as III."),
];

const DISPLAY: Attribute = Attribute::text("display", "Value, formatted for display.");
const TYPE: Attribute = Attribute::text("type", "Label such as work or home.");
const PRIMARY: Attribute =
    Attribute::new("primary", Type::Boolean, "Whether this is the primary value. At most one is.");

const EMAIL: &[Attribute] = &[
    Attribute::text("value", "Email address.").max(254),
    DISPLAY,
    TYPE.canonical(&["work", "home", "other"]),
    PRIMARY,
];

const PHONE: &[Attribute] = &[
    Attribute::text("value", "Telephone number."),
    DISPLAY,
    TYPE.canonical(&["work", "home", "mobile", "fax", "pager", "other"]),
    PRIMARY,
];

const ADDRESS: &[Attribute] = &[
    Attribute::text("formatted", "Full address, formatted for display."),
    Attribute::text("streetAddress", "Street address."),
    Attribute::text("locality", "City."),
    Attribute::text("region", "State or region."),
    Attribute::text("postalCode", "Postal code."),
    Attribute::text("country", "ISO 3166-1 alpha-2 code."),
    TYPE.canonical(&["work", "home", "other"]),
    PRIMARY,
];

const PLAIN: &[Attribute] = &[Attribute::text("value", "The value."), DISPLAY, TYPE, PRIMARY];

const MANAGER: &[Attribute] = &[
    Attribute::text("value", "ID of the manager.").exact(),
    Attribute::reference("$ref", &["User"], "URL of the manager."),
    Attribute::text("displayName", "Display name of the manager.").read_only(),
];

const GROUPS: &[Attribute] = &[
    Attribute::text("value", "ID of the group.").exact().read_only(),
    Attribute::reference("$ref", &["Group"], "URL of the group.").read_only(),
    Attribute::text("display", "The name of the group.").read_only(),
    Attribute::text("type", "Kind of membership.").canonical(&["direct"]).read_only(),
];
