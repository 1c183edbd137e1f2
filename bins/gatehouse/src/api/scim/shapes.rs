//! SCIM schemas for the API description, read from the table of attributes.

use scim_core::schema::{
    GROUPS, ResourceType, USERS, group_example, json_schema, list_schema, patch_schema, search_schema,
    user_example,
};
use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

fn answered(kind: &'static ResourceType, example: Value) -> Value {
    let mut shape = json_schema(kind, false);
    if let Some(members) = shape.as_object_mut() {
        members.insert("example".into(), example);
    }
    shape
}

/// Defines types that represent a schema in the API description, with the schemas that they reference.
macro_rules! shapes {
    ($($(#[doc = $doc:literal])* $name:ident = $shape:expr $(, with $inner:ident)?;)+) => { $(
        $(#[doc = $doc])*
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                serde_json::from_value($shape).unwrap_or_else(|_| Schema::default().into())
            }
        }

        impl ToSchema for $name {
            $(fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                schemas.push((stringify!($inner).into(), $inner::schema()));
            })?
        }
    )+ };
}

shapes! {
    /// A user as it is answered.
    ScimUser = answered(&USERS, user_example());
    /// A user as it is sent.
    ScimUserBody = json_schema(&USERS, true);
    /// A page of users.
    ScimUserList = list_schema(&json!({ "$ref": "#/components/schemas/ScimUser" })), with ScimUser;
    /// A group as it is answered.
    ScimGroup = answered(&GROUPS, group_example());
    /// A group as it is sent.
    ScimGroupBody = json_schema(&GROUPS, true);
    /// A page of groups.
    ScimGroupList = list_schema(&json!({ "$ref": "#/components/schemas/ScimGroup" })), with ScimGroup;
    /// Changes in parts.
    ScimPatch = patch_schema();
    /// A SCIM search request.
    ScimSearch = search_schema();
    /// A list of resources of several kinds, of schemas or of resource types.
    ScimList = list_schema(&json!({ "type": "object" }));
}
