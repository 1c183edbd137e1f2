//! People as the operator makes them: users whose name is their address.

use async_trait::async_trait;
use directory::{PeopleStore, Person};
use kernel::StoreError;
use scim_core::User;
use serde_json::{Map, Value, json};

use crate::Tx;

#[async_trait]
impl PeopleStore for Tx {
    async fn insert_person(&mut self, person: &Person) -> Result<bool, StoreError> {
        let emails = json!([{ "value": person.email.as_str(), "type": "work", "primary": true }]);
        let user = User {
            id: person.id.clone(),
            user_name: person.email.to_string(),
            external_id: None,
            active: true,
            attributes: Map::from_iter([(String::from("emails"), emails as Value)]).into(),
            created: person.created_at,
            last_modified: person.created_at,
            groups: Vec::new(),
        };
        self.insert_user_as(&user, person.role.as_str()).await
    }
}
