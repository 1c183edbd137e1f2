//! Database access of the command line.

use std::sync::Arc;

use ::audit::{Audited, EntryKeys};
use directory::Tenant;
use kernel::{Actor, Ctx, Email, Env, StoreResult, TenantId, UserId};
use store::{Across, Failure, Store, Tx};

use super::report::Result;
use crate::{
    config::{Raw, Settings},
    secrets,
};

/// Creates the directory of an SQLite database, which SQLite itself does not.
pub(super) fn make_data_dir(settings: &Settings) -> std::io::Result<()> {
    match &settings.database_url {
        store::DatabaseUrl::Sqlite(path) => match path.parent() {
            Some(folder) => gate::file_draft::create_private_folder(folder),
            None => Ok(()),
        },
        store::DatabaseUrl::Postgres(_) => Ok(()),
    }
}

/// The database, with changes recorded as actor SYSTEM.
pub(super) struct Operator {
    pub(super) store: Store,
    pub(super) env: Arc<dyn Env>,
}

impl Operator {
    /// Opens the database with the keys of this installation, because audit entries need a MAC. Fails if the schema is
    /// behind. On SQLite it generates missing keys, like the first start of the server.
    pub(super) async fn open(raw: &mut Raw, env: Arc<dyn Env>) -> Result<Self> {
        let settings = raw.settings()?;
        match &settings.database_url {
            store::DatabaseUrl::Sqlite(_) if !raw.has("master_key") => {
                secrets::keep(raw, &*env)?;
            }
            _ => secrets::read_kept(&settings.data_dir, raw)?,
        }
        Self::open_with(&raw.settings()?, env).await
    }

    /// Opens the database with the keys of `settings`. Without a master key it can read but not write.
    pub(super) async fn open_with(settings: &Settings, env: Arc<dyn Env>) -> Result<Self> {
        make_data_dir(settings)?;
        let masters = settings.master_keys();
        let store = Store::open(&settings.database_url, 1, EntryKeys::derive(&masters))?;
        if store.is_behind().await? {
            return Err("The database schema is older than this program. Run: gatehouse migrate".into());
        }
        Ok(Self { store, env })
    }

    /// Returns all tenants.
    pub(super) async fn tenants(&self) -> StoreResult<Vec<Tenant>> {
        self.store.across(async |across: &mut Across| across.some_tenants(i64::MAX).await).await
    }

    pub(super) async fn tenant(&self, slug: &str) -> Result<Tenant> {
        let found = self.store.across(async |across| across.tenant_of_slug(slug).await).await?;
        found.ok_or_else(|| {
            format!("--tenant: unknown tenant {slug}. List tenants with: gatehouse tenant list").into()
        })
    }

    /// Returns the tenant and the ID of its user with this address.
    pub(super) async fn user(&self, tenant: &str, email: &Email) -> Result<(Tenant, UserId)> {
        let tenant = self.tenant(tenant).await?;
        let (id, key) = (tenant.id.clone(), email.key());
        let look = async move |tx: &mut Tx| directory::PeopleStore::user_of_email(tx, &key).await;
        let found = self.store.read::<_, kernel::StoreError>(id, look).await?;
        let user = found.ok_or_else(|| {
            format!(
                "--email: tenant {0} has no user {email}. List users with: gatehouse user list --tenant {0}",
                tenant.slug
            )
        })?;
        Ok((tenant, user))
    }

    pub(super) async fn write<T: Send + 'static, E: Failure>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> std::result::Result<Audited<T>, E> + Send + 'static,
    ) -> std::result::Result<T, E> {
        self.store.write(Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("cli")), work).await
    }

    /// Repeats a unit of work that does a part, until nothing is left, and returns how much it did.
    pub(super) async fn write_until_done<E: Failure>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> std::result::Result<Audited<u64>, E> + Clone + Send + 'static,
    ) -> std::result::Result<u64, E> {
        let mut done = 0;
        loop {
            match self.write(tenant, work.clone()).await? {
                0 => return Ok(done),
                part => done += part,
            }
        }
    }
}
