//! Who holds a credential, found before the tenant is known: one statement each.

use chrono::NaiveDateTime;
use credentials::SignInPolicy;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::Role;
use kernel::{StoreError, TenantId, Timestamp, UserId};
use sessions::{Session, SessionId};
use tokens::{Pat, TokenHash};

use crate::{
    Across,
    conn::on,
    error::corrupt,
    json::JsonText,
    network::NetworkMark,
    pats::{PatRow, pat_limits},
    schema::{
        known_origins, passwords, personal_access_tokens, sessions as session_rows, sign_in_names, tenants,
        users,
    },
    sessions::SessionRow,
    sign_in::policy_of,
};

/// Sign-in addresses of how many tenants are looked at.
const MAX_ACCOUNTS: i64 = 4;

/// The greatest that a tenant's id can be, in every order of letters.
const GREATEST: &str = "ten_zzzzzzzzzzzzzzzzzzzzzzzzzz";

/// The person who holds a credential, as far as it decides what the credential opens.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Who.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
    /// Whether they may sign in.
    pub active: bool,
    /// Whether they are no longer there at all.
    pub deleted: bool,
    /// What the tenant asks for.
    pub policy: SignInPolicy,
    /// From where the tenant may be reached.
    pub network: NetworkMark,
}

/// What a password may open: a person of one tenant.
#[derive(Debug, Clone)]
pub struct Account {
    /// Whose.
    pub holder: Holder,
    /// Where.
    pub tenant: TenantId,
    /// The tenant's short name.
    pub slug: String,
    /// The tenant's name.
    pub tenant_name: String,
    /// The password as it was hashed, if there is one.
    pub password: Option<String>,
    /// Whether a password is taken where an identity provider is required.
    pub break_glass: bool,
    /// Whether this address has signed the person in before.
    pub known_origin: bool,
}

/// Whom a neighbour's token is about.
#[derive(Debug, Clone)]
pub struct ForeignHolder {
    /// Who.
    pub holder: Holder,
    /// Where.
    pub tenant: TenantId,
    /// Tokens that were issued until then are refused.
    pub sessions_after: Option<Timestamp>,
    /// The row that stands for the token, revoked or not.
    pub session: Option<Session>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
struct HolderRow {
    id: String,
    role: String,
    active: bool,
    deleted_at: Option<NaiveDateTime>,
}

/// What is read of a tenant with a credential.
const POLICIES: (tenants::sign_in_policy, tenants::network_policy) =
    (tenants::sign_in_policy, tenants::network_policy);

/// A tenant's sign-in and network policy.
type PoliciesRow = (Option<JsonText>, Option<JsonText>);
type AccountRow = (HolderRow, PoliciesRow, (String, String, String), bool, Option<String>, Option<String>);
type ForeignRow = (HolderRow, PoliciesRow, String, Option<NaiveDateTime>, Option<SessionRow>);

impl HolderRow {
    fn with(self, (policy, network): PoliciesRow) -> Result<Holder, StoreError> {
        Ok(Holder {
            user: self.id.parse().map_err(|error| corrupt("users.id", error))?,
            role: self.role.parse().map_err(|error| corrupt("users.role", error))?,
            active: self.active,
            deleted: self.deleted_at.is_some(),
            policy: policy_of(policy)?,
            network: NetworkMark::of(network)?,
        })
    }
}

fn tenant_id(text: &str) -> Result<TenantId, StoreError> {
    text.parse().map_err(|error| corrupt("tenants.id", error))
}

impl Across {
    /// The session of this id, revoked or not, and whose it is.
    pub async fn session(
        &mut self,
        tenant: &TenantId,
        id: &SessionId,
    ) -> Result<Option<(Session, Holder)>, StoreError> {
        let query =
            session_rows::table
                .inner_join(users::table.on(
                    users::tenant_id.eq(session_rows::tenant_id).and(users::id.eq(session_rows::user_id)),
                ))
                .inner_join(tenants::table.on(tenants::id.eq(session_rows::tenant_id)))
                .filter(session_rows::tenant_id.eq(tenant.as_str()))
                .filter(session_rows::id.eq(id.as_str()));
        let row: Option<(SessionRow, HolderRow, PoliciesRow)> = on!(&mut self.conn, c => query
            .select((SessionRow::as_select(), HolderRow::as_select(), POLICIES))
            .first(c).await.optional())?;
        row.map(|(session, holder, policies)| Ok((session.try_into()?, holder.with(policies)?))).transpose()
    }

    /// The personal access token with this hash, revoked or not, and whose it is.
    pub async fn pat(
        &mut self,
        tenant: &TenantId,
        hash: &TokenHash,
    ) -> Result<Option<(Pat, Holder)>, StoreError> {
        use personal_access_tokens as pats;
        let query = pats::table
            .inner_join(
                users::table.on(users::tenant_id.eq(pats::tenant_id).and(users::id.eq(pats::user_id))),
            )
            .inner_join(tenants::table.on(tenants::id.eq(pats::tenant_id)))
            .filter(pats::tenant_id.eq(tenant.as_str()))
            .filter(pats::hash.eq(&hash.as_bytes()[..]));
        let row: Option<(PatRow, HolderRow, PoliciesRow)> = on!(&mut self.conn, c => query
            .select((PatRow::as_select(), HolderRow::as_select(), POLICIES))
            .first(c).await.optional())?;
        let read = |(pat, holder, policies): (PatRow, HolderRow, PoliciesRow)| {
            let (pat, holder) = (Pat::try_from(pat)?, holder.with(policies)?);
            // What the tenant allows today holds for tokens that were minted before.
            Ok((pat.within(&pat_limits(&holder.policy)), holder))
        };
        row.map(read).transpose()
    }

    /// The tenant of this short name or id.
    pub async fn tenant_named(&mut self, name: &str) -> Result<Option<directory::Tenant>, StoreError> {
        match name.parse() {
            Ok(id) => self.tenant(&id).await,
            Err(_) => self.tenant_of_slug(name).await,
        }
    }

    /// Where an address may sign in: in one tenant, or in the first four that have it.
    pub async fn accounts(
        &mut self,
        email_key: &str,
        tenant: Option<&TenantId>,
        origin: &str,
    ) -> Result<Vec<Account>, StoreError> {
        let query =
            sign_in_names::table
                .inner_join(users::table.on(
                    users::tenant_id.eq(sign_in_names::tenant_id).and(users::id.eq(sign_in_names::user_id)),
                ))
                .inner_join(tenants::table.on(tenants::id.eq(sign_in_names::tenant_id)))
                .left_join(
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
                .filter(sign_in_names::tenant_id.le(tenant.map_or(GREATEST, TenantId::as_str)))
                .filter(users::deleted_at.is_null())
                .order(sign_in_names::tenant_id)
                .limit(MAX_ACCOUNTS);
        let rows: Vec<AccountRow> = on!(&mut self.conn, c => query
            .select((
                HolderRow::as_select(),
                POLICIES,
                (tenants::id, tenants::slug, tenants::name),
                users::break_glass,
                passwords::hash.nullable(),
                known_origins::origin.nullable(),
            ))
            .load(c).await)?;
        let account =
            |(holder, policy, (tenant, slug, tenant_name), break_glass, password, origin): AccountRow| {
                Ok(Account {
                    holder: holder.with(policy)?,
                    tenant: tenant_id(&tenant)?,
                    slug,
                    tenant_name,
                    password,
                    break_glass,
                    known_origin: origin.is_some(),
                })
            };
        rows.into_iter().map(account).collect()
    }

    /// Whom a neighbour's token is about: the person of this address in a tenant, and the row that stands for
    /// the token. Without a tenant it must be the only person of that address.
    pub async fn foreign(
        &mut self,
        email_key: &str,
        tenant: Option<&TenantId>,
        token_hash: &[u8; 32],
    ) -> Result<Option<ForeignHolder>, StoreError> {
        let query =
            sign_in_names::table
                .inner_join(users::table.on(
                    users::tenant_id.eq(sign_in_names::tenant_id).and(users::id.eq(sign_in_names::user_id)),
                ))
                .inner_join(tenants::table.on(tenants::id.eq(sign_in_names::tenant_id)))
                .left_join(
                    session_rows::table.on(session_rows::tenant_id
                        .eq(sign_in_names::tenant_id)
                        .and(session_rows::foreign_hash.eq(&token_hash[..]))),
                )
                .filter(sign_in_names::email_key.eq(email_key))
                .filter(sign_in_names::tenant_id.ge(tenant.map_or("", TenantId::as_str)))
                .filter(sign_in_names::tenant_id.le(tenant.map_or(GREATEST, TenantId::as_str)))
                .filter(users::deleted_at.is_null())
                .order(sign_in_names::tenant_id)
                .limit(2);
        let mut rows: Vec<ForeignRow> = on!(&mut self.conn, c => query
            .select((
                HolderRow::as_select(),
                POLICIES,
                tenants::id,
                users::sessions_after,
                Option::<SessionRow>::as_select(),
            ))
            .load(c).await)?;
        let (Some((holder, policy, tenant, sessions_after, session)), true) = (rows.pop(), rows.is_empty())
        else {
            return Ok(None);
        };
        Ok(Some(ForeignHolder {
            holder: holder.with(policy)?,
            tenant: tenant_id(&tenant)?,
            sessions_after: sessions_after.map(Timestamp::from_naive),
            session: session.map(Session::try_from).transpose()?,
        }))
    }
}
