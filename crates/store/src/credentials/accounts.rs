//! Finds the user of a credential before the tenant is known. Each lookup is one statement.

use chrono::NaiveDateTime;
use credentials::{Salt, StoredPassword};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, TenantId, Timestamp, UserId};

use crate::{
    Across, Credential,
    authentication::holder::{Holder, HolderRow, POLICIES, PoliciesRow, salt_of},
    conn::on,
    error::corrupt,
    schema::{
        known_origins, password_salts, passwords, sessions as session_rows, sign_in_names, tenants, users,
    },
    sessions::row::SessionRow,
};

/// Maximum number of accounts with one address that a sign-in without a tenant compares. Only the operator creates
/// tenants, so attackers cannot reach this limit.
const MAX_ACCOUNTS: i64 = 1000;

/// The greatest possible tenant id, in every collation.
const MAX_TENANT_ID: &str = "ten_zzzzzzzzzzzzzzzzzzzzzzzzzz";

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

type AccountRow = (HolderRow, PoliciesRow, (String, String, String), String, Option<String>);
type ForeignRow = (HolderRow, PoliciesRow, String, Option<NaiveDateTime>);

fn tenant_id(text: &str) -> StoreResult<TenantId> {
    text.parse().map_err(|error| corrupt("tenants.id", error))
}

impl Across {
    /// Returns the tenant with this slug or id.
    pub async fn tenant_named(&mut self, name: &str) -> StoreResult<Option<directory::Tenant>> {
        // PostgreSQL text cannot contain NUL, so no tenant has such a slug.
        if name.contains('\0') {
            return Ok(None);
        }
        match name.parse() {
            Ok(id) => self.tenant(&id).await,
            Err(_) => self.tenant_of_slug(name).await,
        }
    }

    /// Returns the accounts of an address that have a password, in one tenant or in all, and the salt that their
    /// passwords share. Accounts that have signed in from `origin` before come first.
    pub async fn accounts(
        &mut self,
        email_key: &str,
        tenant: Option<&TenantId>,
        origin: &str,
    ) -> StoreResult<(Option<Salt>, Vec<Account>)> {
        let query =
            sign_in_names::table
                .inner_join(users::table.on(
                    users::tenant_id.eq(sign_in_names::tenant_id).and(users::id.eq(sign_in_names::user_id)),
                ))
                .inner_join(tenants::table.on(tenants::id.eq(sign_in_names::tenant_id)))
                .inner_join(
                    passwords::table.on(passwords::tenant_id
                        .eq(sign_in_names::tenant_id)
                        .and(passwords::user_id.eq(sign_in_names::user_id))),
                )
                .left_join(
                    known_origins::table.on(known_origins::tenant_id
                        .eq(sign_in_names::tenant_id)
                        .and(known_origins::user_id.eq(sign_in_names::user_id))
                        .and(known_origins::origin.eq(origin))),
                )
                .filter(sign_in_names::email_key.eq(email_key))
                .filter(sign_in_names::tenant_id.ge(tenant.map_or("", TenantId::as_str)))
                .filter(sign_in_names::tenant_id.le(tenant.map_or(MAX_TENANT_ID, TenantId::as_str)))
                .filter(users::deleted_at.is_null())
                .order(sign_in_names::tenant_id)
                .limit(MAX_ACCOUNTS);
        let rows: Vec<AccountRow> = on!(&mut self.conn, c => query
            .select((
                HolderRow::as_select(),
                POLICIES,
                (tenants::id, tenants::slug, tenants::name),
                passwords::hash,
                known_origins::origin.nullable(),
            ))
            .load(c).await)?;
        let account = |(holder, policy, (tenant, slug, tenant_name), password, origin): AccountRow| {
            Ok(Account {
                holder: holder.with(policy)?,
                tenant: tenant_id(&tenant)?,
                slug,
                tenant_name,
                password,
                known_origin: origin.is_some(),
            })
        };
        let mut accounts = rows.into_iter().map(account).collect::<StoreResult<Vec<_>>>()?;
        accounts.sort_by_key(|account| !account.known_origin);
        let address = Salt::address(email_key);
        let query = password_salts::table.find(&address[..]).select(password_salts::salt);
        let salt: Option<Vec<u8>> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        Ok((salt.map(|salt| salt_of(&salt)).transpose()?, accounts))
    }

    /// Returns the users with this address, in one tenant or in all.
    pub async fn users_of_address(
        &mut self,
        email_key: &str,
        tenant: Option<&TenantId>,
    ) -> StoreResult<Vec<AddressUser>> {
        let query = sign_in_names::table
            .inner_join(tenants::table.on(tenants::id.eq(sign_in_names::tenant_id)))
            .filter(sign_in_names::email_key.eq(email_key))
            .filter(sign_in_names::tenant_id.ge(tenant.map_or("", TenantId::as_str)))
            .filter(sign_in_names::tenant_id.le(tenant.map_or(MAX_TENANT_ID, TenantId::as_str)))
            .order(sign_in_names::tenant_id)
            .limit(MAX_ACCOUNTS);
        let rows: Vec<(String, String, String)> = on!(&mut self.conn, c => query
            .select((sign_in_names::tenant_id, sign_in_names::user_id, tenants::name))
            .load(c).await)?;
        let user = |(tenant, user, tenant_name): (String, String, String)| {
            Ok(AddressUser {
                tenant: tenant_id(&tenant)?,
                user: user.parse().map_err(|error| corrupt("sign_in_names.user_id", error))?,
                tenant_name,
            })
        };
        rows.into_iter().map(user).collect()
    }

    /// Returns the session for a token of another issuer, revoked or not, and its tenant.
    pub async fn foreign_session(
        &mut self,
        token_hash: &[u8; 32],
        tenant: Option<&TenantId>,
    ) -> StoreResult<Option<(TenantId, Credential)>> {
        let query =
            session_rows::table
                .inner_join(users::table.on(
                    users::tenant_id.eq(session_rows::tenant_id).and(users::id.eq(session_rows::user_id)),
                ))
                .inner_join(tenants::table.on(tenants::id.eq(session_rows::tenant_id)))
                .filter(session_rows::foreign_hash.eq(&token_hash[..]))
                .filter(session_rows::tenant_id.ge(tenant.map_or("", TenantId::as_str)))
                .filter(session_rows::tenant_id.le(tenant.map_or(MAX_TENANT_ID, TenantId::as_str)))
                .order(session_rows::tenant_id);
        let row: Option<(String, SessionRow, HolderRow, PoliciesRow)> = on!(&mut self.conn, c => query
            .select((tenants::id, SessionRow::as_select(), HolderRow::as_select(), POLICIES))
            .first(c).await.optional())?;
        let Some((tenant, session, holder, policies)) = row else { return Ok(None) };
        let credential = Credential::Session(session.try_into()?, holder.with(policies)?);
        Ok(Some((tenant_id(&tenant)?, credential)))
    }

    /// Returns the user with this address, for a token of another issuer that has no session yet. If no tenant is
    /// given, the address must be unique across tenants.
    pub async fn foreign_holder(
        &mut self,
        email_key: &str,
        tenant: Option<&TenantId>,
    ) -> StoreResult<Option<ForeignHolder>> {
        let query =
            sign_in_names::table
                .inner_join(users::table.on(
                    users::tenant_id.eq(sign_in_names::tenant_id).and(users::id.eq(sign_in_names::user_id)),
                ))
                .inner_join(tenants::table.on(tenants::id.eq(sign_in_names::tenant_id)))
                .filter(sign_in_names::email_key.eq(email_key))
                .filter(sign_in_names::tenant_id.ge(tenant.map_or("", TenantId::as_str)))
                .filter(sign_in_names::tenant_id.le(tenant.map_or(MAX_TENANT_ID, TenantId::as_str)))
                .filter(users::deleted_at.is_null())
                .order(sign_in_names::tenant_id)
                .limit(2);
        let mut rows: Vec<ForeignRow> = on!(&mut self.conn, c => query
            .select((HolderRow::as_select(), POLICIES, tenants::id, users::sessions_after))
            .load(c).await)?;
        let (Some((holder, policy, tenant, sessions_after)), true) = (rows.pop(), rows.is_empty()) else {
            return Ok(None);
        };
        Ok(Some(ForeignHolder {
            holder: holder.with(policy)?,
            tenant: tenant_id(&tenant)?,
            sessions_after: sessions_after.map(Timestamp::from_naive),
        }))
    }
}
