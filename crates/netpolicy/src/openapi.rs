//! Schemas of addresses and ranges.

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

/// Regular expression for an IPv4 address.
const IPV4: &str =
    r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

/// Returns a regular expression for an IPv6 address (RFC 4291, section 2.2).
fn ipv6() -> String {
    const GROUP: &str = "[0-9A-Fa-f]{1,4}";
    // The part before `::`, including the first colon.
    let head = |groups: usize| if groups == 0 { ":".into() } else { format!("({GROUP}:){{{groups}}}") };
    let mut forms = vec![
        format!("({GROUP}:){{7}}{GROUP}"),
        format!("({GROUP}:){{6}}{IPV4}"),
        format!("({GROUP}:){{1,7}}:"),
        "::".into(),
    ];
    forms.extend((0..=6).map(|before| format!("{}(:{GROUP}){{1,{}}}", head(before), 7 - before)));
    forms.extend((0..=5).map(|before| format!("{}(:{GROUP}){{0,{}}}:{IPV4}", head(before), 5 - before)));
    format!("({})", forms.join("|"))
}

/// Describes a text that matches `pattern`.
fn text<const N: usize>(description: &str, pattern: &str, examples: [&str; N]) -> RefOr<Schema> {
    let schema = ObjectBuilder::new().schema_type(Type::String).description(Some(description));
    schema.pattern(Some(pattern)).examples(examples).build().into()
}

/// An IPv4 or IPv6 address.
pub struct IpAddress;

impl PartialSchema for IpAddress {
    fn schema() -> RefOr<Schema> {
        let pattern = format!("^({IPV4}|{})$", ipv6());
        text("An IPv4 or IPv6 address.", &pattern, ["203.0.113.7"])
    }
}

impl ToSchema for IpAddress {}

/// A range of IPv4 or IPv6 addresses in CIDR notation, or one address.
pub struct IpRange;

impl PartialSchema for IpRange {
    fn schema() -> RefOr<Schema> {
        let pattern =
            format!("^({IPV4}(/([12]?[0-9]|3[0-2]))?|{}(/([1-9]?[0-9]|1[01][0-9]|12[0-8]))?)$", ipv6());
        let description = "A range of IPv4 or IPv6 addresses in CIDR notation, or one address.";
        text(description, &pattern, ["203.0.113.0/24", "2001:db8::/32"])
    }
}

impl ToSchema for IpRange {}
