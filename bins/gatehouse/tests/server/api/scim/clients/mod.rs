//! The requests that identity providers really send. Each file covers one provider, based on its documentation, its
//! published tests or its source.

mod authentik;
mod entra;
mod jumpcloud;
mod okta;
mod onelogin;
mod ping;

const USERS: &str = "/api/scim/v2/Users";
const GROUPS: &str = "/api/scim/v2/Groups";
const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
