//! Shared parts of the implementations of [`EventData`](crate::EventData).

/// Type and id of a resource in examples.
pub(super) type Resource = (&'static str, &'static str);
/// Id and type of an actor in examples.
pub(super) type Actor = (&'static str, &'static str);

pub(super) const TENANT: Resource = ("tenant", "ten_01jz1111111111111111111111");
pub(super) const USER: Resource = ("user", "usr_01jz2222222222222222222222");
pub(super) const SESSION: Resource = ("session", "ses_01jz6666666666666666666666");
pub(super) const FACTOR: Resource = ("factor", "fac_01jz7777777777777777777777");
pub(super) const PAT: Resource = ("pat", "ptk_01jz8888888888888888888888");
pub(super) const NETWORK_RULE: Resource = ("network_rule", "nrl_01jz3333333333333333333333");

pub(super) const BY_USER: Actor = ("usr_01jz2222222222222222222222", "USER");
pub(super) const BY_ANOTHER_USER: Actor = ("usr_01jz3333333333333333333333", "USER");
pub(super) const BY_CLI: Actor = ("cli", "SYSTEM");

/// Implements `EventData`: code, resource, actor of the example if it is not a SCIM token, description, and example.
macro_rules! event {
    ($name:ident = $code:literal, about $resource:expr $(, by $actor:expr)?; $description:expr; $example:expr) => {
        impl crate::EventData for $name {
            const CODE: &'static str = $code;
            const DESCRIPTION: &'static str = $description;
            const RESOURCE_TYPE: &'static str = $resource.0;
            const EXAMPLE_ID: &'static str = $resource.1;
            $(const EXAMPLE_ACTOR: (&'static str, &'static str) = $actor;)?

            fn example() -> Self {
                $example
            }
        }
    };
}
pub(super) use event;
