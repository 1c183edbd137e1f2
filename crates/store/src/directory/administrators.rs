//! The administrators of a tenant, and how they can sign in.

use std::collections::{BTreeSet, HashSet};

use ::sessions::{Lifetime, Session};
use async_trait::async_trait;
use attestation::{AttestationPolicyStore, Mode};
use credentials::{FactorKind, SignInMeans, SignInPolicy};
use diesel::{dsl, prelude::*, sql_types::Bool};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp, UserId};
use saml_sp::{EmailDomain, Provider, ProviderStore};
use sign_in::{
    AdministratorStore,
    sso::oidc::{OidcProvider, OidcStore},
};

use crate::{
    Tx,
    db::read,
    error::corrupt,
    schema::{factors, passwords, sessions, users},
    sessions::row::SessionRow,
};

/// Maximum number of administrators read. In a tenant with more, one of these can be assumed to be able to sign in.
const MAX_ADMINISTRATORS: i64 = 500;

/// An active administrator and the available sign-in methods.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Administrator {
    /// The user.
    pub id: UserId,
    /// The sign-in address, as [`kernel::Email::key`].
    pub email_key: Option<String>,
    /// Whether the administrator may sign in by password although single sign-on is required.
    pub break_glass: bool,
    /// Whether the administrator has a password.
    pub has_password: bool,
    /// Whether the administrator has a verified passkey.
    pub has_passkey: bool,
    /// Whether the administrator has a valid session from a token of another issuer.
    pub has_foreign_session: bool,
}

impl Tx {
    /// Returns the active administrators of the tenant, including changes made by this unit of work.
    pub async fn administrators(
        &mut self,
        lifetime: Lifetime,
        now: Timestamp,
    ) -> StoreResult<Vec<Administrator>> {
        let tenant = self.tenant.as_str().to_owned();
        let query = users::table
            .filter(users::tenant_id.eq(&tenant))
            // A literal instead of a parameter, so that the planner can use the partial index on administrators.
            .filter(dsl::sql::<Bool>("users.role = 'ADMIN'"))
            .filter(users::active.eq(true))
            .filter(users::deleted_at.is_null())
            .order(users::id)
            .select((users::id, users::sign_in_email_key, users::break_glass))
            .limit(MAX_ADMINISTRATORS);
        let found: Vec<(String, Option<String>, bool)> = read!(self, c => query.load(c).await)?;
        let ids: Vec<String> = found.iter().map(|(id, ..)| id.clone()).collect();
        let query = passwords::table
            .filter(passwords::tenant_id.eq(&tenant))
            .filter(passwords::user_id.eq_any(ids.clone()))
            .select(passwords::user_id);
        let with_password: Vec<String> = read!(self, c => query.load(c).await)?;
        let query = factors::table
            .filter(factors::tenant_id.eq(&tenant))
            .filter(factors::user_id.eq_any(ids.clone()))
            .filter(factors::kind.eq(FactorKind::Webauthn.as_str()))
            .filter(factors::verified_at.is_not_null())
            .select(factors::user_id);
        let with_passkey: Vec<String> = read!(self, c => query.load(c).await)?;
        let with_session = self.foreign_holders(&ids, lifetime, now).await?;
        let set = |ids: Vec<String>| ids.into_iter().collect::<HashSet<_>>();
        let (with_password, with_passkey) = (set(with_password), set(with_passkey));
        let administrator = |(id, email_key, break_glass): (String, Option<String>, bool)| {
            Ok(Administrator {
                email_key,
                break_glass,
                has_password: with_password.contains(&id),
                has_passkey: with_passkey.contains(&id),
                has_foreign_session: with_session.contains(&id),
                id: id.parse().map_err(|error| corrupt("users.id", error))?,
            })
        };
        found.into_iter().map(administrator).collect()
    }

    /// Returns those of these users who have a valid session from a token of another issuer.
    pub(super) async fn foreign_holders(
        &mut self,
        ids: &[String],
        lifetime: Lifetime,
        now: Timestamp,
    ) -> StoreResult<HashSet<String>> {
        let query = sessions::table
            .filter(sessions::tenant_id.eq(self.tenant.as_str().to_owned()))
            .filter(sessions::user_id.eq_any(ids))
            .filter(sessions::revoked_at.is_null())
            .filter(sessions::foreign_hash.is_not_null());
        let rows: Vec<SessionRow> = read!(self, c => query.select(SessionRow::as_select()).load(c).await)?;
        let mut holders = HashSet::new();
        for row in rows {
            let session = Session::try_from(row)?;
            if !lifetime.is_over(&session, now) {
                holders.insert(session.user.to_string());
            }
        }
        Ok(holders)
    }
}

#[async_trait]
impl AdministratorStore for Tx {
    async fn administrators_means(
        &mut self,
        policy: &SignInPolicy,
        except: Option<&UserId>,
        now: Timestamp,
    ) -> StoreResult<Vec<SignInMeans>> {
        let session = policy.session;
        let lifetime = Lifetime { idle_minutes: session.idle_minutes, absolute_days: session.absolute_days };
        let administrators = self.administrators(lifetime, now).await?;
        let sso_domains = self.sso_domains(now).await?;
        let means = |administrator: &Administrator| SignInMeans {
            has_password: administrator.has_password && administrator.email_key.is_some(),
            has_passkey: administrator.has_passkey,
            break_glass: administrator.break_glass,
            has_sso: has_sso(administrator, &sso_domains),
        };
        let counted = administrators.iter().filter(|administrator| Some(&administrator.id) != except);
        Ok(counted.map(means).collect())
    }

    async fn allows_any_model(&mut self) -> StoreResult<bool> {
        Ok(self.attestation_policy().await?.mode == Mode::Off)
    }
}

/// Returns whether the administrator can sign in through SSO: with a working provider for the domain of the email
/// address, or with a session of a neighbouring service that shares our secret.
fn has_sso(administrator: &Administrator, sso_domains: &BTreeSet<EmailDomain>) -> bool {
    administrator.has_foreign_session || covers(sso_domains, administrator.email_key.as_deref())
}

/// Returns whether these domains include that of a sign-in address.
pub(super) fn covers(sso_domains: &BTreeSet<EmailDomain>, email_key: Option<&str>) -> bool {
    email_key.and_then(EmailDomain::of).is_some_and(|domain| sso_domains.contains(&domain))
}

impl Tx {
    /// Returns the domains of SSO connections through which users can sign in: SAML with a valid certificate, and OpenID
    /// Connect with settings that the provider supports.
    pub(super) async fn sso_domains(&mut self, now: Timestamp) -> StoreResult<BTreeSet<EmailDomain>> {
        let has_valid_certificate = |provider: &Provider| {
            provider.idp.certificates.iter().any(|certificate| certificate.is_valid_at(now))
        };
        let saml = self.providers().await?.into_iter().filter(has_valid_certificate);
        let mut domains: BTreeSet<_> = saml.flat_map(|provider| provider.email_domains).collect();
        let oidc = self.oidc_providers().await?.into_iter().filter(OidcProvider::is_usable);
        domains.extend(oidc.flat_map(|provider| provider.email_domains));
        Ok(domains)
    }
}
