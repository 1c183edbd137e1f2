//! The roles of a tenant's own.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp};

use super::MemoryPeople;
use crate::{
    own_role::{OwnRole, RoleStore},
    role::{Role, RoleId},
};

#[async_trait]
impl RoleStore for MemoryPeople {
    async fn roles(&mut self) -> StoreResult<Vec<OwnRole>> {
        Ok(self.roles.clone())
    }

    async fn role(&mut self, id: &RoleId) -> StoreResult<Option<OwnRole>> {
        Ok(self.roles.iter().find(|role| role.id == *id).cloned())
    }

    async fn insert_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        let is_free = self.roles.iter().all(|other| other.name_key() != role.name_key());
        if is_free {
            self.roles.push(role.clone());
        }
        Ok(is_free)
    }

    async fn update_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        let is_free =
            self.roles.iter().all(|other| other.id == role.id || other.name_key() != role.name_key());
        let kept = self.roles.iter_mut().find(|kept| is_free && kept.id == role.id);
        if let Some(kept) = kept {
            kept.clone_from(role);
        }
        Ok(is_free)
    }

    async fn delete_role(&mut self, id: &RoleId) -> StoreResult<()> {
        self.roles.retain(|role| role.id != *id);
        Ok(())
    }

    async fn revoke_grants_of_role(&mut self, _: &RoleId, _: Timestamp) -> StoreResult<()> {
        Ok(())
    }

    async fn is_role_used(&mut self, id: &RoleId) -> StoreResult<bool> {
        let is_it = |role: &Role| matches!(role, Role::Own(own) if own == id);
        let is_assigned = self.people.iter().any(|person| is_it(&person.role));
        Ok(is_assigned || self.rules.iter().any(|rule| is_it(&rule.role)))
    }
}
