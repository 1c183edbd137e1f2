//! What identity providers really send, request by request. Each file is one of them, from its vendor's
//! documents, its published tests or its source.

mod authentik;
mod entra;
mod jumpcloud;
mod okta;
mod onelogin;
mod ping;

const USERS: &str = "/api/scim/v2/Users";
const GROUPS: &str = "/api/scim/v2/Groups";
const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
