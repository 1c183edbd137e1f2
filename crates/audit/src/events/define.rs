//! Shared parts of the implementations of [`EventData`](crate::EventData).
#![cfg_attr(
    not(feature = "gatehouse-events"),
    expect(dead_code, reason = "resources and actors of other events")
)]

/// Type and id of a resource in examples.
pub(super) type Resource = (&'static str, &'static str);
/// Id and type of an actor in examples.
pub(super) type Actor = (&'static str, &'static str);

pub(super) const TENANT: Resource = ("tenant", "ten_01jz1111111111111111111111");
pub(super) const USER: Resource = ("user", "usr_01jz2222222222222222222222");
pub(super) const SESSION: Resource = ("session", "ses_01jz6666666666666666666666");
pub(super) const FACTOR: Resource = ("factor", "fac_01jz7777777777777777777777");
pub(super) const PAT: Resource = ("pat", "ptk_01jz8888888888888888888888");
pub(super) const SCIM_TOKEN: Resource = ("scimToken", "sct_01jz1111111111111111111111");
pub(super) const NETWORK_RULE: Resource = ("network_rule", "nrl_01jz3333333333333333333333");

pub(super) const BY_USER: Actor = ("usr_01jz2222222222222222222222", "USER");
pub(super) const BY_ANOTHER_USER: Actor = ("usr_01jz3333333333333333333333", "USER");
pub(super) const BY_TRANSMITTER: Actor = ("trm_01jz9999999999999999999999", "SYSTEM");
pub(super) const BY_CLI: Actor = ("cli", "SYSTEM");

/// Defines events. The description is the doc comment; in parentheses stand the resource of the example and its actor,
/// unless that is a SCIM token. Each field has the value of the example.
macro_rules! events {
    ($(
        #[doc = $description:literal]
        $name:ident = $code:literal ($resource:expr $(, $actor:expr)?) {
            $($(#[$about:meta])+ $field:ident: $kind:ty = $example:expr,)*
        }
    )+) => { $(
        #[doc = $description]
        #[derive(Debug, Clone, serde::Serialize)]
        #[cfg_attr(feature = "gatehouse-events", derive(utoipa::ToSchema))]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $($(#[$about])+ pub $field: $kind,)* }

        impl crate::EventData for $name {
            const CODE: &'static str = $code;
            const DESCRIPTION: &'static str = $description.trim_ascii_start();
            const RESOURCE_TYPE: &'static str = $resource.0;
            const EXAMPLE_ID: &'static str = $resource.1;
            $(const EXAMPLE_ACTOR: (&'static str, &'static str) = $actor;)?

            fn example() -> Option<Self> {
                Some(Self { $($field: $example,)* })
            }

            #[cfg(feature = "gatehouse-events")]
            fn schema() -> serde_json::Value {
                // Schemas of utoipa always serialize.
                serde_json::to_value(<Self as utoipa::PartialSchema>::schema()).unwrap_or_default()
            }
        }
    )+ };
}
pub(super) use events;
