//! Finds the user of a credential before the tenant is known. Each statement reads one tenant, or a table that belongs
//! to none.

use chrono::NaiveDateTime;
use credentials::{Salt, StoredPassword};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, TenantId, Timestamp, UserId};

use crate::{
    Across, Credential,
    authentication::holder::{Holder, HolderRow, POLICIES, PoliciesRow, salt_of},
    conn::on,
    directory::held_roles::{HeldRow, SessionHeldRow, TokenHeldRow},
    error::corrupt,
    schema::{
        known_origins, password_salts, passwords, sessions as session_rows, sign_in_names, tenants, users,
    },
    sessions::row::SessionRow,
};

/// Maximum number of accounts with one address that a sign-in without a tenant compares. Only the operator creates
/// tenants, so attackers cannot reach this limit.
const MAX_ACCOUNTS: i64 = 1000;

/// A valid id that no tenant has, because its time is 1970.
const NO_TENANT: &str = "ten_00000000000000000000000000";

/// An account that a password may sign in to.
#[derive(Debug, Clone)]
pub struct Account {
    /// The account's user.
    pub holder: Holder,
    /// The account's tenant.
    pub tenant: TenantId,
    /// The tenant's slug.
    pub slug: String,
    /// The tenant's name.
    pub tenant_name: String,
    /// The password's hash.
    pub password: String,
    /// Whether the user has signed in from this address before.
    pub known_origin: bool,
}

impl Account {
    /// Returns the password hash in the form that the comparison takes.
    pub fn stored(&self) -> StoredPassword {
        StoredPassword { tenant: self.tenant.clone(), hash: self.password.clone() }
    }
}

/// A user with a given address.
#[derive(Debug, Clone)]
pub struct AddressUser {
    /// The user's tenant.
    pub tenant: TenantId,
    /// The user.
    pub user: UserId,
    /// The tenant's name.
    pub tenant_name: String,
}

/// The user of a token from another issuer.
#[derive(Debug, Clone)]
pub struct ForeignHolder {
    /// The account's user.
    pub holder: Holder,
    /// The account's tenant.
    pub tenant: TenantId,
    /// Tokens issued up to this time are rejected.
    pub sessions_after: Option<Timestamp>,
}

type AccountRow = (HolderRow, HeldRow, PoliciesRow, (String, String), String, Option<String>);
type ForeignRow = (HolderRow, TokenHeldRow, PoliciesRow, Option<NaiveDateTime>);

fn tenant_id(text: &str) -> StoreResult<TenantId> {
    text.parse().map_err(|error| corrupt("sign_in_names.tenant_id", error))
}

impl Across {
    /// Returns the tenant with this slug or id.
    pub async fn tenant_named(&mut self, name: &str) -> StoreResult<Option<directory::Tenant>> {
        // PostgreSQL text cannot contain NUL, so no tenant has such a slug.
        if name.contains('\0') {
            return Ok(None);
        }
        // Slugs have no underscore.
        match TenantId::generated(name) {
            Ok(id) => self.tenant(&id).await,
            Err(_) => self.tenant_of_slug(name).await,
        }
    }

    /// Returns the tenants in which a user may sign in with this address, or only `named`. The user may have been
    /// created or deleted at the same time, so the caller looks again in each tenant.
    async fn tenants_of_address(
        &mut self,
        email_key: &str,
        named: Option<&TenantId>,
        most: i64,
    ) -> StoreResult<Vec<TenantId>> {
        if let Some(tenant) = named {
            return Ok(vec![tenant.clone()]);
        }
        let query = sign_in_names::table
            .filter(sign_in_names::email_key.eq(email_key))
            .order(sign_in_names::tenant_id)
            .limit(most)
            .select(sign_in_names::tenant_id);
        let found: Vec<String> = on!(&mut self.conn, c => query.load(c).await)?;
        found.iter().map(|id| tenant_id(id)).collect()
    }

    /// Returns the accounts of an address that have a password, in one tenant or in all, and the salt that their
    /// passwords share. Accounts that have signed in from `origin` before come first.
    pub async fn accounts(
        &mut self,
        email_key: &str,
        tenant: Option<&TenantId>,
        origin: &str,
    ) -> StoreResult<(Option<Salt>, Vec<Account>)> {
        let mut accounts = Vec::new();
        let tenants = self.tenants_of_address(email_key, tenant, MAX_ACCOUNTS).await?;
        if tenants.is_empty() {
            // An unknown address takes as long as one with an account. The result does not matter, nor an error.
            let _none = self.account(email_key, &tenant_id(NO_TENANT)?, origin).await;
        }
        for tenant in tenants {
            accounts.extend(self.account(email_key, &tenant, origin).await?);
        }
        accounts.sort_by_key(|account| !account.known_origin);
        let address = Salt::address(email_key);
        let query = password_salts::table.find(&address[..]).select(password_salts::salt);
        let salt: Option<Vec<u8>> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        Ok((salt.map(|salt| salt_of(&salt)).transpose()?, accounts))
    }

    async fn account(
        &mut self,
        email_key: &str,
        tenant: &TenantId,
        origin: &str,
    ) -> StoreResult<Option<Account>> {
        let query = users::table
            .inner_join(tenants::table.on(tenants::id.eq(users::tenant_id)))
            .inner_join(
                passwords::table
                    .on(passwords::tenant_id.eq(users::tenant_id).and(passwords::user_id.eq(users::id))),
            )
            .left_join(
                known_origins::table.on(known_origins::tenant_id
                    .eq(users::tenant_id)
                    .and(known_origins::user_id.eq(users::id))
                    .and(known_origins::origin.eq(origin))),
            )
            .filter(users::tenant_id.eq(tenant.as_str()))
            .filter(users::sign_in_email_key.eq(email_key))
            .filter(users::deleted_at.is_null());
        let row: Option<AccountRow> = on!(&mut self.conn, c => query
            .select((
                HolderRow::as_select(),
                HeldRow::of(tenant),
                POLICIES,
                (tenants::slug, tenants::name),
                passwords::hash,
                known_origins::origin.nullable(),
            ))
            .first(c).await.optional())?;
        row.map(|(holder, roles, policy, (slug, tenant_name), password, origin)| {
            Ok(Account {
                holder: holder.with(roles.held()?, policy)?,
                tenant: tenant.clone(),
                slug,
                tenant_name,
                password,
                known_origin: origin.is_some(),
            })
        })
        .transpose()
    }

    /// Returns the users with this address, in one tenant or in all.
    pub async fn users_of_address(
        &mut self,
        email_key: &str,
        tenant: Option<&TenantId>,
    ) -> StoreResult<Vec<AddressUser>> {
        let mut found = Vec::new();
        for tenant in self.tenants_of_address(email_key, tenant, MAX_ACCOUNTS).await? {
            let query = users::table
                .inner_join(tenants::table.on(tenants::id.eq(users::tenant_id)))
                .filter(users::tenant_id.eq(tenant.as_str()))
                .filter(users::sign_in_email_key.eq(email_key))
                .select((users::id, tenants::name));
            let row: Option<(String, String)> = on!(&mut self.conn, c => query.first(c).await.optional())?;
            let Some((user, tenant_name)) = row else { continue };
            let user = user.parse().map_err(|error| corrupt("users.id", error))?;
            found.push(AddressUser { tenant, user, tenant_name });
        }
        Ok(found)
    }

    /// Returns the session for a token of another issuer, revoked or not, and its tenant. If the token names no
    /// tenant, its address usually leads to the tenant with two statements; only the session of an address that has
    /// changed since is searched in all tenants.
    pub async fn foreign_session(
        &mut self,
        token_hash: &[u8; 32],
        tenant: Option<&TenantId>,
        email_key: Option<&str>,
    ) -> StoreResult<Option<(TenantId, Credential)>> {
        let likely = match (tenant, email_key) {
            (None, None) => Vec::new(),
            (tenant, key) => self.tenants_of_address(key.unwrap_or_default(), tenant, MAX_ACCOUNTS).await?,
        };
        for likely in &likely {
            if let Some(credential) = self.foreign_session_in(token_hash, likely).await? {
                return Ok(Some((likely.clone(), credential)));
            }
        }
        if tenant.is_some() {
            return Ok(None);
        }
        let query = session_rows::table
            .filter(session_rows::foreign_hash.eq(&token_hash[..]))
            .order(session_rows::tenant_id)
            .select(session_rows::tenant_id);
        let found: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        let Some(found) = found.as_deref().map(tenant_id).transpose()? else { return Ok(None) };
        let credential = self.foreign_session_in(token_hash, &found).await?;
        Ok(credential.map(|credential| (found, credential)))
    }

    async fn foreign_session_in(
        &mut self,
        token_hash: &[u8; 32],
        tenant: &TenantId,
    ) -> StoreResult<Option<Credential>> {
        let query =
            session_rows::table
                .inner_join(users::table.on(
                    users::tenant_id.eq(session_rows::tenant_id).and(users::id.eq(session_rows::user_id)),
                ))
                .inner_join(tenants::table.on(tenants::id.eq(session_rows::tenant_id)))
                .filter(session_rows::tenant_id.eq(tenant.as_str()))
                .filter(session_rows::foreign_hash.eq(&token_hash[..]));
        let row: Option<(SessionRow, HolderRow, SessionHeldRow, PoliciesRow)> = on!(&mut self.conn, c => query
            .select((SessionRow::as_select(), HolderRow::as_select(), SessionHeldRow::of(tenant), POLICIES))
            .first(c).await.optional())?;
        row.map(|(session, holder, roles, policies)| {
            Ok(Credential::Session(session.try_into()?, holder.with(roles.held()?, policies)?))
        })
        .transpose()
    }

    /// Returns the user with this address, for a token of another issuer that has no session yet. If no tenant is
    /// given, the address must be unique across tenants.
    pub async fn foreign_holder(
        &mut self,
        email_key: &str,
        tenant: Option<&TenantId>,
    ) -> StoreResult<Option<ForeignHolder>> {
        let mut found = None;
        for tenant in self.tenants_of_address(email_key, tenant, MAX_ACCOUNTS).await? {
            let query = users::table
                .inner_join(tenants::table.on(tenants::id.eq(users::tenant_id)))
                .filter(users::tenant_id.eq(tenant.as_str()))
                .filter(users::sign_in_email_key.eq(email_key))
                .filter(users::deleted_at.is_null());
            let row: Option<ForeignRow> = on!(&mut self.conn, c => query
                .select((HolderRow::as_select(), TokenHeldRow::of(&tenant), POLICIES, users::sessions_after))
                .first(c).await.optional())?;
            let Some((holder, roles, policy, sessions_after)) = row else { continue };
            let sessions_after = sessions_after.map(Timestamp::from_naive);
            let holder = holder.with(roles.held()?, policy)?;
            if found.replace(ForeignHolder { holder, tenant, sessions_after }).is_some() {
                return Ok(None);
            }
        }
        Ok(found)
    }
}
